// What a window tells beside its totals, and typical load: the parts that need no k6.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './compiled.mjs';
import { experiment } from './k6.mjs';

const { gridNames, statistics, valuesOf } = await load('quantiles');
const { bucket, histogram } = await load('histogram');
const { partsOf } = await load('parts');
const { kindsOf, namesOf } = await load('kinds');
const { decodeForm, decodeSlot, encodeForm, encodeSlot } = await load('codes');
const { usersAt, windowAt } = await load('typical');
const { random } = await load('random');
const { parseInput } = await load('input');
const { plan } = await load('plan');
const { makeDocument } = await load('record');
const { table } = await load('output');
const { thresholds } = await load('metrics');

const TARGETS = '{"platform":"http://p:80/","virtual":"https://v"}';
const input = (change, env = {}) =>
  parseInput({ EXPERIMENT: 'stub', TARGETS, OWN_CYCLES: '0', WARMUP_CYCLES: '0', ...env }, () =>
    JSON.stringify(experiment(change)),
  );
const planned = (change, env) => plan(input(change, env)).phases;

/** Statistics of a Trend as k6 makes them (metrics/sink.go). */
function trend(values) {
  const sorted = Float64Array.from(values).sort();
  const n = sorted.length;
  const at = (pct) => {
    if (n < 2) return sorted[0] ?? 0;
    const i = pct * (n - 1);
    const [j, k] = [sorted[Math.floor(i)], sorted[Math.ceil(i)]];
    return j + (k - j) * (i - Math.floor(i));
  };
  const percentiles = [...gridNames(), 'p(90)', 'p(95)', 'p(99)', 'p(99.9)'].map((name) => [
    name,
    at(Number(name.slice(2, -1)) / 100),
  ]);
  const avg = n > 0 ? sorted.reduce((sum, value) => sum + value, 0) / n : 0;
  return { count: n, avg, max: sorted[n - 1] ?? 0, med: at(0.5), ...Object.fromEntries(percentiles) };
}

test('the values of a Trend come back from its quantiles, up to 501 of them', () => {
  const draw = random('1', 'values');
  const latencies = () => 10 ** (5 * draw() - 1);
  const ties = () => Math.floor(5 * draw());
  const codes = () => Math.floor(2 ** 34 * draw());
  for (const [make, slack] of [
    [latencies, 1e-10],
    [ties, 1e-12],
    [codes, 1e-4],
  ]) {
    for (const n of [0, 1, 2, 3, 7, 100, 333, 499, 500, 501]) {
      const values = Array.from({ length: n }, make);
      const { values: told, isExact } = valuesOf(trend(values));
      assert.equal(isExact, true);
      assert.equal(told.length, n);
      for (const [i, value] of values.toSorted((a, b) => a - b).entries()) {
        assert.ok(Math.abs(told[i] - value) <= slack, `${n}: ${told[i]} instead of ${value}`);
      }
    }
  }
});

test('more values are each off by half a step of the quantiles at most', () => {
  const draw = random('2', 'values');
  for (const n of [502, 5000, 20_000]) {
    const values = Array.from({ length: n }, () => 10 ** (4 * draw())).toSorted((a, b) => a - b);
    const { values: told, isExact } = valuesOf(trend(values));
    assert.deepEqual([isExact, told.length], [false, n]);
    for (let limit = 1; limit < 10_000; limit *= 1.1) {
      const below = (list) => list.filter((value) => value < limit).length;
      assert.ok(Math.abs(below(told) - below(values)) <= n / 1000 + 1, `${n}, below ${limit}`);
    }
  }
});

test('k6 keeps all quantiles only where a window needs them', () => {
  assert.equal(statistics(false).length, 8);
  const all = statistics(true);
  assert.equal(new Set(all).size, all.length);
  assert.ok(
    ['count', 'avg', 'med', 'p(0)', 'p(0.1)', 'p(99)', 'p(99.9)', 'p(100)', 'max'].every((name) => all.includes(name)),
  );
});

