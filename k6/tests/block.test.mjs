// Whole blocks against stub servers. Tolerances are ratios: the machine may be busy with other things.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { block, experiment, folder } from './k6.mjs';
import { bimodal, constant, cut, hang, queue, statuses, stub } from './stub.mjs';

function near(actual, expected, tolerance, what) {
  assert.ok(Math.abs(actual - expected) <= tolerance * expected, `${what}: ${actual} instead of ${expected}`);
}

function sum(records, pick) {
  return records.reduce((total, record) => total + pick(record), 0);
}

/** Linear interpolation at rank p (n - 1), as k6 does it. */
function percentile(values, p) {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = p * (sorted.length - 1);
  const below = sorted[Math.floor(rank)];
  return below + (sorted[Math.ceil(rank)] - below) * (rank % 1);
}

/** What must hold of every block: nothing lost, nothing counted twice, every phase begins with an idle server. */
function sound({ code, document, records }, servers) {
  assert.equal(code, 0);
  assert.equal(document.version, 1);
  assert.equal(document.agreed, true, 'users disagreed');
  for (const [variant, server] of Object.entries(servers)) {
    const own = records.filter((record) => record.variant === variant);
    assert.equal(
      sum(own, (record) => record.started),
      server.log.length,
      `${variant}: started, and seen by the server`,
    );
    for (const record of own) {
      const seen = server.log.filter(({ arrived }) => arrived >= record.begin && arrived < record.drained + 400);
      assert.equal(record.started, record.completed);
      assert.equal(record.completed, seen.length, `${variant} ${record.phase} ${record.position}`);
    }
    for (const { begin } of records) assert.equal(server.inFlightAt(begin), 0, `${variant} is not idle at ${begin}`);
  }
  for (const record of records) {
    assert.equal(record.latency.count, record.ok);
    assert.ok(record.begin <= record.start && record.start < record.end);
    near(record.throughput, (1000 * record.ok) / (record.end - record.start), 1e-6, 'throughput');
  }
}

/** N = X (R + Z) */
function littlesLaw(record, thinkTime, tolerance = 0.02) {
  near(
    record.throughput * (record.latency.mean + thinkTime),
    record.users,
    tolerance,
    `Little's law, ${record.variant}`,
  );
}

/**
 * Measures, and checks what laws say of windows. As in a run, what was measured while the machine stalled does not count
 * and is measured again: a stall moves that share of a window's answers to the other side of its edge.
 */
async function undisturbed(measure, check) {
  for (let attempt = 1; ; attempt++) {
    const result = await measure();
    const [{ start, end }] = result.document.trials;
    try {
      await check(result);
      return result;
    } catch (error) {
      if (attempt === 3 || result.stall < 0.01 * ((end - start) / 1000)) throw error;
    }
  }
}

