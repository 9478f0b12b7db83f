// The parts that need no k6, compiled as they are; `k6/metrics` is a stand-in.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { experiment, folder, reassemble } from './k6.mjs';

const root = new URL('..', import.meta.url).pathname;
const out = join(folder, 'compiled');
execFileSync(process.execPath, [
  join(root, 'node_modules/typescript/bin/tsc'),
  ...['-p', root, '--noEmit', 'false', '--outDir', out],
]);
const standIn = join(out, 'node_modules/k6');
mkdirSync(standIn, { recursive: true });
writeFileSync(join(out, 'package.json'), '{"type":"module"}');
writeFileSync(join(standIn, 'package.json'), '{"type":"module","exports":{"./metrics":"./metrics.js"}}');
writeFileSync(
  join(standIn, 'metrics.js'),
  'class M { constructor(name) { this.name = name; } }\nexport { M as Counter, M as Gauge, M as Trend };\n',
);
const load = (name) => import(join(out, 'lib', `${name}.js`));
const { parseInput } = await load('input');
const { plan } = await load('plan');
const { beyond, percentiles } = await load('statistics');
const { chunks, table } = await load('output');
const { makeDocument } = await load('record');

const TARGETS = '{"platform":"http://p/","virtual":"http://v"}';
const input = (change, env = {}) =>
  parseInput({ EXPERIMENT: 'stub', TARGETS, ...env }, () => JSON.stringify(experiment(change)));

test('overrides are written as in an experiment, or refused', () => {
  const all = { '100ms': 100, '5s': 5000, '1.5s': 1500, '2m': 120_000, '1h': 3_600_000 };
  for (const [text, ms] of Object.entries(all)) assert.equal(input({}, { MEASURE: text }).measure, ms);
  for (const text of ['5', '1m30s', 'soon', '0s', '-5s']) {
    assert.throws(
      () => input({}, { MEASURE: text }),
      (error) => error.startsWith(`MEASURE: "${text}" is not a positive duration`),
    );
  }
});

test('without ORDER the block is the experiment’s: mirrored, or one trial of each variant', () => {
  const TARGETS = '{"a":"http://a","b":"http://b","c":"http://c","other":"http://o"}';
  const order = (trials) => input({ variants: ['b', 'a', 'c'], windows: { trials } }, { TARGETS }).order.join();
  assert.deepEqual([order(2), order(1)], ['b,a,c,c,a,b', 'b,a,c']);
  assert.throws(
    () => input({ variants: ['a', 'gone'] }, { TARGETS }),
    (error) => error === 'ORDER: no variant "gone" in TARGETS: write a comma list of a, b, c, other',
  );
});

test('a block warms up in turn, then measures one user, then the mirrored order', () => {
  const { phases, users } = plan(input({ windows: { warmup_cycles: 2 } }, { SINGLE: '2s' }));
  assert.deepEqual(
    phases.map(({ trial, variant }) => `${trial} ${variant}`),
    [
      ...['w1 platform', 'w2 virtual', 'w3 platform', 'w4 virtual'],
      ...['s1 platform', 's2 virtual'],
      ...['1 platform', '2 virtual', '3 virtual', '4 platform'],
    ],
  );
  assert.deepEqual(
    phases.map(({ index }) => index),
    phases.map((_, i) => i),
  );
  assert.equal(users, 10);
  assert.equal(phases[0].url, 'http://p/work?duration=1s&what=a%20b');
});

test('many users get longer to wake', () => {
  const grid = (users) => plan(input({ load: { model: 'closed', users } })).grid;
  assert.deepEqual([10, 100, 101, 500, 501, 1000, 2000].map(grid), [250, 250, 500, 500, 1000, 1000, 2000]);
});

test('a variant may have its own window, which MEASURE replaces, too', () => {
  const change = { windows: { measure: 5000, measure_by_variant: { virtual: 20_000 } } };
  const lengths = (env) =>
    plan(input(change, { ORDER: 'platform,virtual', WARMUP_CYCLES: '0', ...env })).phases.map(
      ({ start, end }) => end - start,
    );
  assert.deepEqual(lengths({}), [5000, 20_000]);
  assert.deepEqual(lengths({ MEASURE: '2s' }), [2000, 2000]);
});

test('warm-up follows the order given, or the targets where there is none', () => {
  const first = (env) => plan(input({}, env)).phases[0].variant;
  assert.equal(first({ ORDER: 'virtual,platform,platform,virtual' }), 'virtual');
  assert.equal(first({ ORDER: '' }), 'platform');
});