test('a histogram has 100 buckets a decade, from the first that is not empty to the last', () => {
  // Edges that are whole numbers stay where they are. (As vtlab/model/histogram.py has them.)
  assert.deepEqual(
    [0, 0.0005, 0.001, 0.01, 0.1, 1, 10, 1000, 60_000].map(bucket),
    [0, 0, 0, 100, 200, 300, 400, 600, 777],
  );
  for (let b = 1; b < 800; b += 7) {
    assert.equal(bucket((10 ** (b / 100) / 1000) * (1 + 1e-9)), b);
    assert.equal(bucket((10 ** (b / 100) / 1000) * (1 - 1e-9)), b - 1);
  }
  assert.deepEqual(histogram([], true), { first: 0, counts: [], is_exact: true });
  assert.deepEqual(histogram([1, 1.001, 1.06, 1], false), { first: 300, counts: [3, 0, 1], is_exact: false });
});

test('a window has parts of half a second, one beyond 30 s at most 60 of whole half seconds', () => {
  const parts = (window) => {
    const { count, length } = partsOf(window, 10);
    return [count, length];
  };
  assert.deepEqual([5000, 15_000, 2300, 30_000].map(parts), [
    [10, 500],
    [30, 500],
    [5, 500],
    [60, 500],
  ]);
  assert.deepEqual([30_001, 40_000, 60_000, 90_000].map(parts), [
    [31, 1000],
    [40, 1000],
    [60, 1000],
    [60, 1500],
  ]);
});

test('of closed load 20 answers in a part and 480 in a window are sampled at most, of open load about 400', () => {
  for (const users of [1, 2, 9, 19, 20, 21, 30, 39, 41, 1000]) {
    for (const window of [500, 5000, 15_000, 30_000, 60_000]) {
      const { count, sampling } = partsOf(window, users);
      const sampled = Math.ceil(users / sampling.everyUser) * sampling.requests;
      assert.ok(sampling.requests >= 1 && sampled <= 20 && sampled * count <= 480, `${users} users, ${window} ms`);
      assert.ok(sampled >= Math.min(20, 480 / count) / 2, `${users} users, ${window} ms: ${sampled}`);
    }
  }
  const every = (rate, window) => partsOf(window, 100, rate).sampling.everyArrival;
  assert.deepEqual([every(1, 15_000), every(29.3, 15_000), every(600, 5000), every(7000, 5000)], [1, 2, 8, 88]);
});

test('kinds have one name each, and beyond 20 of them the others are one', () => {
  assert.deepEqual(kindsOf(['GET /a', 'GET /b', 'GET /a']), { names: ['GET /a', 'GET /b'], of: [0, 1, 0] });
  const { names, of } = kindsOf(Array.from({ length: 30 }, (_, i) => `GET /${i}`));
  assert.deepEqual([names.length, names[18], names[19]], [20, 'GET /18', 'others']);
  assert.deepEqual([of[18], of[19], of[29]], [18, 19, 19]);
  assert.equal(kindsOf(Array.from({ length: 20 }, (_, i) => `GET /${i}`)).names[19], 'GET /19');
});

test('requests of one path are told apart by their query, unless they are too many', () => {
  const get = (path, query = {}) => ({ method: 'GET', path, query });
  const names = namesOf([get('/search', { q: 'a', n: '5' }), get('/search', { q: '{id}' }), get('/a', { b: '1' })]);
  assert.deepEqual(names, ['GET /search?q=a&n=5', 'GET /search?q={id}', 'GET /a']);
  assert.deepEqual(namesOf([get('/a'), get('/a', { b: '1' })]), ['GET /a', 'GET /a?b=1']);
  assert.deepEqual(namesOf([get('/a'), { ...get('/a'), method: 'POST' }]), ['GET /a', 'POST /a']);
  const many = namesOf(Array.from({ length: 21 }, (_, i) => get('/search', { q: `${i}` })));
  assert.deepEqual(new Set(many), new Set(['GET /search']));
});