test('a closed block: counts, percentiles, tags and the document on stdout', async (t) => {
  const samples = join(folder, 'samples.json');
  let servers = {};
  const result = await undisturbed(
    async () => {
      servers = { constant: await stub(constant(200)), bimodal: await stub(bimodal(100, 500, 20)) };
      const measured = await block(
        experiment({ load: { model: 'closed', users: 45, think_time: '0s' }, windows: { measure: '3s' } }),
        servers,
        { DOCUMENT: 'stdout', SINGLE: '500ms', RUN_ID: 'r1', BLOCK: '7', NAMESPACE: 'n1' },
        { args: ['-o', `json=${samples}`] },
      );
      for (const server of Object.values(servers)) server.close();
      return measured;
    },
    ({ document }) => {
      for (const record of document.trials) littlesLaw(record, 0);
    },
  );
  const { document, stdout } = result;

  await t.test('order and table', () => {
    assert.deepEqual([document.experiment, document.run_id, document.block], ['stub', 'r1', 7]);
    assert.deepEqual(document.order, ['constant', 'bimodal', 'bimodal', 'constant']);
    const of = (records) => records.map(({ variant, phase, position }) => `${variant} ${phase} ${position}`);
    assert.deepEqual(of(document.warmup), ['constant warmup 1', 'bimodal warmup 2']);
    assert.deepEqual(of(document.single), ['constant single 1', 'bimodal single 2']);
    assert.deepEqual(of(document.trials), [
      ...['constant measure 1', 'bimodal measure 2', 'bimodal measure 3', 'constant measure 4'],
    ]);
    assert.match(stdout, /one block, warm JVMs, no verdict/);
    assert.equal(stdout.match(/^ {2}mean /gm).length, 2);
  });

  await t.test('counts are the server’s own', () => {
    sound(result, servers);
    for (const record of document.trials) {
      const seen = servers[record.variant].endedIn(record.start, record.end).length;
      near(record.ok, seen, 0.02, 'completed in the window');
      assert.deepEqual([record.failed, record.failed_outside, record.dropped], [{}, 0, 0]);
      // All but those that stand between an answer and their next request.
      near(record.in_flight.start, 45, 0.1, 'in flight at the start');
      near(record.in_flight.end, 45, 0.1, 'in flight at the end');
    }
  });

  await t.test('phases follow one another, each after the drain of the one before', () => {
    for (const [i, record] of result.records.entries()) {
      assert.equal(record.begin % 500, 0);
      const before = result.records[i - 1];
      if (before) assert.ok(record.begin > before.drained && record.begin - before.drained <= 2000);
    }
  });

  await t.test('percentiles are the server’s latencies', () => {
    for (const { variant, start, end, latency } of document.trials) {
      const own = servers[variant].endedIn(start, end).map(({ arrived, ended }) => (ended - arrived) / 1000);
      // A busy machine delays what the client sees, most in the tail; it never shortens it.
      for (const [key, p, slack] of [
        ['p50', 0.5, 0.15],
        ['p90', 0.9, 0.5],
        ['p99', 0.99, 0.5],
      ]) {
        if (key === 'p99' && variant === 'constant') {
          // Some 675 samples: fewer than ten lie beyond it.
          assert.equal(latency.p99, null);
          continue;
        }
        const least = percentile(own, p);
        assert.ok(latency[key] > 0.98 * least, `${variant} ${key}: ${latency[key]}, the server's ${least}`);
        assert.ok(latency[key] < (1 + slack) * least, `${variant} ${key}: ${latency[key]}, the server's ${least}`);
      }
      assert.equal(latency.p99_9, null);
      if (variant === 'bimodal') {
        assert.ok(latency.p90 < 0.25, 'nine of ten are fast');
        assert.ok(latency.p99 > 0.49, 'one of twenty is slow');
      }
    }
  });

  await t.test('a single user’s window ends with its last answer', () => {
    for (const record of document.single) {
      assert.deepEqual([record.users, record.end], [1, record.drained]);
      assert.equal(record.ok, record.completed);
      littlesLaw(record, 0, 0.1);
    }
  });

  await t.test('every sample of a phase carries the tags, and the percentiles are exact', () => {
    const points = readFileSync(samples, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === 'Point');
    const trials = ['1', '2', '3', '4', 's1', 's2', 'w1', 'w2'];
    // How many users there are belongs to the run; what setup() leaves was there before the first phase.
    const before = Math.min(...result.records.map(({ begin }) => begin));
    const ofNoPhase = (metric, { time }) => /^vus(_max)?$/.test(metric) || Date.parse(time) < before;
    for (const { metric, data } of points) {
      const { tags } = data;
      assert.deepEqual([tags.testid, tags.experiment, tags.block, tags.namespace], ['r1', 'stub', '7', 'n1'], metric);
      if (ofNoPhase(metric, data)) continue;
      assert.ok(tags.variant in servers, metric);
      assert.ok(trials.includes(tags.trial), metric);
      assert.match(tags.phase, /^(warmup|single|ramp|measure|drain)$/, metric);
      if (metric.startsWith('http_')) assert.equal(tags.name, '/work');
      assert.equal(tags.url, undefined);
    }
    assert.equal(
      points.filter(({ metric }) => metric === 'http_reqs').length,
      sum(result.records, (r) => r.completed),
    );
    // What a phase is to be, once and under its kind: dashboards and rules find its window by it.
    for (const [i, record] of result.records.entries()) {
      const trial = { warmup: 'w', single: 's', measure: '' }[record.phase] + record.position;
      const told = points.filter(({ metric, data }) => metric.startsWith('trial_') && data.tags.trial === trial);
      const value = (name) => {
        const [point, ...more] = told.filter(({ metric }) => metric === name);
        assert.deepEqual(
          [point.data.tags.phase, point.data.tags.variant, more],
          [record.phase, record.variant, []],
          name,
        );
        return point.data.value;
      };
      assert.equal(value('trial_window_start'), record.start, String(i));
      // A single user's window ends with its last answer, which nobody knows before.
      if (record.phase !== 'single') assert.equal(value('trial_window_end'), record.end);
      assert.equal(value('trial_users'), record.users);
      assert.equal(value('trial_think_time'), 0);
      assert.equal(told.filter(({ metric }) => metric === 'trial_rate').length, 0, 'closed load has no rate');
    }
    // Also of the users that take no part in a phase: all 45 have one iteration in each of the eight.
    for (const trial of trials) {
      assert.equal(
        points.filter(({ metric, data }) => metric === 'iterations' && data.tags.trial === trial).length,
        45,
        `iterations in ${trial}`,
      );
    }
    for (const { position, latency } of document.trials) {
      const own = points
        .filter(({ metric, data }) => metric === 'trial_latency' && data.tags.trial === String(position))
        .filter(({ data }) => data.tags.phase === 'measure')
        .map(({ data }) => data.value / 1000);
      assert.equal(own.length, latency.count);
      for (const [key, p] of Object.entries({ p50: 0.5, p95: 0.95, p99: 0.99 })) {
        if (latency[key] === null) continue;
        assert.ok(Math.abs(latency[key] - percentile(own, p)) < 2e-6, key);
      }
    }
  });
});