test('closed load: users begin in whole rounds, 200 a second at most, settle for another, then the window', () => {
  const of = (users) => {
    const load = { model: 'closed', users, round: { platform: 5 * users, virtual: 1000 } };
    const change = { load, windows: { measure: 5000, ramp_up: 100 } };
    const { phases } = plan(input(change, { ORDER: 'platform,virtual', WARMUP_CYCLES: '0' }));
    return phases.map(({ rampUp, start, end }) => [rampUp, start, end]);
  };
  assert.deepEqual(of(1000), [
    [5000, 10_000, 15_000],
    [5000, 6000, 11_000],
  ]);
  assert.deepEqual(of(500), [
    [2500, 5000, 10_000],
    [3000, 4000, 9000],
  ]);
  assert.deepEqual(of(10), [
    [50, 100, 5100],
    [1000, 2000, 7000],
  ]);
});

test('an unknown round is no shorter than that of the variant whose users wait least', () => {
  const starts = (round, env) => {
    const change = { load: { model: 'closed', users: 10, round }, windows: { ramp_up: 300 } };
    const { phases } = plan(input(change, { ORDER: 'platform,virtual', WARMUP_CYCLES: '0', ...env }));
    return phases.map(({ rampUp, start }) => [rampUp, start]);
  };
  assert.deepEqual(starts({ platform: 2000 }), [
    [2000, 4000],
    [2000, 4000],
  ]);
  assert.deepEqual(starts({ platform: 100 })[1], [300, 600]);
  assert.deepEqual(starts({}), [
    [300, 600],
    [300, 600],
  ]);
  assert.deepEqual(starts({ platform: 100 }, { USERS: '40' }), [
    [400, 800],
    [400, 800],
  ]);
});

test('a round that rounds to nothing still lets users begin', () => {
  const change = { load: { model: 'closed', users: 10, round: { platform: 1 } } };
  const [platform] = plan(input(change, { ORDER: 'platform', WARMUP_CYCLES: '0', USERS: '1' })).phases;
  assert.deepEqual([platform.rampUp, platform.start], [5, 6]);
});

test('a trial in a separate call is paced and numbered as in its block, and may give up what is unanswered', () => {
  const load = { model: 'closed', users: 10, round: { platform: 2000 } };
  const phases = (env, windows) => plan(input({ load, windows }, { WARMUP_CYCLES: '1', SINGLE: '2s', ...env })).phases;
  const [alone] = phases({ ORDER: 'virtual', POSITION: '2' }).slice(-1);
  assert.deepEqual([alone.rampUp, alone.start, alone.position, alone.trial], [2000, 4000, 2, '2']);
  const waits = (env, windows) =>
    phases({ ORDER: 'platform,virtual', ...env }, windows).map(
      ({ trial, waitForAnswers }) => `${trial} ${waitForAnswers}`,
    );
  const lastGivesUp = ['w1 true', 'w2 true', 's1 true', 's2 true', '1 true', '2 false'];
  assert.deepEqual(waits({ WAIT_FOR_ANSWERS: 'false' }), lastGivesUp);
  assert.deepEqual(waits({}, { wait_for_answers: false }), lastGivesUp);
  for (const all of [waits({}), waits({ WAIT_FOR_ANSWERS: 'true' }, { wait_for_answers: false })]) {
    assert.equal(all.at(-1), '2 true');
  }
});

test('warm-up: its own users, who start within a second, the whole load is the window', () => {
  const load = { model: 'closed', users: 1000, round: { platform: 5000 } };
  const { phases, users } = plan(input({ load, windows: { warmup_users: 2000, ramp_up: 2000 } }));
  assert.deepEqual([phases[0].rampUp, phases[0].start, phases[0].end], [1000, 1000, 1500]);
  assert.equal(users, 2000);
});

test('open load: the window opens after the ramp-up, and the timeout exceeds max_response', () => {
  const made = plan(
    input({ load: { model: 'open', rate: 50, users: 20 } }, { RATE: '80', USERS: '30', MEASURE: '3s' }),
  );
  const trial = made.phases.at(-1);
  assert.deepEqual([trial.rate, trial.users, trial.start, trial.end], [80, 30, 200, 3200]);
  assert.equal(made.timeout, 10_000);
  assert.ok(made.longest > made.phases.reduce((sum, phase) => sum + phase.end + made.timeout, 0));
});

test('the length of a block is that of its phases, with a second between two and a round for the last answers', () => {
  const load = { model: 'closed', users: 10, round: { platform: 4000, virtual: 1000 } };
  const change = { load, windows: { ramp_up: 1000, warmup_load: 2000, measure: 5000 } };
  // Warm-up 2 × (3 + 1), trials 2 × (8 + 5 + 4 + 1) and 2 × (2 + 5 + 1 + 1).
  assert.equal(plan(input(change)).seconds, 62);
});

/** What a plan asks of every phase: a line each. */
function phaseLines({ phases }) {
  return phases.map((phase) => {
    const { trial, users, rate, thinkTime, rampUp, start, end, waitForAnswers, url } = phase;
    const load = rate === undefined ? `think ${thinkTime}` : `rate ${rate}`;
    const wait = waitForAnswers ? '' : ', gives up';
    return `  ${trial} ${url}: ${users} users, ${load}, ramp-up ${rampUp}, window ${start} to ${end}${wait}`;
  });
}

