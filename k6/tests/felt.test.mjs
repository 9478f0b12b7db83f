// What users feel: every figure of a window is that of k6's raw samples.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from './compiled.mjs';
import { block, experiment, folder, request, wrapped } from './k6.mjs';
import { inLongerWindows, sum, undisturbed } from './laws.mjs';
import { service } from './service.mjs';

const { decodeForm } = await load('codes');
const { random } = await load('random');
const { arrivals, inSequence } = await load('arrivals');

let files = 0;

/** Runs a block, and reads the raw samples that k6 wrote beside it: `of(metric, tags)` are values of some. */
async function measured(content, targets, env, options = {}) {
  const path = join(folder, `felt-${++files}.json`);
  const short = { WARMUP_CYCLES: '0', ...env };
  const result = await block(content, targets, short, { ...options, args: ['-o', `json=${path}`] });
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  const points = {};
  /** Each metric's alone, once it is asked for: they are many. */
  const pointsOf = (metric) => {
    const naming = lines.filter((line) => line.includes(`"${metric}"`)).map((line) => JSON.parse(line));
    return naming.filter((line) => line.type === 'Point' && line.metric === metric);
  };
  const select = (metric, tags = {}) => {
    points[metric] ??= pointsOf(metric);
    return points[metric].filter(({ data }) =>
      Object.entries(tags).every(([name, value]) => data.tags[name] === value),
    );
  };
  const of = (metric, tags) => select(metric, tags).map(({ data }) => data.value);
  return { ...result, select, of };
}

function inOrder(values) {
  return values.toSorted((a, b) => a - b);
}

/** Linear interpolation at rank p (n - 1), as k6 does it. */
function percentile(values, p) {
  const sorted = inOrder(values);
  const rank = p * (sorted.length - 1);
  const below = sorted[Math.floor(rank)];
  return below + (sorted[Math.ceil(rank)] - below) * (rank % 1);
}