test('a trial that leaves a backlog changes nothing in the next', async () => {
  // 1000 users on 200 workers, as many as Tomcat has, of 250 ms: 800 wait, each answer takes 1.25 s.
  await undisturbed(
    async () => {
      const servers = { queue: await stub(queue(200, 250)), constant: await stub(constant(1250)) };
      const result = await block(
        experiment({
          load: { model: 'closed', users: 1000, think_time: '0s' },
          windows: { measure: '2500ms' },
          ideal: { queue: 800, constant: 800 },
        }),
        servers,
        { WARMUP_CYCLES: '0', ORDER: 'queue,queue,constant,constant' },
      );
      for (const server of Object.values(servers)) server.close();
      sound(result, servers);
      return result;
    },
    ({ document }) => {
      const [first, second, afterQueue, afterIdle] = document.trials;
      for (const record of document.trials) {
        near(record.in_flight.end, 1000, 0.1, 'in flight at the end');
        littlesLaw(record, 0);
      }
      near(first.latency.mean, 1.25, 0.1, 'response time by the laws');
      near(second.throughput, first.throughput, 0.02, 'same variant, throughput');
      near(second.latency.mean, first.latency.mean, 0.02, 'same variant, latency');
      near(afterQueue.throughput, afterIdle.throughput, 0.02, 'other variant, throughput');
      near(afterQueue.latency.mean, afterIdle.latency.mean, 0.02, 'other variant, latency');
    },
  );
});

test('latency holds the time to connect, once', async () => {
  const servers = { connecting: await stub(constant(100), 200) };
  const result = await block(
    experiment({ load: { model: 'closed', users: 10, think_time: '0s' }, windows: { measure: '3s' } }),
    servers,
    { ORDER: 'connecting', WARMUP_CYCLES: '0' },
    { args: ['--insecure-skip-tls-verify'] },
  );
  servers.connecting.close();
  sound(result, servers);
  const [trial] = result.document.trials;
  assert.ok(trial.latency.p50 > 0.29, `p50 ${trial.latency.p50}`);
  // Counted twice the 200 ms would make it 1.67 times the users, left out 0.33 times.
  littlesLaw(trial, 0, 0.05);
});