test('the form of an answer: its kind, its length to a tenth of a decade, a hash of its shape', () => {
  const form = (body, kind = 3) => decodeForm(encodeForm(kind, body));
  assert.equal(encodeForm(0, null), undefined);
  assert.deepEqual(form('', 0), { kind: 0, length: 0, shape: '' });
  assert.deepEqual(form('<p>', 19), { kind: 19, length: 3, shape: '' });
  for (const length of [1, 2, 9, 10, 12, 13, 999, 1000, 1_000_000]) {
    const { length: least } = form('x'.repeat(length));
    assert.ok(least <= length && length < Math.max(least + 1, least * 1.26), `${length}: ${least}`);
  }
  const shapes = ['{"a":1,"b":"x"}', '{"b":"y","a":2}', '{"a":"1","b":"x"}', '{"a":1}', '[1]', '1'].map(
    (body) => form(body).shape,
  );
  assert.equal(shapes[0], shapes[1]);
  assert.equal(new Set(shapes).size, 5);
  assert.ok(shapes.every((shape) => /^[0-9a-f]{5}$/.test(shape)));
  // Keys of so many that they are data.
  const keyed = (from) => JSON.stringify(Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${from + i}`, 1])));
  assert.equal(form(keyed(100)).shape, form(keyed(500)).shape);
  assert.ok(encodeForm(19, 'x'.repeat(100_000)) < 2 ** 34);
});

test('a probe’s slot and time are one number', () => {
  for (const [slot, ms] of [
    [0, 0.001],
    [7, 12.3456],
    [499, 15_000],
  ]) {
    assert.deepEqual(decodeSlot(encodeSlot(slot, ms)), { slot, seconds: Math.round(1000 * ms) / 1e6 });
  }
  assert.ok(encodeSlot(499, 15_000) < 2 ** 34);
});

const KNOWN = { typical: { rate: 100, gaps: 'even' } };

test('typical load is that of the variants with trials, at the experiment’s rate or RATE', () => {
  const typical = (change, env) => {
    const { typical: found } = input(change, env);
    return found && [found.order.join(), found.rate, found.gaps, found.users, found.settle, found.measure];
  };
  assert.deepEqual(typical(KNOWN), ['platform,virtual', 100, 'even', 300, 1500, 15_000]);
  assert.deepEqual(typical(KNOWN, { RATE: '400', ORDER: 'virtual' }), ['virtual', 400, 'even', 1000, 1500, 7500]);
  const named = { TYPICAL: 'virtual,platform', TYPICAL_USERS: '9', TYPICAL_SETTLE: '2s', TYPICAL_MEASURE: '6s' };
  assert.deepEqual(typical(KNOWN, { ...named, ORDER: '' }), ['virtual,platform', 100, 'even', 9, 2000, 6000]);
  assert.deepEqual(typical({}, { RATE: '3' }).slice(0, 4), ['platform,virtual', 3, 'exponential', 20]);
  for (const none of [typical({}), typical(KNOWN, { TYPICAL: '' }), typical(KNOWN, { USERS: '1,10' })]) {
    assert.equal(none, undefined);
  }
  // Of an open load RATE is its own.
  const open = { load: { model: 'open', users: 5, rate: 1 } };
  assert.deepEqual([input(open, { RATE: '7' }).rate, typical(open, { RATE: '7' })], [7, undefined]);
});

test('typical load by hand: three users for each arrival in a second, 3,000 arrivals', () => {
  assert.deepEqual([1, 29.3, 100, 5000].map(usersAt), [20, 88, 300, 1000]);
  assert.deepEqual([1, 250, 400, 5000].map(windowAt), [15_000, 12_000, 7500, 5000]);
});

test('typical load follows the trials, which wait for their answers then, and comes before light load', () => {
  const env = { ORDER: 'platform,virtual', WAIT_FOR_ANSWERS: 'false', LIGHT: '{"virtual":[1]}' };
  const phases = planned(KNOWN, env);
  assert.deepEqual(
    phases.map(({ trial, variant, rate, waitForAnswers }) => [trial, variant, rate, waitForAnswers]),
    [
      ['1', 'platform', undefined, true],
      ['2', 'virtual', undefined, true],
      ['t1', 'platform', 100, true],
      ['t2', 'virtual', 100, true],
      ['l1', 'virtual', 1, true],
    ],
  );
  const [, , typical] = phases;
  assert.deepEqual([typical.start, typical.end, typical.rampUp, typical.gaps], [1500, 16_500, 0, 'even']);
  assert.equal(planned(KNOWN, { ...env, LIGHT: '', TYPICAL: '' })[1].waitForAnswers, false);
});

test('trials and typical load have parts and probes, the warm-up probes, a curve over users nothing of it', () => {
  const env = { ORDER: 'platform,virtual', SINGLE: '1s', LIGHT: '{"virtual":[1]}', WARMUP_CYCLES: '1' };
  const block = plan(input(KNOWN, env));
  for (const { kind, parts, probe } of block.phases) {
    const isDetailed = ['measure', 'typical'].includes(kind);
    assert.deepEqual([parts !== undefined, probe !== undefined], [isDetailed, isDetailed || kind === 'warmup'], kind);
  }
  assert.deepEqual([block.users, block.vus], [300, 301]);
  const curve = plan(input(KNOWN, { ...env, USERS: '1,10', LIGHT: '', SINGLE: '0s' }));
  assert.ok(curve.phases.every(({ parts, probe }) => parts === undefined && probe === undefined));
  assert.equal(curve.vus, curve.users);
});

test('a warm-up cycle has probes to its end, and for a second where it ends with its requests', () => {
  const cycles = (windows, env) =>
    planned({ ...KNOWN, windows: { warmup_load: 5000, ramp_up: 100, ...windows } }, env)
      .filter(({ kind }) => kind === 'warmup')
      .map(({ probe, end }) => [probe.until, end]);
  for (const env of [{ OWN_CYCLES: '1' }, { WARMUP_CYCLES: '1' }]) {
    const whole = cycles({}, env);
    assert.equal(whole.length, 2);
    for (const [until, end] of whole) assert.equal(until, end);
  }
  const counted = cycles({ warmup_requests: 600 }, { WARMUP_CYCLES: '1' });
  assert.equal(counted.length, 2);
  for (const [until, end] of counted) assert.ok(until === 1000 && end > 5000, `${until} of ${end} ms`);
});

test('probes go to the actuator of each target, where told, or nowhere', () => {
  const probes = (PROBES) => {
    const phases = planned({}, { ORDER: 'platform,virtual', ...(PROBES === undefined ? {} : { PROBES }) });
    return phases.map(({ probe }) => probe && [probe.url, probe.isSamePort]);
  };
  const health = '/actuator/health/liveness';
  const all = [
    [`http://p:80${health}`, true],
    [`https://v${health}`, true],
  ];
  assert.deepEqual(probes(undefined), all);
  assert.deepEqual(probes(''), all);
  assert.deepEqual(probes('none'), [undefined, undefined]);
  assert.deepEqual(probes('{"platform":"http://p:81/live"}'), [['http://p:81/live', false], undefined]);
});

