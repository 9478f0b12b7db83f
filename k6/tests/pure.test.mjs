// The parts that need no k6.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { load } from './compiled.mjs';
import { experiment, reassemble } from './k6.mjs';

const { parseInput } = await load('input');
const { arrivalsIn, plan } = await load('plan');
const { exponential, random } = await load('random');
const { arrivals, dealt, evenly, inFlightAt, inSequence, partIn } = await load('arrivals');
const { beyond, windowPercentiles } = await load('percentiles');
const { chunks, table } = await load('output');
const record = await load('record');
const { body, target, template } = await load('template');
const { Choices, drawn, Rows, stratified } = await load('mix');
const { shape, unmet } = await load('answers');
const { keptOptions, taskOf, tasksOf, thresholdResults, thresholdsOf } = await load('scripts');
const { moved, movedCookie, originOf } = await load('addresses');

test('a comment of the code begins with a verb or a noun', () => {
  const root = new URL('..', import.meta.url).pathname;
  const library = readdirSync(`${root}lib`).map((name) => `lib/${name}`);
  for (const path of ['block.ts', 'threads.ts', ...library]) {
    const text = readFileSync(root + path, 'utf8');
    const [found] = /\/\*\*[\s*]*(As of|Has|In so many|Of|Those|With)\b.*/.exec(text) ?? [];
    assert.equal(found, undefined, path);
    const [twice] = /^\s*\* \* .*/m.exec(text) ?? [];
    assert.equal(twice, undefined, `${path}: a second asterisk`);
  }
});

const makeDocument = (given, block, counted) =>
  record.makeDocument(given, block, counted, { kinds: [''], shares: [1] });

const GOLDEN = new URL('golden/plans.txt', import.meta.url);
const TARGETS = '{"platform":"http://p/","virtual":"http://v"}';
const input = (change, env = {}) =>
  parseInput({ EXPERIMENT: 'stub', TARGETS, OWN_CYCLES: '0', SINGLE_PHASES: '1', ...env }, () =>
    JSON.stringify(experiment(change)),
  );

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
  assert.deepEqual([order(2), order(1), order(4)], ['b,a,c,c,a,b', 'b,a,c', 'b,a,c,c,a,b,c,a,b,b,a,c']);
  assert.throws(
    () => input({ variants: ['a', 'gone'] }, { TARGETS }),
    (error) => error === 'ORDER: no variant "gone" in TARGETS: name some of a, b, c, other',
  );
});