test('think time, overrides and a single trial', async () => {
  await undisturbed(
    async () => {
      const servers = { constant: await stub(constant(200)) };
      const result = await block(
        experiment({ load: { model: 'closed', users: 3, think_time: '200ms' }, ideal: { constant: 125 } }),
        servers,
        { ORDER: 'constant', WARMUP_CYCLES: '0', USERS: '50', MEASURE: '2s' },
      );
      servers.constant.close();
      sound(result, servers);
      return result;
    },
    ({ document }) => {
      const [trial] = document.trials;
      assert.deepEqual([trial.users, trial.end - trial.start], [50, 2000]);
      littlesLaw(trial, 0.2);
    },
  );
});

test('warm-up only: an empty order', async () => {
  const servers = { first: await stub(constant(50)), second: await stub(constant(50)) };
  const result = await block(experiment(), servers, { ORDER: '', WARMUP_CYCLES: '2' });
  for (const server of Object.values(servers)) server.close();
  sound(result, servers);
  assert.deepEqual(result.document.trials, []);
  assert.deepEqual(
    result.document.warmup.map(({ variant }) => variant),
    ['first', 'second', 'first', 'second'],
  );
});

const OPEN = { model: 'open', rate: 100, users: 50 };

test('open load: exact arrivals, and drops where the user is still busy', async () => {
  const servers = { constant: await stub(constant(200)), hang: await stub(hang) };
  const change = { load: OPEN, windows: { spread: '500ms', measure: '3s' }, max_response: '100ms' };
  const env = { ORDER: 'constant,hang', WARMUP_CYCLES: '0' };
  const result = await block(experiment(change), servers, env);
  for (const server of Object.values(servers)) server.close();
  sound(result, servers);
  const [fine, overloaded] = result.document.trials;
  assert.deepEqual([fine.started, fine.dropped], [350, 0]);
  near(fine.ok, 300, 0.02, 'completed in the window');
  near(fine.latency.p50, 0.2, 0.1, 'latency');
  const arrivals = servers.constant.log.map(({ arrived }) => arrived - fine.begin).toSorted((a, b) => a - b);
  near(arrivals.at(-1) - arrivals[0], 3490, 0.02, 'from the first to the last arrival');
  // Every user hangs in its first request until the timeout, after the window.
  assert.deepEqual([overloaded.started, overloaded.dropped, overloaded.ok], [50, 300, 0]);
  assert.deepEqual([overloaded.failed, overloaded.failed_outside], [{}, 50]);
  assert.deepEqual([overloaded.throughput, overloaded.latency.mean, overloaded.latency.p50], [0, null, null]);
});

test('open load: a slow answer drops the next arrival of its user, though others are free', async () => {
  // Each user is due once a second.
  const servers = { slow: await stub((n, done) => setTimeout(done, n === 13 ? 1500 : 20, 200)) };
  const result = await block(
    experiment({ load: { model: 'open', rate: 10, users: 10 }, windows: { spread: '500ms', measure: '4s' } }),
    servers,
    { ORDER: 'slow', WARMUP_CYCLES: '0' },
  );
  servers.slow.close();
  sound(result, servers);
  const [trial] = result.document.trials;
  assert.deepEqual([trial.started, trial.dropped], [44, 1]);
  const { arrived, ended } = servers.slow.log[12];
  const meanwhile = servers.slow.log.filter((entry) => entry.arrived > arrived && entry.ended < ended);
  near(meanwhile.length, 13, 0.2, 'requests of the other users in the same 1.5 s');
});