test('the plans of the shipped experiments are those that were measured: changed pacing is another measurement', () => {
  const folder = new URL('../plans/', import.meta.url);
  const measured = readFileSync(new URL('golden/plans.txt', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  const lines = [];
  // A new experiment has not been measured: it needs no line.
  for (const [, name] of measured.map((line) => /^(\S+): timeout/.exec(line)).filter(Boolean)) {
    const text = readFileSync(new URL(name, folder), 'utf8');
    const { variants } = JSON.parse(text);
    const TARGETS = JSON.stringify(Object.fromEntries(variants.map((variant) => [variant, `http://${variant}`])));
    const planned = (env) => plan(parseInput({ EXPERIMENT: 'x', TARGETS, ...env }, () => text));
    const whole = planned({});
    lines.push(`${name}: timeout ${whole.timeout}, grid ${whole.grid}`, ...phaseLines(whole));
    for (const [key, value] of Object.entries({ USERS: '7', MEASURE: '3s' })) {
      lines.push(
        `${name}, ${key}=${value}`,
        ...phaseLines(planned({ [key]: value, WARMUP_CYCLES: '0', SINGLE: '0s' })),
      );
    }
  }
  assert.deepEqual(lines, measured);
});

test('a percentile needs ten samples beyond it', () => {
  const sorted = (n) => Array.from({ length: n }, (_, i) => i);
  for (const n of [1, 10, 19, 20, 99, 100, 101, 991, 1000, 9_999, 10_001]) {
    for (const perMille of [500, 900, 950, 990, 999]) {
      const at = (perMille / 1000) * (n - 1);
      assert.equal(beyond(n, perMille), sorted(n).filter((x) => x > at + 1e-9).length, `${n} ${perMille}`);
    }
  }
  assert.deepEqual(
    percentiles(0, () => 1),
    { p50: null, p90: null, p95: null, p99: null, p99_9: null },
  );
  assert.deepEqual(
    percentiles(1000, () => 1),
    { p50: 1, p90: 1, p95: 1, p99: 1, p99_9: null },
  );
});

/** A summary in which users began trial 1 at these two times. */
function summary(first, last) {
  const trend = { count: 2000, avg: 20, med: 10, 'p(90)': 30, 'p(95)': 40, 'p(99)': 50, 'p(99.9)': 60, max: 70 };
  const metrics = {
    'trial_begin{trial:1}': { min: first, max: last },
    'trial_drained{trial:1}': { min: 1, max: first + 1500.4 },
    'trial_latency{trial:1,phase:measure}': trend,
    'trial_started{trial:1}': { count: 2100 },
    'trial_completed{trial:1}': { count: 2100 },
    'trial_failed{trial:1,reason:status-503}': { count: 3 },
  };
  return { metrics: Object.fromEntries(Object.entries(metrics).map(([name, values]) => [name, { values }])) };
}

test('the document says so when users disagreed, and leaves out what never began', () => {
  const given = input({}, { ORDER: 'platform,virtual', WARMUP_CYCLES: '0' });
  const make = (first, last) => makeDocument(given, plan(given), summary(first, last));
  const document = make(1_000_000, 1_000_000);
  assert.equal(document.agreed, true);
  assert.equal(document.trials.length, 1);
  const [trial] = document.trials;
  assert.deepEqual([trial.start, trial.end, trial.drained], [1_000_400, 1_001_400, 1_001_500]);
  assert.deepEqual([trial.ok, trial.throughput, trial.failed], [2000, 2000, { 'status-503': 3 }]);
  assert.deepEqual([trial.latency.mean, trial.latency.p99, trial.latency.p99_9], [0.02, 0.05, null]);
  assert.equal(make(1_000_000, 1_000_500).agreed, false);
  assert.match(table(make(1_000_000, 1_000_500)), /users disagreed/);
});

test('the table fits 100 columns and says what it is not', () => {
  const given = input({}, { ORDER: 'platform,virtual', WARMUP_CYCLES: '0' });
  const text = table(makeDocument(given, plan(given), summary(1_000_000, 1_000_000)));
  assert.match(text, /one block, warm JVMs, no verdict/);
  assert.ok(text.split('\n').every((line) => line.length <= 100));
});

test('chunks are at most 8 KB of ASCII each and give the document back', () => {
  const document = { text: 'ümläut ✓ 😀 \n "quoted" \\ '.repeat(2000) };
  const lines = chunks(JSON.stringify(document));
  assert.match(lines, /^[\n\x20-\x7e]+$/);
  assert.ok(lines.split('\n').every((line) => Buffer.byteLength(line) < 8192));
  assert.deepEqual(reassemble(`a table\n${lines}`), document);
});