test('a block warms up in turn, then measures one user, the mirrored order, typical load and light load', () => {
  const cycles = { SINGLE: '2s', OWN_CYCLES: '1', SINGLE_PHASES: '3' };
  const env = { ...cycles, LIGHT: '{"virtual":[0,5],"platform":[5]}', RATE: '3' };
  const { phases, users } = plan(input({ windows: { warmup_cycles: 1 } }, env));
  assert.deepEqual(
    phases.map(({ trial, variant }) => `${trial} ${variant}`),
    [
      ...['w1 platform', 'w2 virtual', 'w3 platform', 'w4 virtual'],
      ...['s1 platform', 's2 virtual', 's3 virtual', 's4 platform', 's5 platform', 's6 virtual'],
      ...['1 platform', '2 virtual', '3 virtual', '4 platform'],
      ...['t1 platform', 't2 virtual'],
      ...['l1 virtual', 'l2 virtual', 'l3 platform'],
    ],
  );
  const single = phases.filter(({ kind }) => kind === 'single');
  assert.deepEqual([...new Set(single.map(({ start, end }) => end - start))], [667]);
  assert.deepEqual(
    phases.map(({ index }) => index),
    phases.map((_, i) => i),
  );
  assert.equal(users, 20);
  assert.deepEqual(
    [phases[0], phases[2]].map(({ base, isCheap }) => [base, isCheap]),
    [
      ['http://p', true],
      ['http://p', false],
    ],
  );
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

/** How many rounds after the ramp-up a window opens, in a trial of each number. */
function waits(round, numbers, env = {}) {
  return numbers.map((POSITION) => {
    const load = { model: 'closed', users: 10, round: { platform: round } };
    const [trial] = plan(input({ load }, { ORDER: 'platform', WARMUP_CYCLES: '0', POSITION, ...env })).phases;
    return (trial.start - trial.rampUp) / round;
  });
}

test('closed load: users begin in whole rounds, 200 a second at most, settle for one to two, then the window', () => {
  const of = (users) => {
    const load = { model: 'closed', users, round: { platform: 5 * users, virtual: 1000 } };
    const change = { load, windows: { measure: 5000, ramp_up: 100 } };
    const { phases } = plan(input(change, { ORDER: 'platform,virtual', WARMUP_CYCLES: '0' }));
    for (const [i, { rampUp, start, end }] of phases.entries()) {
      const rounds = (start - rampUp) / (i === 0 ? 5 * users : 1000);
      assert.ok(rounds >= 1 && rounds < 2, `${rounds} rounds`);
      assert.equal(end - start, 5000);
    }
    return phases.map(({ rampUp }) => rampUp);
  };
  assert.deepEqual([1000, 500, 10].map(of), [
    [5000, 5000],
    [2500, 3000],
    [50, 1000],
  ]);
});

test('closed load: a window begins anywhere in a round, as the seed, the block and the number of the trial say', () => {
  const numbers = Array.from({ length: 400 }, (_, i) => String(i + 1));
  kolmogorov(waits(100_000, numbers), (rounds) => rounds - 1);
  const first = (env) => waits(100_000, ['1'], env)[0];
  assert.equal(first({ SEED: '7', BLOCK: '2' }), first({ SEED: '7', BLOCK: '2', RUN_ID: 'other' }));
  const different = [{}, { RUN_ID: 'r' }, { SEED: '7' }, { SEED: '8' }, { SEED: '7', BLOCK: '2' }].map(first);
  assert.equal(new Set(different).size, different.length);
});

test('closed load: a window of whole rounds counts the same wherever it begins, another one right on average', () => {
  // Each user is answered once a round, at its place in the round.
  const count = (length, start) => {
    const places = Array.from({ length: 10 }, (_, user) => (100 * user) / 10);
    const upTo = (time) => places.reduce((total, place) => total + Math.floor((time - place) / 100), 0);
    return upTo(start + length) - upTo(start);
  };
  const starts = waits(
    100,
    Array.from({ length: 400 }, (_, i) => String(i + 1)),
  ).map((rounds) => 100 * rounds);
  assert.deepEqual([...new Set(starts.map((start) => count(300, start)))], [30]);
  const counts = starts.map((start) => count(155, start));
  assert.deepEqual([...new Set(counts)].toSorted(), [15, 16]);
  const mean = counts.reduce((sum, n) => sum + n, 0) / counts.length;
  assert.ok(Math.abs(mean - 15.5) < 0.1, `${mean} instead of 15.5`);
});

test('an unknown round is no shorter than that of the variant whose users wait least', () => {
  const starts = (round, env) => {
    const change = { load: { model: 'closed', users: 10, round }, windows: { ramp_up: 300 } };
    const { phases } = plan(input(change, { ORDER: 'platform,virtual', WARMUP_CYCLES: '0', ...env }));
    // One round: it lasts as long as the ramp-up.
    for (const { rampUp, start } of phases) assert.ok(start >= 2 * rampUp && start < 3 * rampUp);
    return phases.map(({ rampUp }) => rampUp);
  };
  assert.deepEqual(starts({ platform: 2000 }), [2000, 2000]);
  assert.deepEqual(starts({ platform: 100 }), [100, 300]);
  assert.deepEqual(starts({}), [300, 300]);
  assert.deepEqual(starts({ platform: 100 }, { USERS: '40' }), [400, 400]);
});

test('rounds that the warm-up showed pace trials as those of the experiment, which come first', () => {
  const trials = (round, env) =>
    plan(input({ load: { model: 'closed', users: 100, round } }, { WARMUP_CYCLES: '0', ...env })).phases.map(
      ({ variant, rampUp, start, end }) => [variant, rampUp, start, end],
    );
  const told = { ROUNDS: '{"platform":"5s","virtual":"1200ms"}' };
  const planned = trials({ platform: 5000, virtual: 1200 });
  assert.deepEqual(trials({}, told), planned);
  assert.notDeepEqual(trials({}), planned);
  assert.deepEqual(trials({ platform: 5000 }, { ROUNDS: '{"platform":"9s","virtual":"1200ms"}' }), planned);
});

test('a round that rounds to nothing still lets users begin', () => {
  const change = { load: { model: 'closed', users: 10, round: { platform: 1 } } };
  const [platform] = plan(input(change, { ORDER: 'platform', WARMUP_CYCLES: '0', USERS: '1' })).phases;
  assert.deepEqual([platform.rampUp, platform.start], [5, 6]);
});

test('closed load: where users queue, the window opens when as many have begun as are served, and has no latency', () => {
  const trials = (serviceTime, env = {}) => {
    const load = { model: 'closed', users: 1000, round: { platform: 5000, virtual: 1000 }, service_time: serviceTime };
    const { phases } = plan(input({ load }, { ORDER: 'platform,virtual', WARMUP_CYCLES: '0', ...env }));
    return phases;
  };
  const [slow, fast] = trials({});
  assert.deepEqual([slow.isLatencySteady, fast.isLatencySteady], [true, true]);
  const [platform, virtual] = trials({ platform: 1000 });
  // 200 of 1000 users have begun after 1 s, and one to two times the service time passes.
  assert.equal(platform.start, 1000 + (slow.start - slow.rampUp) / 5);
  assert.deepEqual([platform.rampUp, platform.isLatencySteady], [slow.rampUp, false]);
  assert.deepEqual(virtual, fast);
  // With seven users nobody queues: a round is shorter than the service time.
  assert.deepEqual(trials({ platform: 1000 }, { USERS: '7' }), trials({}, { USERS: '7' }));
});

test('a variant that serves its threads from the start is counted as the law says, in the window of any seed', () => {
  // 1000 users begin at 200 a second; 200 threads take 1 s each, first come, first served.
  const users = Array.from({ length: 1000 }, (_, user) => 5 * user);
  const threads = Array.from({ length: 200 }, () => 0);
  const waiting = [...users];
  const answers = [];
  for (let i = 0; i < 4000; i++) {
    const due = waiting.shift();
    const done = Math.max(due, threads.shift()) + 1000;
    threads.push(done);
    answers.push(done);
    // The next request of that user; all answers come in order.
    waiting.splice(waiting.findLastIndex((other) => other <= done) + 1, 0, done);
  }
  for (let SEED = 1; SEED <= 50; SEED++) {
    const load = { model: 'closed', users: 1000, round: { platform: 5000 }, service_time: { platform: 1000 } };
    const env = { ORDER: 'platform', WARMUP_CYCLES: '0', SEED: String(SEED) };
    const [{ start, end }] = plan(input({ load, windows: { measure: 5000 } }, env)).phases;
    const counted = answers.filter((time) => time >= start && time < end).length;
    assert.equal(counted, 1000, `from ${start}`);
  }
});

test('warm-up of so many requests: as many of each user, however long, within three times the load or ten seconds', () => {
  const windows = { warmup_users: 30, warmup_requests: 1000, warmup_load: 2000, ramp_up: 400 };
  const [first, second, trial] = plan(input({ windows }, { ORDER: 'platform,virtual' })).phases;
  for (const phase of [first, second]) {
    assert.deepEqual([phase.users, phase.requests, phase.start, phase.end], [30, 34, 0, 10_400]);
  }
  assert.equal(trial.requests, undefined);
  const open = plan(input({ load: { model: 'open', rate: 50, users: 20 }, windows }, { ORDER: 'platform' })).phases;
  assert.deepEqual([open[0].requests, open[0].end], [undefined, 2400]);
  // As long as the load, for what is not known before.
  const seconds = (more) => plan(input({ windows: { ...windows, ...more } }, { ORDER: '' })).seconds;
  assert.equal(seconds({}), seconds({ warmup_requests: 0 }));
});

test('the window of so many requests ends with the last answer, and of a latency that is not steady nothing is told', () => {
  const load = { model: 'closed', users: 1000, round: { platform: 5000 }, service_time: { platform: 1000 } };
  const asked = input({ load, windows: { warmup_requests: 100 } }, { ORDER: 'platform' });
  const block = plan(asked);
  const values = (drained) => ({
    'trial_begin{trial:w1}': { values: { min: 1000, max: 1000 } },
    'trial_drained{trial:w1}': { values: { max: drained } },
    'trial_latency{trial:w1,phase:warmup}': { values: { count: 100, avg: 20, max: 50 } },
    'trial_begin{trial:1}': { values: { min: 9000, max: 9000 } },
    'trial_latency{trial:1,phase:measure}': { values: { count: 400, avg: 3500, max: 5000 } },
  });
  const made = (drained) => makeDocument(asked, block, { metrics: values(drained) });
  const { warmup, trials } = made(1800);
  assert.deepEqual([warmup[0].start, warmup[0].end, warmup[0].throughput], [1000, 1800, 125]);
  assert.equal(made(99_000).warmup[0].end, 1000 + block.phases[0].end, 'those that were not done in time');
  const unknown = { p50: null, p90: null, p95: null, p99: null, p99_9: null };
  assert.deepEqual([trials[0].ok, trials[0].latency], [400, { count: 0, mean: null, ...unknown, max: null }]);
});

test('a trial in a separate call is paced and numbered as in its block, and may give up what is unanswered', () => {
  const load = { model: 'closed', users: 10, round: { platform: 2000 } };
  const phases = (env, windows) => plan(input({ load, windows }, { WARMUP_CYCLES: '1', SINGLE: '2s', ...env })).phases;
  const [alone] = phases({ ORDER: 'virtual', POSITION: '2' }).slice(-1);
  assert.deepEqual([alone.rampUp, alone.position, alone.trial], [2000, 2, '2']);
  assert.equal(alone.start, phases({ ORDER: 'platform,virtual' }).at(-1).start);
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
  assert.equal(waits({ WAIT_FOR_ANSWERS: 'false', LIGHT: '{"virtual":[1]}' }).at(-2), '2 true', 'light load follows');
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

test('open load: SETTLE opens the window of a trial later, and of nothing else', () => {
  const change = { load: { model: 'open', rate: 50, users: 20 }, windows: { ramp_up: 300 } };
  const starts = (env) =>
    plan(input(change, { OWN_CYCLES: '1', ...env })).phases.map(({ trial, start }) => [trial, start]);
  const warmup = [
    ['w1', 300],
    ['w2', 300],
    ['w3', 600],
    ['w4', 600],
  ];
  assert.deepEqual(starts({ ORDER: 'platform' }), [
    ...warmup.filter((_, i) => i % 2 === 0).map(([, start], i) => [`w${i + 1}`, start]),
    ['1', 300],
  ]);
  assert.deepEqual(starts({ ORDER: 'platform,virtual', SETTLE: '1500ms' }), [...warmup, ['1', 1800], ['2', 1800]]);
});

test('warm-up ends with the trials’ own load: its users and request, a window of a round at least', () => {
  const warmup = (change, env) => {
    const { phases } = plan(input(change, { WARMUP_CYCLES: '1', OWN_CYCLES: '2', ORDER: '', ...env }));
    return phases.map(({ users, thinkTime, rampUp, start, end, isCheap }) => [
      users,
      thinkTime,
      rampUp,
      start,
      end,
      isCheap ? 'cheap' : 'full',
    ]);
  };
  const load = { model: 'closed', users: 1000, think_time: 70, round: { platform: 15_000, virtual: 3000 } };
  const windows = { warmup_users: 5, warmup_load: 2000, ramp_up: 400 };
  const cheap = [5, 70, 400, 400, 2400, 'cheap'];
  const trials = [1000, 70, 1000, 4000, 7000, 'full'];
  assert.deepEqual(warmup({ load, windows }), [cheap, cheap, trials, trials, trials, trials]);
  // Longer windows than a round, and a shorter ramp-up where the trial's is.
  const short = { ...load, users: 20, round: { virtual: 100 } };
  assert.deepEqual(warmup({ load: short, windows }).slice(-2), [
    [20, 70, 400, 500, 2500, 'full'],
    [20, 70, 100, 200, 2200, 'full'],
  ]);
  assert.deepEqual(warmup({ load: { ...short, round: {} }, windows }).at(-1), [20, 70, 400, 800, 2800, 'full']);
  // Where users queue: as many as are served at a time.
  const queue = { ...load, service_time: { platform: 3000 } };
  assert.deepEqual(
    warmup({ load: queue, windows }).map(([users]) => users),
    [5, 5, 200, 1000, 200, 1000],
  );
  // A backlog that no trial waits for would have to be waited for here.
  const [, , few] = warmup({ load, windows: { ...windows, trials: 1, wait_for_answers: false } });
  assert.deepEqual(few, [5, 70, 1000, 4000, 7000, 'full']);
});

test('warm-up: three cycles with the trials’ own load, unless there is to be none', () => {
  const count = (env) => plan(input({}, { ORDER: 'platform', ...env })).phases.length - 1;
  assert.equal(count({ OWN_CYCLES: '' }), 4);
  assert.equal(count({ OWN_CYCLES: '', WARMUP_CYCLES: '0' }), 0);
  assert.equal(count({ OWN_CYCLES: '1', WARMUP_CYCLES: '0' }), 1);
});

test('light load: even gaps at each rate in turn, and all users connect before the window', () => {
  const env = {
    WARMUP_CYCLES: '0',
    ORDER: '',
    LIGHT: '{"virtual":[0,0.2,30.5,30.5]}',
    LIGHT_MEASURE: '3s',
    LIGHT_SETTLE: '1500ms',
  };
  const { phases, users } = plan(
    input({ load: { model: 'closed', users: 400, think_time: 9, is_think_time_exponential: true } }, env),
  );
  assert.deepEqual(
    phases.map(({ rate, users, gaps, thinkTime, start, end }) => [rate, users, gaps, thinkTime, start, end]),
    [
      [0, 1, 'even', 0, 300, 3300],
      [0.2, 1, 'even', 0, 1500, 4500],
      [30.5, 46, 'even', 0, 1500, 4500],
      [30.5, 46, 'even', 0, 1500, 4500],
    ],
  );
  assert.equal(users, 46);
  for (let user = 0; user < 46; user++) assert.ok(dealt(evenly(30.5), user, 46)() < 1500);
  const most = plan(input({}, { ...env, LIGHT: '{"virtual":[9999]}' })).users;
  assert.equal(most, 2000);
});

test('the length of a block is that of its phases, with a second between two and a round for the last answers', () => {
  const load = { model: 'closed', users: 10, round: { platform: 4000, virtual: 1000 } };
  const change = { load, windows: { ramp_up: 1000, warmup_load: 2000, measure: 5000 } };
  const { phases, seconds } = plan(input(change));
  // Warm-up 2 × (3 + 1), trials 2 × (8 + 5 + 4 + 1) and 2 × (2 + 5 + 1 + 1), and what was drawn before their windows.
  const drawn = phases.slice(-4).reduce((sum, { rampUp, start }) => sum + start - 2 * rampUp, 0);
  assert.equal(seconds, Math.round(62 + drawn / 1000));
  // 4 (3 + 1) more, and a round for the last answers of each variant.
  assert.equal(
    plan(input(change, { OWN_CYCLES: '1' })).seconds,
    Math.round(62 + 2 * (1 + 1 + 2 + 1) + 5 + drawn / 1000),
  );
});

test('users who are connected since the warm-up start a trial within a second for a thousand', () => {
  const load = {
    model: 'closed',
    users: 1000,
    round: { platform: 5000, virtual: 1000 },
    service_time: { platform: 1000 },
  };
  const ramps = (env, more = {}) =>
    plan(input({ load: { ...load, ...more }, windows: { measure: 5000 } }, { ORDER: 'platform,virtual', ...env }))
      .phases.filter(({ kind }) => kind === 'measure')
      .map(({ rampUp }) => rampUp);
  assert.deepEqual(ramps({}), [5000, 5000]);
  // Where they queue, the warm-up has fewer: most are new.
  assert.deepEqual(ramps({ OWN_CYCLES: '2' }), [5000, 1000]);
  assert.deepEqual(ramps({ OWN_CYCLES: '2' }, { service_time: { virtual: 500 } }), [5000, 5000]);
  // Whole rounds, however short these are.
  assert.deepEqual(
    ramps({ OWN_CYCLES: '2' }, { round: { platform: 300, virtual: 70 }, service_time: {} }),
    [1200, 1050],
  );
  // Where vtlab measures trials by a call of their own.
  assert.deepEqual(ramps({ OWN_CYCLES: '2' }, { round: { virtual: 1000 }, service_time: {} }), [5000, 5000]);
  // A server closes connections that are idle for long.
  assert.deepEqual(ramps({ OWN_CYCLES: '2', MEASURE: '30s' }), [5000, 5000]);
});

/** What a plan asks of every phase: a line each. */
function phaseLines({ phases }, { workload, windows }) {
  const [{ path, query }] = workload.requests;
  return phases.map((phase) => {
    const { trial, users, rate, gaps, thinkTime, rampUp, start, end, requests, waitForAnswers, base, isCheap } = phase;
    const url = base + target(path, (isCheap && windows.warmup_query) || query)(() => '');
    const load = rate === undefined ? `think ${thinkTime}` : `rate ${rate} (${gaps})`;
    const most = requests === undefined ? '' : `, ${requests} requests each`;
    const early = phase.isLatencySteady === false ? ', without latency' : '';
    const wait = waitForAnswers ? '' : ', gives up';
    return `  ${trial} ${url}: ${users} users, ${load}, ramp-up ${rampUp}, window ${start} to ${end}${most}${early}${wait}`;
  });
}

test('the plans of the shipped experiments are those that were measured: changed pacing is another measurement', () => {
  const folder = new URL('../plans/', import.meta.url);
  const measured = readFileSync(GOLDEN, 'utf8').trimEnd().split('\n');
  const lines = [];
  // A new experiment has not been measured: it needs no line.
  for (const [, name] of measured.map((line) => /^(\S+): timeout/.exec(line)).filter(Boolean)) {
    const text = readFileSync(new URL(name, folder), 'utf8');
    const experiment = JSON.parse(text);
    const { variants } = experiment;
    const TARGETS = JSON.stringify(Object.fromEntries(variants.map((variant) => [variant, `http://${variant}`])));
    const planned = (env) => plan(parseInput({ EXPERIMENT: 'x', TARGETS, ...env }, () => text));
    const whole = planned({});
    lines.push(`${name}: timeout ${whole.timeout}, grid ${whole.grid}`, ...phaseLines(whole, experiment));
    for (const [key, value] of Object.entries({ USERS: '7', MEASURE: '3s' })) {
      lines.push(
        `${name}, ${key}=${value}`,
        ...phaseLines(planned({ [key]: value, WARMUP_CYCLES: '0', SINGLE: '0s' }), experiment),
      );
    }
  }
  if (process.env.VTLAB_GOLDEN === 'write') writeFileSync(GOLDEN, `${lines.join('\n')}\n`);
  else assert.deepEqual(lines, measured);
});

/** Whether these values have that distribution: Kolmogorov's statistic within its 99 % bound (values are seeded). */
function kolmogorov(values, distribution) {
  const sorted = values.toSorted((a, b) => a - b);
  const n = sorted.length;
  const off = sorted.map((value, i) => Math.max((i + 1) / n - distribution(value), distribution(value) - i / n));
  assert.ok(Math.max(...off) < 1.63 / Math.sqrt(n), `${Math.max(...off)} off, of ${n}`);
}

const gapsOf = (times) => times.map((time, i) => time - (times[i - 1] ?? 0));
const exponentially = (gap) => 1 - Math.exp(-gap);

test('numbers are uniform, each seed, purpose and user has its own, and none depends on when it is drawn', () => {
  const draw = random('20261122/1', 'arrivals');
  const numbers = Array.from({ length: 10_000 }, draw);
  kolmogorov(numbers, (number) => number);
  const again = random('20261122/1', 'arrivals');
  assert.deepEqual(numbers.slice(0, 100), Array.from({ length: 100 }, again));
  const first = [
    ['20261122/1', 'arrivals'],
    ['20261122/2', 'arrivals'],
    ['20261123/1', 'arrivals'],
    ['20261122/1', 'think'],
    ['20261122/1', 'think', 1],
    ['20261122/1', 'think', 2],
  ].map((what) => random(...what)());
  assert.equal(new Set(first).size, first.length);
  // Of neighbours, too.
  kolmogorov(
    Array.from({ length: 2000 }, (_, user) => random('1', 'think', user)()),
    (number) => number,
  );
});

test('arrivals: exponential gaps of mean 1, independent of the one before, for as long as asked', () => {
  const times = arrivals(random('1/1', 'arrivals'), 20_000);
  for (let until = 100; until <= 20_000; until += 100) {
    const some = times.slice(0, times.findIndex((time) => time >= until) + 1);
    assert.deepEqual(arrivals(random('1/1', 'arrivals'), until).length, some.length, `until ${until}`);
  }
  // Counts of a Poisson process: within four standard deviations.
  assert.ok(Math.abs(times.length - 20_000) < 4 * Math.sqrt(20_000), `${times.length} arrivals`);
  const gaps = gapsOf(times);
  kolmogorov(gaps, exponentially);
  const pairs = gaps.slice(1).map((gap, i) => (gap - 1) * (gaps[i] - 1));
  const correlation = pairs.reduce((sum, product) => sum + product, 0) / pairs.length;
  assert.ok(Math.abs(correlation) < 4 / Math.sqrt(pairs.length), `correlation of neighbours ${correlation}`);
  assert.deepEqual(arrivals(random('1/1', 'arrivals'), 0), []);
});

test('think times drawn per user are exponential, and another sequence for each', () => {
  const of = (user) => {
    const draw = random('1/1', 'think', user);
    return Array.from({ length: 5000 }, () => exponential(draw));
  };
  kolmogorov(of(0), exponentially);
  kolmogorov(of(1), exponentially);
  assert.equal(of(0).filter((time) => of(1).includes(time)).length, 0);
});

test('arrivals are dealt to the users without loss or double, at the rate asked for', () => {
  const sequence = arrivals(random('1/1', 'arrivals'), 300);
  for (const due of [inSequence(sequence, 50), evenly(50)]) {
    const end = 5000;
    const all = [];
    for (let i = 0; due(i) < end; i++) all.push(due(i));
    assert.ok(all.length > 180 && all.length < 320, `${all.length} arrivals in 5 s`);
    for (const users of [1, 7, 400]) {
      const everybody = Array.from({ length: users }, (_, user) => {
        const next = dealt(due, user, users);
        const own = [];
        for (let time = next(); time < end; time = next()) own.push(time);
        return own;
      });
      assert.deepEqual(
        everybody.flat().toSorted((a, b) => a - b),
        all,
      );
      // In turn: nobody has two more than another.
      const counts = everybody.map((own) => own.length);
      assert.ok(Math.max(...counts) - Math.min(...counts) <= 1);
    }
  }
  assert.deepEqual([0, 1, 2].map(evenly(50)), [0, 20, 40]);
  assert.ok(Number.isNaN(inSequence(sequence, 50)(sequence.length)), 'beyond the last');
});

test('a service that answers within max_response loses next to no arrival with as many users as vtlab demands', () => {
  const [rate, maxResponse] = [150, 5000];
  const inFlight = (rate * maxResponse) / 1000;
  const users = Math.ceil(inFlight + 4 * Math.sqrt(inFlight));
  const sequence = arrivals(random('1/1', 'arrivals'), 50_000);
  const due = inSequence(sequence, rate);
  let dropped = 0;
  for (let user = 0; user < users; user++) {
    const next = dealt(due, user, users);
    let free = 0;
    for (let time = next(); !Number.isNaN(time); time = next()) {
      if (free > time) dropped++;
      else free = time + maxResponse;
    }
  }
  // With a sequence of its own each user would lose 1 - exp(-750 / 860), more than half.
  assert.ok(dropped < 0.001 * sequence.length, `${dropped} of ${sequence.length} dropped`);
});

test('arrivals with exponential gaps queue below a utilisation of 100 %, even ones do not', () => {
  // 200 threads of 1 s, 190 arrivals a second: the one that comes takes the thread of the 200th before it.
  const p99 = (due, count) => {
    const ends = [];
    const responses = [];
    for (let i = 0; i < count; i++) {
      ends.push(Math.max(due(i), ends[i - 200] ?? 0) + 1000);
      responses.push(ends[i] - due(i));
    }
    return responses.toSorted((a, b) => a - b)[Math.floor(0.99 * count)];
  };
  const sequence = arrivals(random('1/1', 'arrivals'), 100_000);
  const drawn = p99(inSequence(sequence, 190), sequence.length);
  assert.equal(Math.round(p99(evenly(190), 100_000)), 1000);
  assert.ok(drawn > 1050, `${drawn} ms`);
});

test('one sequence is long enough for every phase, and the same for every variant and trial of a block', () => {
  const load = { model: 'open', rate: 40, users: 90, gaps: 'exponential' };
  const needed = (env) => arrivalsIn(plan(input({ load }, { WARMUP_CYCLES: '0', ...env })).phases);
  // Of the ramp-up of 200 ms and the window of 1 s.
  assert.deepEqual([needed({}), needed({ RATE: '100' }), needed({ SETTLE: '2s' })], [48, 120, 128]);
  assert.equal(arrivalsIn(plan(input({ load: { ...load, gaps: 'even' } })).phases), 0);
  const seeds = ['1', '2'].map((BLOCK) => input({ load }, { SEED: '5', BLOCK, ORDER: 'virtual', POSITION: '3' }).seed);
  assert.deepEqual(seeds, ['5/1', '5/2']);
});

test('a request is in flight from when it was due or sent until its answer, at both edges of a window', () => {
  const at = (from, to) => inFlightAt(100, from, to);
  assert.deepEqual(
    [at(50, 99), at(50, 100), at(99, 150), at(100, 150), at(150, 200)],
    [false, true, true, false, false],
  );
});

test('a request counts by the part of its time within the window', () => {
  const part = (from, to) => partIn(100, 200, from, to);
  assert.deepEqual(
    [part(100, 200), part(120, 140), part(90, 130), part(170, 210), part(0, 400), part(50, 100), part(200, 250)],
    [1, 1, 0.75, 0.75, 0.25, 0, 0],
  );
  // Answered within the clock's resolution.
  assert.deepEqual([part(99, 99), part(100, 100), part(200, 200)], [0, 1, 0]);
});

test('parts of users who wait for their answers add up to the throughput, wherever the window begins', () => {
  // 70 users whose answers take 1 s, but for a pause of 200 ms that delays all who would be answered in it.
  const pause = { from: 4900, to: 5100 };
  const answers = [];
  for (let user = 0; user < 70; user++) {
    for (let from = (1000 / 70) * user; from < 9000; ) {
      const due = from + 1000;
      const to = due >= pause.from && due < pause.to ? pause.to : due;
      answers.push([from, to]);
      from = to;
    }
  }
  const counts = [];
  for (let start = 2000; start < 3000; start += 50) {
    const end = start + 3000;
    const sum = answers.reduce((total, [from, to]) => total + partIn(start, end, from, to), 0);
    counts.push(answers.filter(([, to]) => to >= start && to < end).length);
    assert.ok(Math.abs(sum - 210) < 2, `${sum} from ${start}`);
  }
  assert.ok(Math.max(...counts) - Math.min(...counts) >= 12, `${counts}: the window's edges cut whole answers`);
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
    windowPercentiles(0, () => 1),
    { p50: null, p90: null, p95: null, p99: null, p99_9: null },
  );
  assert.deepEqual(
    windowPercentiles(1000, () => 1),
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
    'trial_answered{trial:1}': { count: 1990 },
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
  const { start, end } = plan(given).phases[0];
  assert.deepEqual([trial.start, trial.end, trial.drained], [1_000_000 + start, 1_000_000 + end, 1_001_500]);
  assert.deepEqual([trial.ok, trial.throughput, trial.failed], [2000, 2000, { 'status-503': 3 }]);
  assert.deepEqual([trial.latency.mean, trial.latency.p99, trial.latency.p99_9], [0.02, 0.05, null]);
  assert.equal(trial.rate, null);
  assert.equal(make(1_000_000, 1_000_500).agreed, false);
  assert.match(table(make(1_000_000, 1_000_500)), /users disagreed/);
});

test('users who wait for no answer are counted, where a closed window has its planned length', () => {
  const between = (load, env = {}) => {
    const given = input({ load }, { ORDER: 'platform', WARMUP_CYCLES: '0', MEASURE: '2s', ...env });
    const counted = summary(1_000_000, 1_000_000);
    counted.metrics['trial_between{trial:1}'] = { values: { count: 5000 } };
    return makeDocument(given, plan(given), counted).trials[0].between;
  };
  assert.equal(between({ model: 'closed', users: 1000 }), 2.5);
  assert.equal(between({ model: 'open', users: 1000, rate: 100 }), null);
});

test('requests count by their parts where rounds are as the experiment says, latencies alike, and the last waited for', () => {
  const throughput = (load, env = {}, latency = {}, parts = 1990) => {
    const given = input({ load }, { ORDER: 'platform', WARMUP_CYCLES: '0', MEASURE: '1s', ...env });
    const counted = summary(1_000_000, 1_000_000);
    counted.metrics['trial_answered{trial:1}'] = { values: { count: parts } };
    const values = { avg: 510, med: 500, 'p(90)': 600, ...latency };
    Object.assign(counted.metrics['trial_latency{trial:1,phase:measure}'].values, values);
    const [{ throughput, by_parts }] = makeDocument(given, plan(given), counted).trials;
    assert.equal(by_parts, throughput !== 2000 && throughput > 0);
    return throughput;
  };
  const known = { model: 'closed', users: 1000, round: { platform: 500, virtual: 500 } };
  assert.equal(throughput(known), 1990);
  assert.equal(throughput(known, {}, { avg: 550 }), 1990);
  assert.equal(throughput({ ...known, think_time: 100 }, {}, { avg: 400, med: 400, 'p(90)': 400 }), 1990);
  assert.equal(throughput({ ...known, round: {} }), 2000);
  assert.equal(throughput({ ...known, round: {} }, { ROUNDS: '{"platform":"500ms"}' }), 2000, 'measured');
  assert.equal(throughput({ ...known, service_time: { platform: 100 } }), 2000, 'users still queue up');
  assert.equal(throughput(known, { WAIT_FOR_ANSWERS: 'false' }), 2000);
  assert.equal(throughput(known, {}, { 'p(90)': 601 }), 2000, 'answers differ');
  for (const avg of [440, 560]) assert.equal(throughput(known, {}, { avg }), 2000, 'the round is another');
  assert.equal(throughput(known, {}, { count: 0, avg: 0, med: 0, 'p(90)': 0 }, 5), 0, 'all came later');
});

test('an idle phase ends with its window, and an open load has a rate', () => {
  const light = { LIGHT: '{"virtual":[0,20]}', LIGHT_SETTLE: '1s', LIGHT_MEASURE: '2s' };
  const given = input(
    { load: { model: 'open', rate: 50, users: 20 } },
    { ORDER: 'platform', WARMUP_CYCLES: '0', ...light },
  );
  const began = ['1', 'l1', 'l2'].map((trial, i) => [
    `trial_begin{trial:${trial}}`,
    { values: { min: i + 1, max: i + 1 } },
  ]);
  const document = makeDocument(given, plan(given), { metrics: Object.fromEntries(began) });
  assert.deepEqual(
    [...document.trials, ...document.light].map(({ phase, position, rate, users }) => [phase, position, rate, users]),
    [
      ['measure', 1, 50, 20],
      ['light', 1, 0, 1],
      ['light', 2, 20, 20],
    ],
  );
  const [idle] = document.light;
  assert.deepEqual([idle.start, idle.end, idle.drained, idle.started, idle.throughput], [302, 2302, 2302, 0, 0]);
  assert.match(table(document), /^ {2}l1 +virtual +1 +0\.00/m);
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

test('names in braces are filled in, escaped as the place asks', () => {
  const values = { id: '7', name: 'a "b"/c&d', 'env.KEY': 'k' };
  const fill = (filled) => filled((name) => values[name] ?? '');
  assert.equal(fill(template('Bearer {env.KEY}')), 'Bearer k');
  assert.equal(fill(target('/owners/{id}/{name}', {})), '/owners/7/a%20%22b%22%2Fc%26d');
  assert.equal(fill(target('/owners', { q: 'x {name}', 'a b': '1' })), '/owners?q=x%20a%20%22b%22%2Fc%26d&a%20b=1');
  assert.equal(fill(target('/owners?q={id}', { p: '2' })), '/owners?q=7&p=2');
  assert.deepEqual(JSON.parse(fill(body('{"pet": "{id}", "name": "{name}"}', true))), { pet: '7', name: values.name });
  assert.equal(fill(body('id={id}&{name}', false)), `id=7&${values.name}`);
  // Not a name: JSON's own braces.
  assert.equal(fill(body('{"a": {}}', true)), '{"a": {}}');
});

test('requests are drawn by their weights, the same for every variant; one alone is not drawn', () => {
  const chosen = (seed, weights) => {
    const next = drawn(weights, random(seed, 'requests', 3));
    return Array.from({ length: 5000 }, next);
  };
  const [a, b] = [chosen('r/1', [1, 0.2, 3]), chosen('r/1', [1, 0.2, 3])];
  assert.deepEqual(a, b);
  assert.notDeepEqual(a, chosen('r/2', [1, 0.2, 3]));
  for (const [i, weight] of [1, 0.2, 3].entries()) {
    const share = weight / 4.2;
    const n = a.filter((index) => index === i).length;
    // Four standard deviations of a binomial count.
    assert.ok(Math.abs(n - 5000 * share) < 4 * Math.sqrt(5000 * share * (1 - share)), `${i}: ${n}`);
  }
  let draws = 0;
  drawn([0.3], () => {
    draws++;
    return 0.5;
  })();
  assert.equal(draws, 0);
});

test('users go through the rows in turn, all of them together, from one phase to the next', () => {
  // A user is an instance of its own.
  const users = [0, 1, 2].map(() => new Rows(20, { virtual: 4 }));
  const taken = (variant) => users.map((rows, user) => rows.next(variant, user, users.length));
  assert.deepEqual([...taken('platform'), ...taken('platform')], [0, 1, 2, 3, 4, 5]);
  // Another phase, and another variant, after a call of k6 in which it took four.
  assert.deepEqual([...taken('platform'), ...taken('virtual')], [6, 7, 8, 4, 5, 6]);
});

test('no phase asks for the rows of the phase before: a cache of a quarter of them never has one', () => {
  const [count, phases, perPhase, users] = [20_000, 12, 4000, 25];
  const all = Array.from({ length: users }, () => new Rows(count, {}));
  const last = new Map();
  let asked = 0;
  for (let phase = 0; phase < phases; phase++) {
    for (let i = 0; i < perPhase; i++) {
      const row = all[i % users].next('platform', i % users, users);
      assert.ok(!(asked - last.get(row) <= count / 4), `row ${row} again after ${asked - last.get(row)}`);
      last.set(row, asked++);
    }
  }
});

test('a row is read once by 2, 4 and 8 users, each in a call of its own', () => {
  const taken = [];
  for (const users of [2, 4, 8]) {
    const call = Array.from({ length: users }, () => new Rows(1000, { platform: taken.length }));
    for (let i = 0; i < 20 * users; i++) taken.push(call[i % users].next('platform', i % users, users));
  }
  assert.deepEqual(taken, [...taken.keys()]);
});

test('a row is read once by light load, whose users change from rate to rate', () => {
  const LIGHT = '{"virtual":[2,0,8,3],"platform":[5]}';
  const { phases } = plan(input({}, { LIGHT, LIGHT_SETTLE: '1s', LIGHT_MEASURE: '2s', ORDER: '', WARMUP_CYCLES: '0' }));
  const of = phases.filter(({ variant }) => variant === 'virtual');
  assert.equal(new Set(of.map(({ users }) => users)).size, 4);
  const all = Array.from({ length: Math.max(...of.map(({ users }) => users)) }, () => new Rows(1000, { virtual: 7 }));
  const taken = of.flatMap(({ rowsBefore, users, rate, end }) =>
    all.slice(0, users).flatMap((rows, user) => {
      rows.begin('virtual', rowsBefore, user);
      const next = dealt(evenly(rate), user, users);
      const read = [];
      while (rate > 0 && next() < end) read.push(rows.next('virtual', user, users));
      return read;
    }),
  );
  assert.deepEqual(
    taken.toSorted((a, b) => a - b),
    Array.from({ length: 3 * (2 + 8 + 3) }, (_, i) => 7 + i),
  );
  // After trials nobody knows how many rows were taken.
  assert.equal(plan(input({}, { LIGHT })).phases.at(-1).rowsBefore, undefined);
});

test('phases of a variant differ in what they draw, and those of the variants are alike', () => {
  const weights = [0.9, 0.1];
  const sequence = (variant, kind, turn, user = 0) => {
    const next = new Choices(weights, '7/1', 'requests').of({ variant, kind, turn }, user);
    return Array.from({ length: 200 }, next).join('');
  };
  const all = ['warmup', 'measure', 'typical', 'light'].flatMap((kind) =>
    [0, 1].flatMap((turn) => [0, 1].map((user) => sequence('platform', kind, turn, user))),
  );
  assert.equal(new Set(all).size, all.length);
  assert.equal(sequence('platform', 'measure', 1), sequence('virtual', 'measure', 1));
});

test('a single user sends each kind by its share, in all phases together', () => {
  for (const weights of [
    [0.98, 0.02],
    [1, 1, 1],
    [5, 3, 2],
    [0.7, 0.2, 0.06, 0.04],
  ]) {
    const choices = new Choices(weights, '7/1', 'requests');
    const counts = weights.map(() => 0);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (let n = 1; n <= 300; n++) {
      counts[choices.of({ kind: 'single', variant: 'platform', turn: Math.floor(n / 100) }, 0)()]++;
      for (const [i, weight] of weights.entries()) {
        assert.ok(Math.abs(counts[i] - (n * weight) / total) < weights.length - 0.5, `${counts} of ${n}`);
      }
    }
    assert.deepEqual(
      counts,
      weights.map((weight) => Math.round((300 * weight) / total)),
    );
  }
  assert.equal(stratified([1])(), 0);
});

test('trials in one call, or each in a call of its own, have the same turns', () => {
  const trials = (env) => plan(input({}, { WARMUP_CYCLES: '0', ...env })).phases;
  const together = trials({ ORDER: 'platform,virtual,virtual,platform' });
  assert.deepEqual(
    together.map(({ turn }) => turn),
    [0, 0, 1, 1],
  );
  for (const [i, { variant, turn }] of together.entries()) {
    assert.equal(trials({ ORDER: variant, POSITION: String(i + 1) })[0].turn, turn);
  }
});

test('an answer is as expected where each value is there, in whatever order its keys are', () => {
  const answer = JSON.stringify({ id: 7, pets: [{ name: 'Leo', tags: { a: 1, b: null } }] });
  const first = (steps, value) => unmet(answer, [{ steps, value }]);
  for (const [steps, value] of [
    [['id'], '7'],
    [['id'], null],
    [['pets', '0', 'name'], '"Leo"'],
    [['pets', '0', 'tags'], '{"b": null, "a": 1}'],
    [['pets', '0', 'tags', 'b'], null],
    [[], null],
  ]) {
    assert.equal(first(steps, value), undefined, steps.join());
  }
  for (const [steps, value] of [
    [['id'], '"7"'],
    [['pets', '1'], null],
    [['constructor'], null],
    [['pets', '0', 'name', 'x'], null],
  ]) {
    assert.deepEqual(first(steps, value), { steps, value });
  }
  assert.deepEqual(unmet('<html>', [{ steps: [], value: null }]), { steps: [], value: null });
  assert.equal(unmet('<html>', []), undefined);
});

test('the shape of an answer has types in place of values, keys in order, the first of a list', () => {
  const shaped = shape({ b: [{ x: 1 }, { y: 2 }], a: null, c: 'text', d: true, e: [] });
  assert.equal(JSON.stringify(shaped), '{"a":"null","b":[{"x":"number"}],"c":"string","d":"boolean","e":[]}');
});

test('whoever logs in does so before everything else, outside of every window', () => {
  const env = { SINGLE: '2s', ORDER: 'platform,virtual,virtual,platform' };
  const { phases, users } = plan(input({ workload: { has_login: true }, load: { model: 'closed', users: 30 } }, env));
  const [first, second, ...others] = phases;
  assert.deepEqual(
    [first, second].map(({ kind, trial, variant, users: all, rampUp, start, end }) => {
      return [kind, trial, variant, all, rampUp, end - start];
    }),
    [
      ['login', 'a1', 'platform', 30, 150, 0],
      ['login', 'a2', 'virtual', 30, 150, 0],
    ],
  );
  assert.ok(others.every(({ kind }) => kind !== 'login'));
  assert.deepEqual(
    phases.map(({ index }) => index),
    phases.map((_, i) => i),
  );
  assert.equal(users, 30);
});

test('the functions of a script keep their weights: VUs divide the users, rates are drawn for each iteration', () => {
  const scenarios = (all) => tasksOf({ options: { scenarios: all } });
  const weights = ({ list }) => list.map(({ exec, weight }) => [exec, weight]);
  assert.deepEqual(weights(tasksOf({})), [['default', 1]]);
  const vus = scenarios({
    a: { executor: 'constant-vus', exec: 'browse', vus: 6 },
    b: { executor: 'ramping-vus', exec: 'buy', startVUs: 1, stages: [{ target: 3 }, { target: 0 }] },
    c: { executor: 'shared-iterations' },
  });
  assert.deepEqual(
    [vus.areDrawn, weights(vus)],
    [
      false,
      [
        ['browse', 6],
        ['buy', 3],
        ['default', 1],
      ],
    ],
  );
  for (const users of [10, 100, 1000]) {
    const count = {};
    for (let user = 0; user < users; user++) {
      const { exec } = taskOf(user, vus);
      count[exec] = (count[exec] ?? 0) + 1;
    }
    for (const [exec, weight] of weights(vus)) {
      assert.ok(Math.abs(count[exec] - (weight / 10) * users) <= 2, `${exec}: ${count[exec]} of ${users}`);
    }
  }
  const rates = scenarios({
    a: { executor: 'constant-arrival-rate', rate: 90, timeUnit: '1m30s' },
    b: { executor: 'ramping-arrival-rate', startRate: 1, stages: [{ target: 4 }], exec: 'buy' },
  });
  assert.deepEqual(
    [rates.areDrawn, weights(rates)],
    [
      true,
      [
        ['default', 1],
        ['buy', 4],
      ],
    ],
  );
  assert.throws(
    () => scenarios({ a: { executor: 'constant-vus' }, b: { executor: 'constant-arrival-rate', rate: 1 } }),
    (error) => error.startsWith('options.scenarios: b has a rate and others have VUs'),
  );
});

test('the HTTP options of a script hold, not those that say how much load there is', () => {
  const options = {
    vus: 3,
    stages: [],
    throw: true,
    maxRedirects: 2,
    tlsAuth: [{}],
    rps: 5,
    discardResponseBodies: false,
    noSetup: true,
    noTeardown: true,
  };
  assert.deepEqual(keptOptions({ options }), {
    throw: true,
    maxRedirects: 2,
    tlsAuth: [{}],
    discardResponseBodies: false,
  });
  assert.deepEqual(keptOptions({}), {});
});

test('the thresholds of a script are for each variant, over the windows of the trials, and abort nothing', () => {
  const thresholds = {
    http_req_duration: ['p(95)<500', { threshold: 'max<9', abortOnFail: true }],
    'checks{scenario:a,b:c}': 'rate==1',
  };
  const script = { options: { thresholds } };
  assert.deepEqual(thresholdsOf(script, ['p', 'v']), {
    'http_req_duration{variant:p,phase:measure}': ['p(95)<500', 'max<9'],
    'http_req_duration{variant:v,phase:measure}': ['p(95)<500', 'max<9'],
    'checks{scenario:a,b:c,variant:p,phase:measure}': ['rate==1'],
    'checks{scenario:a,b:c,variant:v,phase:measure}': ['rate==1'],
  });
  const results = thresholdResults(script, ['v'], (name, condition) => name.includes('v') && condition !== 'max<9');
  assert.deepEqual(results, {
    v: { http_req_duration: { 'p(95)<500': true, 'max<9': false }, 'checks{scenario:a,b:c}': { 'rate==1': true } },
  });
});

test('a fixed origin gives way to the variant’s, in addresses and cookies, and no other does', () => {
  const [from, to] = ['https://shop.example', 'http://127.0.0.1:81'];
  assert.equal(moved('https://shop.example/a?b=https://shop.example', from, to), `${to}/a?b=https://shop.example`);
  assert.equal(moved('https://shop.example', from, to), to);
  for (const other of ['https://shop.example.org/a', 'https://shop.example:444/', 'http://shop.example/', '/a']) {
    assert.equal(moved(other, from, to), other);
  }
  assert.equal(originOf('https://shop.example:444?x'), 'https://shop.example:444');
  assert.equal(originOf('/a'), undefined);
  const cookie = { domain: '.shop.example', path: '/', secure: true };
  assert.deepEqual(movedCookie(cookie, from, to), { domain: '127.0.0.1', path: '/', secure: false });
  assert.deepEqual(movedCookie({ domain: 'other.example' }, to, from), { domain: 'other.example' });
});