function counted(values) {
  const counts = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** Histogram, parts and their counts above percentiles, from raw samples of one window in milliseconds. */
function asSampled({ answers, position, start, end }, { of }, trial) {
  const parts = Array.from({ length: Math.ceil((end - start) / 500) }, (_, part) =>
    of('trial_answer', { trial, part: String(part) }),
  );
  const all = parts.flat();
  assert.ok(all.length > 0, `${trial} ${position}`);
  const { first, counts } = answers.histogram;
  const buckets = counts.flatMap((n, i) => (n > 0 ? [[first + i, n]] : []));
  assert.deepEqual(Object.fromEntries(buckets), counted(all.map((ms) => Math.floor(100 * Math.log10(1000 * ms)))));
  assert.equal(answers.parts.seconds, 0.5);
  assert.deepEqual(
    answers.parts.ok,
    parts.map((values) => values.length),
  );
  for (const [name, above] of Object.entries(answers.parts.above)) {
    const limit = percentile(all, Number(name.slice(1)) / 100) + 1e-7;
    assert.deepEqual(
      above,
      parts.map((values) => values.filter((value) => value > limit).length),
      name,
    );
  }
  return { parts, all };
}

const [SHORT, LONG, OTHER] = ['{"id":7}', JSON.stringify([{ id: 1, text: 'x'.repeat(300) }]), '{"error":"busy"}'];

test('a window’s histogram, parts, halves, kinds and forms are those of the raw samples, at both loads', async () => {
  await undisturbed(mixed, (result) => {
    assert.equal(result.code, 0, result.stderr);
    const [full] = result.document.trials;
    const [typical] = result.document.typical;
    assert.deepEqual([typical.rate, typical.users, typical.end - typical.start], [150, 60, 3000]);
    for (const [record, trial] of [
      [full, '1'],
      [typical, 't1'],
    ]) {
      histogramAndPercentiles(record, result, trial);
      kinds(record, result, trial);
      completedHalves(record, result, trial);
      arrivedHalves(record, result);
      forms(record, result, trial);
    }
  });
});

test('what users keep of a window they report after it, however early their own part is over', async () => {
  // Seen: the last arrival of 1000 users at 399/s was due 2.5 s before the end, on average. Their reports made the
  // arrivals of others up to 0.4 s late.
  await undisturbed(mixed, ({ document, select }) => {
    const [full] = document.trials;
    const [typical] = document.typical;
    for (const [{ end, phase }, trial] of [
      [full, '1'],
      [typical, 't1'],
    ]) {
      for (const metric of ['trial_answer', 'trial_arrivals', 'trial_completions']) {
        const times = select(metric, { trial }).map(({ data }) => Date.parse(data.time));
        assert.ok(times.length > 0, metric);
        // k6's clock and that of its samples may differ by some ms.
        assert.ok(Math.min(...times) > end - 20, `${phase}, ${metric}: ${end - Math.min(...times)} ms before the end`);
      }
    }
  });
});

async function mixed() {
  let n = 0;
  const server = await service(({ url }) => {
    if (url === '/broken') return { status: 500 };
    if (url === '/slow') return { body: LONG, after: 120 };
    return { body: ++n % 5 === 0 ? OTHER : SHORT };
  }, 40);
  const requests = [
    request({ path: '/fast', weight: 4 }),
    request({ path: '/slow' }),
    request({ path: '/broken', weight: 0.5 }),
  ];
  const change = { requests, load: { model: 'closed', users: 30 }, windows: { measure: 3000 } };
  const env = { ORDER: 'one', RATE: '150', TYPICAL_USERS: '60', TYPICAL_MEASURE: '3s', TYPICAL_SETTLE: '500ms' };
  const result = await measured(experiment(change), { one: server }, { ...env, SEED: '9' });
  server.close();
  return result;
}

function histogramAndPercentiles(record, result, trial) {
  const { answers, latency, ok, phase } = record;
  assert.equal(answers.histogram.is_exact, true, phase);
  const { all } = asSampled(record, result, trial);
  assert.equal(all.length, ok);
  assert.deepEqual(inOrder(all), inOrder(result.of('trial_latency', { trial, phase })));
  for (const [name, p] of Object.entries({ p50: 0.5, p90: 0.9 })) {
    assert.ok(Math.abs(latency[name] - percentile(all, p) / 1000) < 1e-6, `${phase}: ${name}`);
    assert.ok(name in answers.parts.above, `${phase}: ${name}`);
  }
  assert.equal(latency.p99_9, null);
  assert.equal('p99_9' in answers.parts.above, false);
}

function kinds({ answers, failed, phase }, { of }, trial) {
  assert.deepEqual(
    answers.kinds.map(({ name }) => name),
    ['GET /fast', 'GET /slow', 'GET /broken'],
  );
  const [, slow, broken] = answers.kinds;
  assert.deepEqual([broken.latency.count, broken.latency.mean], [0, null]);
  assert.equal(broken.failed, failed['status-500'], phase);
  for (const [kind, { latency }] of answers.kinds.entries()) {
    const values = of('trial_answer', { trial, kind: String(kind) });
    assert.equal(latency.count, values.length, `${phase}, kind ${kind}`);
    if (latency.p50 !== null) assert.ok(Math.abs(latency.p50 - percentile(values, 0.5) / 1000) < 1e-6);
  }
  assert.ok(slow.latency.p50 >= 0.119, `${phase}: ${slow.latency.p50}`);
}

function completedHalves({ answers, failed, ok, start, end, phase }, { of }, trial) {
  assert.equal(end - start, 3000);
  const halves = answers.kinds.map((kind) => kind.halves);
  for (const what of ['arrived', 'completed']) {
    for (const half of [0, 1]) {
      assert.equal(
        answers.halves[what][half],
        sum(halves, (kind) => kind[what][half]),
        `${phase}: ${what}`,
      );
    }
  }
  assert.equal(sum(answers.halves.completed, Number), ok + failed['status-500'], phase);
  // Three of the six parts are a half.
  for (const kind of [0, 1]) {
    const inHalf = (parts) =>
      sum(parts, (part) => of('trial_answer', { trial, part: String(part), kind: String(kind) }).length);
    assert.deepEqual(halves[kind].completed, [inHalf([0, 1, 2]), inHalf([3, 4, 5])], `${phase}, kind ${kind}`);
  }
}

function arrivedHalves({ answers, begin, start, phase }, { servers }) {
  const isOpen = phase === 'typical';
  const due = inSequence(
    arrivals(random('9/1', 'arrivals'), 1000).filter((time) => time < 1000),
    150,
  );
  const times = isOpen
    ? Array.from({ length: 900 }, (_, i) => due(i) + begin)
    : servers.one.log.map(({ arrived }) => arrived);
  // A request reaches the server a little after it is sent.
  const slack = isOpen ? 0 : 15;
  for (const half of [0, 1]) {
    const from = start + half * 1500;
    const arrived = times.filter((time) => time >= from && time < from + 1500).length;
    const reported = answers.halves.arrived[half];
    assert.ok(Math.abs(reported - arrived) <= slack, `${phase}, half ${half}: ${reported} instead of ${arrived}`);
  }
}

function forms({ answers, phase }, { of }, trial) {
  const codes = of('trial_form', { trial });
  const expected = counted(codes.map((code) => JSON.stringify(Object.values(decodeForm(code)))));
  const reported = answers.forms.rows.map(([kind, length, shape, n]) => [JSON.stringify([kind, length, shape]), n]);
  assert.deepEqual(Object.fromEntries(reported), expected);
  assert.equal(answers.forms.others, 0);
  // Failed answers have none. Each body is in its class of lengths.
  const lengths = [[SHORT, OTHER], [LONG]];
  for (const [kind, length] of answers.forms.rows) {
    const least = (body) => body.length >= length && body.length < length * 1.5;
    assert.ok(lengths[kind].some(least), `${kind}: ${length}`);
  }
  assert.equal(new Set(answers.forms.rows.map(([, , shape]) => shape)).size, 3);
  // Closed load: 15 of 30 users once in each part; open load: every second of 450 arrivals.
  const sampled = phase === 'typical' ? [150, 501] : [60, 90];
  assert.ok(codes.length >= sampled[0] && codes.length <= sampled[1], `${phase}: ${codes.length} sampled`);
  // One of five answers to /fast has the other shape: four standard deviations of a binomial share.
  const fast = answers.forms.rows.filter(([kind]) => kind === 0);
  const [share, all] = [fast.at(-1)[3], sum(fast, ([, , , n]) => n)];
  assert.ok(Math.abs(share / all - 0.2) < 4 * Math.sqrt(0.16 / all), `${phase}: ${share} of ${all}`);
}

test('parts with too many answers to tell each say so, and are close', async () => {
  // Parts of half a second, one second and two: a slow machine has fewer answers in one.
  const result = await inLongerWindows(
    [1000, 31_000, 91_000],
    async (measure) => {
      const server = await service(() => ({}), 1);
      const change = { load: { model: 'closed', users: 20 }, windows: { measure } };
      const some = await measured(experiment(change), { one: server }, { ORDER: 'one' });
      server.close();
      return some;
    },
    (some) => sampledParts(some).some(hasTooMany),
  );
  const [{ answers, ok }] = result.document.trials;
  const parts = sampledParts(result);
  assert.ok(parts.some(hasTooMany), `${ok} answers`);
  assert.equal(answers.histogram.is_exact, false);
  assert.deepEqual(
    answers.parts.ok,
    parts.map((values) => values.length),
  );
  const { first, counts } = answers.histogram;
  assert.equal(
    sum(counts, (n) => n),
    ok,
  );
  const buckets = parts.flat().map((ms) => Math.floor(100 * Math.log10(1000 * ms)));
  let below = 0;
  for (const [i, n] of counts.entries()) {
    below += n;
    const exactly = buckets.filter((bucket) => bucket <= first + i).length;
    assert.ok(Math.abs(below - exactly) <= 0.001 * ok + parts.length, `${below} up to bucket ${i}: ${exactly}`);
  }

  function sampledParts({ document, of }) {
    return document.trials[0].answers.parts.ok.map((_, part) => of('trial_answer', { part: String(part) }));
  }
  function hasTooMany(values) {
    return values.length > 501;
  }
});

const HEALTH = '/actuator/health/liveness';

test('a probe goes to its variant alone, on a new connection each, and is in none of the load’s figures', async (t) => {
  const result = await undisturbed(probed, (some) => {
    assert.equal(some.code, 0, some.stderr);
    timesAreTheSamples(some);
    warmUpHasProbes(some);
    tableHasBothLoads(some);
  });
  const { select } = result;
  const { log } = result.servers.with;

  await t.test('each has a connection of its own', () => {
    const probes = log.filter(({ url }) => url === HEALTH);
    const others = new Set(log.filter(({ url }) => url !== HEALTH).map(({ connection }) => connection));
    assert.equal(new Set(probes.map(({ connection }) => connection)).size, probes.length);
    assert.equal(probes.filter(({ connection }) => others.has(connection)).length, 0);
    assert.ok(probes.every(({ headers }) => headers.connection === 'close'));
  });

  await t.test('no sample of k6’s own that has a variant is a probe’s', () => {
    const probes = log.filter(({ url }) => url === HEALTH).length;
    assert.equal(select('http_reqs', { name: 'probe' }).length, probes);
    assert.equal(select('http_req_failed', { name: 'probe' }).length, 0);
    for (const metric of ['http_reqs', 'http_req_duration', 'http_req_waiting']) {
      for (const { data } of select(metric, { name: 'probe' })) {
        assert.deepEqual([data.tags.variant, data.tags.trial, data.tags.phase], [undefined, undefined, undefined]);
      }
    }
    for (const { variant, position, phase, started } of result.records) {
      const trial = `${{ warmup: 'w', measure: '', typical: 't' }[phase]}${position}`;
      assert.equal(select('http_reqs', { variant, trial }).length, started, trial);
      assert.equal(select('iterations', { trial }).length, 20, 'one of each user that has load');
    }
  });
});

async function probed() {
  const server = await service(({ url }) => ({ after: url === HEALTH ? 30 : 10 }));
  const change = { load: { model: 'closed', users: 8 }, windows: { measure: 2000 } };
  const env = { ORDER: 'with,without,without,with', RATE: '40', TYPICAL_USERS: '20', OWN_CYCLES: '1' };
  const windows = {
    TYPICAL_MEASURE: '2s',
    TYPICAL_SETTLE: '500ms',
    PROBES: JSON.stringify({ with: server.url + HEALTH }),
  };
  const result = await measured(experiment(change), { with: server, without: server }, { ...env, ...windows });
  server.close();
  return result;
}

function timesAreTheSamples({ document, of, servers, stall }) {
  for (const [record, trial] of [
    [document.trials[0], '1'],
    [document.trials[3], '4'],
    [document.typical[0], 't1'],
  ]) {
    const { sent, skipped, healthy, unanswered, over_second, longest, times } = record.probe;
    assert.deepEqual([sent, skipped, healthy, unanswered, over_second, times.length], [10, 0, 10, 0, 0, 10]);
    const samples = of('trial_probe', { trial, variant: 'with', phase: record.phase, port: 'same' });
    assert.deepEqual(inOrder(times), inOrder(samples.map((ms) => Math.round(1000 * ms) / 1e6)));
    assert.equal(longest, Math.max(...times));
    assert.ok(Math.min(...times) >= 0.029, `${times}`);
    // Due every 200 ms from the window's beginning.
    const asked = servers.with.log.filter(({ url, arrived }) => url === HEALTH && arrived >= record.start - 1);
    for (const [slot, { arrived }] of asked.slice(0, 10).entries()) {
      const late = arrived - (record.start + 200 * slot);
      assert.ok(late > -2 && late < 1000 * stall + 100, `slot ${slot}: ${late} ms late`);
    }
  }
  for (const record of [document.trials[1], document.trials[2], document.typical[1]]) {
    assert.equal(record.probe, undefined);
  }
}

/** The warm-up has probes, too, and tells nothing of them. */
function warmUpHasProbes({ document, of, servers }) {
  const [cycle, other] = document.warmup;
  assert.deepEqual([cycle.variant, cycle.probe, other.probe], ['with', undefined, undefined]);
  assert.equal(of('trial_probe', { phase: 'warmup' }).length, 0);
  const asked = servers.with.log.filter(({ url, arrived }) => url === HEALTH && arrived < cycle.end);
  assert.ok(asked.length >= 5, `${asked.length}`);
}

/** The table has the longest probe, too. */
function tableHasBothLoads({ stdout }) {
  assert.match(stdout, /^ {2}1 +with +8 .* ms$/m);
  assert.match(stdout, /^ {2}t1 +with +20 +\d\d\.\d .* ms$/m);
  assert.match(stdout, /^ {2}t2 +without +20 .* -$/m);
  assert.match(stdout, /t: typical load/);
}

test('with one variant, whose name is a tag of the run, a probe is in none of its figures either', async () => {
  const server = await service(() => ({}));
  const change = { load: { model: 'closed', users: 3 }, windows: { measure: 1000 } };
  const result = await measured(experiment(change), { only: server }, { ORDER: 'only', PROBES: '' });
  server.close();
  const [{ probe, started }] = result.document.trials;
  assert.deepEqual([probe.sent, probe.times.length], [5, 5]);
  assert.equal(result.select('http_reqs', { variant: 'only' }).length, started);
  assert.ok(result.select('http_reqs', { name: 'probe' }).length > 5);
  assert.equal(result.select('iterations', { variant: 'only' }).length, 3);
});

test('a probe without an answer: twenty wait for 15 s, others are skipped, and what is given up counts after a second', async () => {
  const { code, stdout, stderr } = await undisturbed(
    async () => {
      const server = await service(({ url }) => (url === HEALTH ? { after: Number.POSITIVE_INFINITY } : {}));
      const change = { load: { model: 'closed', users: 3 }, windows: { measure: 5000 } };
      const env = { ORDER: 'one,one', PROBES: '', WAIT_FOR_ANSWERS: 'false' };
      const result = await measured(experiment(change), { one: server }, env);
      server.close();
      return result;
    },
    ({ document }) => {
      const [waited, gaveUp] = document.trials;
      assert.ok(gaveUp.begin - waited.end > 13_000, `${gaveUp.begin - waited.end} ms`);
      for (const [trial, { probe, start, begin }] of [
        ['1', waited],
        ['2', gaveUp],
      ]) {
        const before = Math.floor((start - begin) / 200);
        const { sent, skipped, healthy, unanswered, over_second, longest, times } = probe;
        // Those of the ramp-up are among the twenty.
        assert.deepEqual(
          [sent, skipped, healthy, unanswered, over_second],
          [20 - before, 5 + before, 0, sent, sent],
          trial,
        );
        assert.equal(times.filter((seconds) => seconds === null).length, skipped);
        if (trial === '1') assert.deepEqual([longest, times[0]], [15, 15]);
        else assert.ok(Math.abs(longest - 5) < 0.2 && times[1] < times[0], `${times}`);
      }
    },
  );
  assert.equal(code, 0, stderr);
  assert.match(stdout, /1: \d+ of \d+ probes took over 1 s; \d+ had no answer/);
});

test('what has waited for less than a second when it is given up says nothing, and a refused probe has no answer', async () => {
  const gone = await service(() => ({}));
  gone.close();
  const given = async (probesOf) => {
    const server = await service(({ url }) => (url === '/hangs' ? { after: Number.POSITIVE_INFINITY } : {}));
    const change = { load: { model: 'closed', users: 2 }, windows: { measure: 3000 } };
    const PROBES = JSON.stringify({ one: probesOf(server) });
    const env = { ORDER: 'one', WARMUP_CYCLES: '0', WAIT_FOR_ANSWERS: 'false', PROBES };
    const result = await block(experiment(change), { one: server }, env);
    server.close();
    return result;
  };
  await undisturbed(
    () => given(({ url }) => `${url}/hangs`),
    ({ document }) => {
      const { sent, unanswered, times, skipped } = document.trials[0].probe;
      // The last second has five, of which the first one may have waited for it.
      assert.ok([10, 11].includes(sent), `${sent} sent`);
      assert.deepEqual([unanswered, skipped], [sent, 0]);
      assert.deepEqual(times.slice(-4), [null, null, null, null]);
    },
  );
  const { stderr } = await undisturbed(
    () => given(() => `${gone.url}/`),
    ({ document }) => {
      const { probe } = document.trials[0];
      assert.deepEqual([probe.sent, probe.unanswered, probe.over_second, probe.longest], [15, 15, 15, 15]);
    },
  );
  assert.equal(stderr, '');
});

test('a script: its HTTP answers by part and scenario, the first from when its iteration was due', async () => {
  await undisturbed(scripted, (result) => {
    assert.ok([0, 99].includes(result.code), result.stderr);
    const { trials, typical, thresholds } = result.document;
    answersOfScript(trials[0], result, '1');
    answersOfScript(typical[0], result, 't1');
    // Neither the probes' requests nor their time is in them: the slowest of the script's own takes 40 ms.
    assert.deepEqual(thresholds.one.checks, { 'rate==1': true });
  });
});

async function scripted() {
  const server = await service(({ url }) => {
    if (url === '/missing') return { status: 404 };
    if (url === '/moved') return { status: 302, headers: { Location: '/there' }, after: 40 };
    return { body: SHORT, after: url === '/slow' ? 80 : 5 };
  });
  const elsewhere = await service(() => ({}));
  const script = wrapped(`
    import http from 'k6/http';
    import { check } from 'k6';
    export const options = {
      scenarios: {
        browse: { executor: 'constant-vus', vus: 3, exec: 'browse' },
        order: { executor: 'constant-vus', vus: 1, exec: 'order' },
      },
      thresholds: { http_req_duration: ['max<70'], checks: ['rate==1'] },
    };
    export function browse() {
      const all = http.batch([__ENV.BASE_URL + '/a', __ENV.BASE_URL + '/missing']);
      check(all[0], { ok: (r) => r.status === 200 });
      http.get('${elsewhere.url}/other');
    }
    export async function order() {
      http.get(__ENV.BASE_URL + '/moved');
      await http.asyncRequest('GET', __ENV.BASE_URL + '/there');
    }
    export default function () {}
  `);
  const change = {
    workload: { requests: [], is_script: true },
    load: { model: 'closed', users: 8 },
    windows: { measure: 2000 },
  };
  const typical = { RATE: '60', TYPICAL_USERS: '30', TYPICAL_MEASURE: '2s', TYPICAL_SETTLE: '500ms' };
  const targets = { one: server };
  const result = await measured(experiment(change), targets, { ORDER: 'one', PROBES: '', ...typical }, { script });
  for (const one of [server, elsewhere]) one.close();
  return result;
}

function answersOfScript(record, result, trial) {
  const { answers, probe, ok } = record;
  const { all } = asSampled(record, result, trial);
  const [browse, order] = answers.kinds;
  assert.deepEqual([browse.name, order.name], ['browse', 'order']);
  assert.equal(answers.latency.count, all.length);
  assert.ok(Math.abs(answers.latency.p50 - percentile(all, 0.5) / 1000) < 1e-6);
  // One OK answer of the variant to an iteration of browse, two to one of order; iterations end in the window or after.
  const near = (n, expected) => assert.ok(Math.abs(n - expected) <= 10, `${trial}: ${n} instead of ${expected}`);
  near(browse.latency.count, sum(browse.halves.completed, Number));
  near(order.latency.count, 2 * sum(order.halves.completed, Number));
  assert.equal(sum(answers.halves.completed, Number), ok);
  // The redirected one with its way there.
  assert.ok(order.latency.max >= 0.045, `${order.latency.max}`);
  assert.ok(answers.forms.rows.every(([, length, shape]) => length === 8 && shape !== ''));
  assert.equal(probe.unanswered, 0);
  assert.ok(probe.sent >= 9, `${probe.sent} probes`);
}