/** A summary of trial 1 and, with it, of a typical load. */
function summary({ parts, kinds = [], forms = [], probe }) {
  const metrics = {
    'trial_begin{trial:1}': { min: 1000, max: 1000 },
    'trial_latency{trial:1,phase:measure}': trend(parts.flat()),
  };
  for (const [part, values] of parts.entries()) metrics[`trial_answer{trial:1,part:${part}}`] = trend(values);
  for (const [kind, values] of kinds.entries()) metrics[`trial_answer{trial:1,kind:${kind}}`] = trend(values);
  if (forms.length > 0) metrics['trial_form{trial:1}'] = trend(forms);
  if (probe) {
    metrics['trial_probe{trial:1}'] = trend(probe.map(([, ms]) => ms));
    metrics['trial_probe_slot{trial:1}'] = trend(probe.map(([slot, ms]) => encodeSlot(slot, ms)));
    metrics['trial_probe_sent{trial:1}'] = { count: probe.length };
  }
  return { metrics: Object.fromEntries(Object.entries(metrics).map(([name, values]) => [name, { values }])) };
}

const ONE = { ORDER: 'platform', MEASURE: '2s' };

function document(counted, { change = {}, kinds = ['all'], env = ONE } = {}) {
  const given = input(change, env);
  return makeDocument(given, plan(given), summary(counted), { kinds });
}

test('answers: histogram and parts of all, and how many of each part lie above the window’s percentiles', () => {
  const parts = [Array.from({ length: 20 }, (_, i) => 1 + i / 100), [1.5, 2.5, 2.5], [], [9, 9.5]];
  const [{ answers, latency }] = document({ parts }).trials;
  assert.deepEqual([latency.p50 !== null, latency.p90], [true, null]);
  assert.deepEqual(answers.parts, { seconds: 0.5, ok: [20, 3, 0, 2], above: { p50: [7, 3, 0, 2] } });
  assert.equal(answers.histogram.first, 300);
  assert.equal(
    answers.histogram.counts.reduce((sum, n) => sum + n, 0),
    25,
  );
  assert.deepEqual([answers.latency, answers.kinds, answers.forms], [null, [], null]);
  assert.deepEqual(answers.halves, { arrived: [0, 0], completed: [0, 0] });
});