test('open load: latency counts from when a request was due, also when the generator was late', async () => {
  const servers = { constant: await stub(constant(20)) };
  const result = await block(
    experiment({ load: OPEN, windows: { spread: '500ms', measure: '4s' } }),
    servers,
    { ORDER: 'constant', WARMUP_CYCLES: '0' },
    {
      during: (child) => {
        // Stops the generator for half a second in the middle of the window.
        const timer = setInterval(() => {
          if (servers.constant.log.length < 200) return;
          clearInterval(timer);
          child.kill('SIGSTOP');
          setTimeout(() => child.kill('SIGCONT'), 500);
        }, 20);
        child.on('close', () => clearInterval(timer));
      },
    },
  );
  servers.constant.close();
  const [trial] = result.document.trials;
  assert.deepEqual([trial.started + trial.dropped, trial.started], [450, trial.completed]);
  assert.ok(trial.late_max > 0.4, `late by ${trial.late_max}`);
  // 50 of some 400 were due during the stop, evenly over it; from their late start they took 20 ms each.
  assert.ok(trial.latency.p95 > 0.15, `p95 ${trial.latency.p95}`);
  assert.ok(trial.latency.p50 < 0.1, `p50 ${trial.latency.p50}`);
});

test('failures by reason', async () => {
  const gone = await stub(hang);
  gone.close();
  const servers = { error: await stub(statuses([200, 500, 503, 299], 20)), cut: await stub(cut(20)) };
  const slow = { hang: await stub(hang) };
  const load = { model: 'closed', users: 4, think_time: '0s' };
  const [fast, timeouts] = await Promise.all([
    block(experiment({ load }), { ...servers, refused: gone }, { ORDER: 'error,cut,refused', WARMUP_CYCLES: '0' }),
    block(experiment({ load, max_response: '100ms', windows: { measure: '6s' } }), slow, {
      ORDER: 'hang',
      WARMUP_CYCLES: '0',
    }),
  ]);
  for (const server of Object.values({ ...servers, ...slow })) server.close();

  sound(fast, { error: servers.error });
  const [error, cutOff, refused] = fast.document.trials;
  assert.deepEqual(Object.keys(error.failed).toSorted(), ['other', 'status-500', 'status-503']);
  const inWindow = error.ok + sum(Object.values(error.failed), (n) => n);
  near(inWindow, servers.error.endedIn(error.start, error.end).length, 0.03, 'completed in the window');
  for (const n of [error.ok, ...Object.values(error.failed)]) near(n, inWindow / 4, 0.1, 'each a quarter');
  assert.ok(error.failed_outside > 0);

  for (const record of [cutOff, refused]) {
    assert.deepEqual(Object.keys(record.failed), ['connection']);
    assert.deepEqual([record.ok, record.throughput, record.started], [0, 0, record.completed]);
  }
  // They leave a target alone that refuses: 4 users, a request each half second.
  assert.ok(refused.started <= 20);

  sound(timeouts, slow);
  const [timeout] = timeouts.document.trials;
  assert.deepEqual([timeout.failed, timeout.failed_outside, timeout.started], [{ timeout: 4 }, 4, 8]);
  for (const { stderr } of [fast, timeouts]) assert.equal(stderr, '', 'no line for each failure');
});

test('an interrupted block ends non-zero and its document shows what is missing', async () => {
  const servers = { slow: await stub(constant(1500)) };
  const result = await block(
    experiment({ windows: { measure: '5s' } }),
    servers,
    { ORDER: 'slow,slow', WARMUP_CYCLES: '0' },
    {
      during: (child) => {
        const timer = setInterval(() => {
          if (servers.slow.log.length < 15) return;
          clearInterval(timer);
          child.kill('SIGINT');
        }, 20);
        child.on('close', () => clearInterval(timer));
      },
    },
  );
  servers.slow.close();
  assert.notEqual(result.code, 0);
  const [only, ...more] = result.document.trials;
  assert.deepEqual(more, []);
  assert.ok(only.started > only.completed);
  assert.match(result.stdout, /Do not use it/);
});