test('answers of a window whose latency is not steady have counts and no percentiles', () => {
  const load = { model: 'closed', users: 100, round: { platform: 5000 }, service_time: { platform: 500 } };
  const kinds = [[1, 2], [3]];
  const counted = { parts: [Array.from({ length: 50 }, (_, i) => 1 + i)], kinds };
  const [{ answers, latency }] = document(counted, { change: { load }, kinds: ['a', 'b'] }).trials;
  assert.equal(latency.count, 0);
  assert.deepEqual(answers.parts.above, {});
  assert.deepEqual(
    answers.kinds.map(({ name, latency: { count, mean, max } }) => [name, count, mean, max]),
    [
      ['a', 2, null, null],
      ['b', 1, null, null],
    ],
  );
});

test('forms are counted, the most frequent first, 24 of them one by one', () => {
  const codes = Array.from({ length: 30 }, (_, i) => encodeForm(0, '1'.repeat(2 ** (i % 20)) + (i < 20 ? '' : ' x')));
  const forms = [...codes, codes[3], codes[3], codes[5]];
  const { rows, others } = document({ parts: [[1]], forms }).trials[0].answers.forms;
  assert.equal(rows.length, 24);
  assert.deepEqual(
    rows.slice(0, 2).map(([, , , n]) => n),
    [3, 2],
  );
  assert.equal(
    rows.reduce((sum, [, , , n]) => sum + n, others),
    33,
  );
});

test('probes by the slot of each in its window', () => {
  const probe = [
    [0, 3.5],
    [9, 15_000],
    [2, 1200.25],
  ];
  const { probe: record } = document({ parts: [[1]], probe }).trials[0];
  assert.deepEqual([record.sent, record.longest], [3, 15]);
  assert.deepEqual(record.times, [0.0035, null, 1.20025, null, null, null, null, null, null, 15]);
  assert.deepEqual(document({ parts: [[1]], probe: [] }).trials[0].probe.longest, null);
});

test('the table has a column of probes where there are any, and says what typical load lacks', () => {
  const lines = (counted, options) => table(document(counted, options), true).split('\n');
  const probed = lines({ parts: [[1]], probe: [[0, 1300]] });
  assert.match(probed[3], /drops +probe$/);
  assert.match(probed[4], /1\.30 s$/);
  assert.ok(probed.every((line) => line.length <= 100));
  const text = probed.join('\n');
  assert.match(text, /No typical load: its rate is not known\. Repeat the block with -e RATE=0\.3 /);
  const bare = lines({ parts: [[1]] }, { env: { ...ONE, PROBES: 'none' } });
  assert.match(bare[3], /drops$/);
  assert.deepEqual(
    [{}, { env: { RATE: '5', ORDER: 'platform' } }, { env: { TYPICAL: '' } }].map(
      ({ env }) => input({ ...KNOWN, typical: { rate: null, gaps: 'even' } }, env).lacksRate,
    ),
    [true, false, false],
  );
  assert.equal(input({}).lacksRate, false, 'an experiment without typical load');
});

test('thresholds that hold always ask for every part of a window, once', () => {
  const names = Object.keys(thresholds(planned(KNOWN, ONE), ['a', 'b'], false));
  const of = (start) => names.filter((name) => name.startsWith(start));
  assert.equal(of('trial_answer{trial:1,').length, 4 + 2);
  assert.equal(of('trial_answer{trial:t1,').length, 30 + 2);
  assert.equal(of('trial_arrivals{trial:1,').length, 2 * 3);
  assert.equal(of('trial_probe{').length, 2);
  const script = Object.keys(thresholds(planned(KNOWN, { ...ONE, PROBES: 'none' }), ['a'], true));
  assert.ok(script.includes('trial_answer{trial:1}') && !script.some((name) => name.includes('probe')));
});
