// Whole blocks against stub servers. What holds on any machine is asked once; ratios again where the machine stalled.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backlog, heldByEveryUser } from './backlog.mjs';
import { load as compiled } from './compiled.mjs';
import { block, experiment, folder } from './k6.mjs';
import { accounted, fewer, littlesLaw, near, sound, sum, undisturbed } from './laws.mjs';
import { bimodal, constant, cut, hang, now, queue, statuses, stub } from './stub.mjs';

const { arrivals, inSequence } = await compiled('arrivals');
const { random } = await compiled('random');

/** Linear interpolation at rank p (n - 1), as k6 does it. */
function percentile(values, p) {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = p * (sorted.length - 1);
  const below = sorted[Math.floor(rank)];
  return below + (sorted[Math.ceil(rank)] - below) * (rank % 1);
}

test('a closed block: counts, percentiles, tags and the document on stdout', async (t) => {
  const samples = join(folder, 'samples.json');
  const result = await undisturbed(
    async () => {
      const servers = { constant: await stub(constant(200)), bimodal: await stub(bimodal(100, 500, 20)) };
      const measured = await block(
        experiment({ load: { model: 'closed', users: 45, think_time: 0 }, windows: { measure: 3000 } }),
        servers,
        { DOCUMENT: 'stdout', SINGLE: '500ms', RUN_ID: 'r1', BLOCK: '7', NAMESPACE: 'n1' },
        { args: ['-o', `json=${samples}`] },
      );
      for (const server of Object.values(servers)) server.close();
      return measured;
    },
    (measured) => {
      sound(measured);
      for (const record of measured.document.trials) {
        littlesLaw(record, 0);
        countsAreTheServers(record, measured.servers[record.variant]);
        percentilesAreTheServers(record, measured.servers[record.variant]);
      }
      for (const record of measured.document.single) littlesLaw(record, 0, 0.1);
      followOneAnother(measured);
    },
  );
  const { document, stdout, servers } = result;

  function countsAreTheServers(record, server) {
    near(record.ok, server.endedIn(record.start, record.end).length, 0.02, 'completed in the window');
    // All but those that stand between an answer and their next request.
    near(record.in_flight.start, 45, 0.1, 'in flight at the start');
    near(record.in_flight.end, 45, 0.1, 'in flight at the end');
  }

  function percentilesAreTheServers({ variant, start, end, latency }, server) {
    const responses = server.endedIn(start, end).map(({ arrived, ended }) => (ended - arrived) / 1000);
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
      const least = percentile(responses, p);
      assert.ok(latency[key] > 0.98 * least, `${variant} ${key}: ${latency[key]}, the server's ${least}`);
      assert.ok(latency[key] < (1 + slack) * least, `${variant} ${key}: ${latency[key]}, the server's ${least}`);
    }
    if (variant === 'bimodal') {
      assert.ok(latency.p90 < 0.25, 'nine of ten are fast');
      assert.ok(latency.p99 > 0.49, 'one of twenty is slow');
    }
  }

  /** Each after the drain of the one before, at the second point of the grid. */
  function followOneAnother({ records, gap }) {
    for (const [i, { begin }] of records.entries()) {
      const { drained } = records[i - 1] ?? {};
      if (i > 0) assert.ok(begin > drained && begin - drained <= 500 + gap(drained, begin), `${drained}, ${begin}`);
    }
  }

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

  await t.test('nothing failed, nothing was dropped, and no percentile lacks samples', () => {
    for (const { failed, failed_outside, dropped, latency } of document.trials) {
      assert.deepEqual([failed, failed_outside, dropped, latency.p99_9], [{}, 0, 0, null]);
    }
  });

  await t.test('phases begin on the grid', () => {
    for (const { begin } of result.records) assert.equal(begin % 250, 0);
  });

  await t.test('a single user’s window ends with its last answer', () => {
    for (const record of document.single) {
      assert.deepEqual([record.users, record.end], [1, record.drained]);
      assert.equal(record.ok, record.completed);
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
      // A single user's window ends with its last answer, whose time is not known before.
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
      const responses = points
        .filter(({ metric, data }) => metric === 'trial_latency' && data.tags.trial === String(position))
        .filter(({ data }) => data.tags.phase === 'measure')
        .map(({ data }) => data.value / 1000);
      assert.equal(responses.length, latency.count);
      for (const [key, p] of Object.entries({ p50: 0.5, p95: 0.95, p99: 0.99 })) {
        if (latency[key] === null) continue;
        assert.ok(Math.abs(latency[key] - percentile(responses, p)) < 2e-6, key);
      }
    }
  });
});

test('a trial that leaves a backlog changes nothing in the next', async () => {
  await undisturbed(
    (attempt) => backlog(fewer(240, attempt)),
    (result) => {
      heldByEveryUser(result);
      const [first, second, afterQueue, afterIdle] = result.document.trials;
      for (const record of result.document.trials) {
        littlesLaw(record, 0);
        // A late timer makes the server slower, and both see it.
        const responses = result.servers[record.variant].endedIn(record.start, record.end);
        const mean = sum(responses, ({ arrived, ended }) => (ended - arrived) / 1000) / responses.length;
        near(record.latency.mean, mean, 0.02, 'the server’s own response time');
        assert.ok(record.latency.mean > 0.98 * 1.25, `by the laws 1.25 s: ${record.latency.mean}`);
      }
      near(second.throughput, first.throughput, 0.02, 'same variant, throughput');
      near(second.latency.p50, first.latency.p50, 0.02, 'same variant, latency');
      near(afterQueue.throughput, afterIdle.throughput, 0.02, 'other variant, throughput');
      near(afterQueue.latency.p50, afterIdle.latency.p50, 0.02, 'other variant, latency');
    },
  );
});

test('without a drain the last trial gives up what is unanswered at the end of its window', async () => {
  // One worker of 200 ms: 30 users wait for 6 s.
  await undisturbed(
    async () => {
      const servers = { queue: await stub(queue(1, 200)) };
      const change = {
        load: { model: 'closed', users: 30, think_time: 0 },
        windows: { measure: 2000 },
      };
      const env = { ORDER: 'queue,queue', WARMUP_CYCLES: '0', WAIT_FOR_ANSWERS: 'false' };
      const result = await block(experiment(change), servers, env);
      servers.queue.close();
      return result;
    },
    (result) => {
      sound(result);
      const [waited, gaveUp] = result.document.trials;
      assert.ok(waited.drained - waited.end > 5000, `drained for ${waited.drained - waited.end} ms`);
      assert.ok(gaveUp.drained - gaveUp.end < 1000, `drained for ${gaveUp.drained - gaveUp.end} ms`);
      assert.deepEqual([waited.given_up, gaveUp.given_up], [0, gaveUp.in_flight.end]);
      for (const trial of [waited, gaveUp]) {
        assert.deepEqual([trial.failed, trial.failed_outside], [{}, 0]);
        assert.ok([29, 30].includes(trial.in_flight.end), `in flight at the end: ${trial.in_flight.end}`);
        const seen = result.servers.queue.endedIn(trial.start, trial.end).length;
        assert.ok(Math.abs(trial.ok - seen) <= 1, `${trial.ok} instead of ${seen}`);
      }
    },
  );
});

test('latency holds the time to connect, once', async () => {
  await undisturbed(
    async () => {
      const servers = { connecting: await stub(constant(100), 200) };
      const result = await block(
        experiment({ load: { model: 'closed', users: 10, think_time: 0 }, windows: { measure: 3000 } }),
        servers,
        { ORDER: 'connecting', WARMUP_CYCLES: '0' },
        { args: ['--insecure-skip-tls-verify'] },
      );
      servers.connecting.close();
      return result;
    },
    (result) => {
      sound(result);
      const [trial] = result.document.trials;
      const answers = result.servers.connecting.endedIn(trial.start, trial.end);
      const server = percentile(
        answers.map(({ arrived, ended }) => (ended - arrived) / 1000),
        0.5,
      );
      assert.ok(trial.latency.p50 > 0.29, `p50 ${trial.latency.p50}`);
      // The server's own clock begins after the handshake: left out it would add nothing, counted twice 400 ms.
      const added = trial.latency.p50 - server;
      assert.ok(added > 0.198 && added < 0.4, `${added} s to connect`);
      littlesLaw(trial, 0, 0.05);
    },
  );
});

test('think time, overrides and a single trial', async () => {
  const { document } = await undisturbed(
    async () => {
      const servers = { constant: await stub(constant(200)) };
      const result = await block(
        experiment({ load: { model: 'closed', users: 3, think_time: 200, round: { constant: 24 } } }),
        servers,
        { ORDER: 'constant', WARMUP_CYCLES: '0', USERS: '50', MEASURE: '2s' },
      );
      servers.constant.close();
      return result;
    },
    (result) => {
      sound(result);
      littlesLaw(result.document.trials[0], 0.2);
      accounted(result.document.trials[0]);
    },
  );
  const [trial] = document.trials;
  assert.deepEqual([trial.users, trial.end - trial.start], [50, 2000]);
});

test('k6 accounts for its own time, where answers take almost none', async () => {
  await undisturbed(
    async () => {
      const servers = { constant: await stub(constant(1)) };
      const load = { model: 'closed', users: 5, think_time: 0 };
      const result = await block(experiment({ load }), servers, {
        ORDER: 'constant',
        WARMUP_CYCLES: '0',
        MEASURE: '2s',
      });
      servers.constant.close();
      return result;
    },
    (result) => {
      sound(result);
      const [trial] = result.document.trials;
      accounted(trial);
      assert.ok(trial.between > 0 && trial.between < 5, `${trial.between} of 5 users`);
    },
  );
});

test('think times drawn from an exponential distribution', async () => {
  const { document } = await undisturbed(
    async () => {
      const servers = { constant: await stub(constant(50)) };
      const load = {
        model: 'closed',
        users: 60,
        think_time: 150,
        is_think_time_exponential: true,
        round: { constant: 200 },
      };
      const windows = { measure: 4000 };
      const result = await block(experiment({ load, windows }), servers, { ORDER: 'constant', WARMUP_CYCLES: '0' });
      servers.constant.close();
      return result;
    },
    (result) => {
      sound(result);
      // Some 1200 think times: their mean is that of the distribution within 3 %, one standard deviation.
      littlesLaw(result.document.trials[0], 0.15, 0.1);
      accounted(result.document.trials[0]);
      const arrived = result.servers.constant.log.map((entry) => entry.arrived).toSorted((a, b) => a - b);
      const gaps = arrived.slice(1).map((time, i) => time - arrived[i]);
      // Users that all wait alike come evenly; these come at random, so that the gaps scatter like their mean.
      const mean = sum(gaps, (gap) => gap) / gaps.length;
      const deviation = Math.sqrt(sum(gaps, (gap) => (gap - mean) ** 2) / gaps.length);
      assert.ok(deviation > 0.7 * mean, `gaps of ${mean} ms on average scatter by ${deviation} ms`);
    },
  );
  assert.equal(document.trials[0].rate, null);
});

test("a whole block: cheap cycles, those with the trials' load, single-user phases in mirrored order, light load after the trials", async () => {
  const LIGHT = '{"first":[0,40,0],"second":[40]}';
  const result = await undisturbed(
    async () => {
      const servers = { first: await stub(constant(50)), second: await stub(constant(50)) };
      const change = {
        load: { model: 'closed', users: 20, round: { first: 50 } },
        windows: { warmup_query: { cheap: '1' }, ramp_up: 100 },
      };
      const phases = {
        WARMUP_CYCLES: '1',
        OWN_CYCLES: '1',
        SINGLE: '600ms',
        SINGLE_PHASES: '3',
        ORDER: 'first,second',
      };
      const env = { ...phases, LIGHT, LIGHT_SETTLE: '500ms', LIGHT_MEASURE: '1500ms' };
      const measured = await block(experiment(change), servers, env);
      for (const server of Object.values(servers)) server.close();
      return measured;
    },
    (measured) => {
      sound(measured);
      const { single, light } = measured.document;
      for (const record of single) littlesLaw(record, 0, 0.1);
      for (const { rate, ok, started, dropped, end, drained } of light) {
        assert.ok(Math.abs(ok - 1.5 * rate) <= 1, `${ok} answers at ${rate}/s`);
        assert.deepEqual([started, dropped], [2 * rate, 0]);
        assert.ok(drained >= end - 50);
      }
      // A connection takes CPU: none is made in a window of light load.
      for (const { variant, start, end } of light) {
        assert.deepEqual(measured.servers[variant].connectedIn(start, end), []);
      }
    },
  );
  const of = (records) => records.map(({ variant, position, users }) => `${variant} ${position} ${users}`);
  const { warmup, single, trials, light } = result.document;
  assert.deepEqual(of(warmup), ['first 1 5', 'second 2 5', 'first 3 20', 'second 4 20']);
  assert.deepEqual(of(single), ['first 1 1', 'second 2 1', 'second 3 1', 'first 4 1', 'first 5 1', 'second 6 1']);
  assert.deepEqual(of(trials), ['first 1 20', 'second 2 20']);
  assert.deepEqual(of(light), ['first 1 1', 'first 2 20', 'first 3 1', 'second 4 20']);
  for (const { phase, rate, begin, start, end } of light) {
    // Nothing has to settle where nothing arrives.
    assert.deepEqual([phase, start - begin, end - start], ['light', rate > 0 ? 500 : 300, 1500]);
  }
  // The own cycles ask for what the trials do.
  const { log } = result.servers.first;
  const cheap = (record) => log.filter(({ arrived }) => arrived >= record.begin && arrived <= record.drained);
  const [w1, , w3] = warmup;
  assert.ok(cheap(w1).every(({ url }) => url === '/work?cheap=1'));
  assert.ok([w3, trials[0]].every((record) => cheap(record).every(({ url }) => !url.includes('cheap'))));
  assert.match(result.stdout, /l: light load/);
});

test('warm-up only: an empty order', async () => {
  const { document } = await undisturbed(async () => {
    const servers = { first: await stub(constant(50)), second: await stub(constant(50)) };
    const result = await block(experiment(), servers, { ORDER: '', WARMUP_CYCLES: '2' });
    for (const server of Object.values(servers)) server.close();
    return result;
  }, sound);
  assert.deepEqual(document.trials, []);
  assert.deepEqual(
    document.warmup.map(({ variant }) => variant),
    ['first', 'second', 'first', 'second'],
  );
});

test('a warm-up by requests has as many for each variant, and ends with the last answer or when it has lasted enough', async () => {
  const result = await undisturbed(
    async () => {
      const servers = {
        fast: await stub(constant(5)),
        slow: await stub(constant(40)),
        hanging: await stub(constant(900)),
      };
      const windows = { warmup_users: 5, warmup_requests: 100, warmup_load: 1000, ramp_up: 100 };
      const measured = await block(experiment({ windows }), servers, {
        ORDER: '',
        WARMUP_CYCLES: '2',
        OWN_CYCLES: '0',
      });
      for (const server of Object.values(servers)) server.close();
      return measured;
    },
    (measured) => {
      sound(measured);
      for (const record of measured.document.warmup) {
        const { variant, begin, start, end, drained, started, ok, throughput } = record;
        assert.equal(start, begin);
        if (variant === 'hanging') {
          // Ten seconds, as three times the load are less, and the ramp-up; five users, of whom each waits 0.9 s.
          assert.equal(end, begin + 10_100);
          assert.ok(started < 100, `${started} requests`);
          continue;
        }
        assert.deepEqual([started, ok, end], [100, 100, drained]);
        near(throughput, (1000 * ok) / (end - begin), 1e-4, 'throughput');
        assert.ok(end - begin < 10_100, `${end - begin} ms`);
      }
      // The next variant's turn comes with the last answer, not when the longest time is over.
      const [fast, slow] = measured.document.warmup;
      const most = 1000 + measured.gap(fast.end, slow.begin);
      assert.ok(slow.begin - fast.end < most, `${slow.begin - fast.end} ms, at most ${most}`);
    },
  );
  const seen = (name) => result.servers[name].log.length;
  assert.deepEqual([seen('fast'), seen('slow')], [200, 200]);
});

const OPEN = { model: 'open', rate: 100, users: 50 };

test('open load: exact arrivals, each in time', async () => {
  // Of 400 users each is due every 4 s, the first 50 twice: no stall of less than 3.8 s drops one.
  const result = await undisturbed(
    async (attempt) => {
      const servers = { constant: await stub(constant(200)) };
      const measured = await block(
        experiment({ load: { ...OPEN, users: fewer(400, attempt) }, windows: { ramp_up: 500, measure: 4000 } }),
        servers,
        { ORDER: 'constant', WARMUP_CYCLES: '0' },
      );
      servers.constant.close();
      return measured;
    },
    (measured) => {
      sound(measured);
      const [trial] = measured.document.trials;
      assert.deepEqual([trial.started, trial.dropped], [450, 0]);
      near(trial.ok, 400, 0.02, 'completed in the window');
      near(trial.latency.p50, 0.2, 0.1, 'latency');
      assert.equal(trial.late_arrivals > 0, trial.late_max > 0.02, `${trial.late_max} s late at most`);
      const late = lateness(measured);
      assert.ok(Math.abs(late.at(-1) - late[0]) < 70, `from the first to the last: ${late[0]}, ${late.at(-1)} ms late`);
      // As late as k6 says, and until a busy machine has it at the server.
      const most = 1000 * (trial.late_max + measured.stall) + 10;
      for (const [i, ms] of late.entries()) assert.ok(ms <= most, `arrival ${i}: ${ms} ms late, at most ${most}`);
    },
  );
  const [trial] = result.document.trials;
  assert.ok(trial.latency.p50 > 0.198, `p50 ${trial.latency.p50}`);
  for (const [i, ms] of lateness(result).entries()) assert.ok(ms >= 0, `arrival ${i}: ${-ms} ms before it was due`);

  /** Milliseconds from when the i-th arrival was due. */
  function lateness({ document, servers }) {
    const arrivals = servers.constant.log.map(({ arrived }) => arrived - document.trials[0].begin);
    return arrivals.toSorted((a, b) => a - b).map((at, i) => at - 10 * i);
  }
});

test('open load: one sequence of arrivals with exponential gaps, the same for every variant, each in time', async () => {
  const result = await undisturbed(
    async (attempt) => {
      // Of 400 users each is due every 4 s.
      const load = { model: 'open', rate: 100, users: fewer(400, attempt), gaps: 'exponential' };
      const servers = { first: await stub(constant(200)), second: await stub(constant(200)) };
      const env = { ORDER: 'first,second', WARMUP_CYCLES: '0', SEED: '5', BLOCK: '2', SETTLE: '700ms' };
      const measured = await block(experiment({ load, windows: { ramp_up: 500, measure: 3000 } }), servers, env);
      for (const server of Object.values(servers)) server.close();
      return measured;
    },
    (measured) => {
      sound(measured);
      for (const trial of measured.document.trials) {
        const due = expected(trial);
        assert.deepEqual([trial.rate, trial.started, trial.dropped], [100, due.length, 0]);
        const seen = measured.servers[trial.variant].log.map(({ arrived }) => arrived - trial.begin);
        const most = 1000 * (trial.late_max + measured.stall) + 10;
        for (const [i, at] of seen.toSorted((a, b) => a - b).entries()) {
          assert.ok(at - due[i] <= most, `arrival ${i}: ${at - due[i]} ms late, at most ${most}`);
        }
        // Between the two each answer takes the server 200 ms; near an edge some may be on its other side.
        const inFlight = (edge) => due.filter((at) => at < edge - trial.begin && at + 200 >= edge - trial.begin).length;
        near(trial.in_flight.start, inFlight(trial.start), 0.1, 'in flight at the start');
        near(trial.in_flight.end, inFlight(trial.end), 0.1, 'in flight at the end');
      }
    },
  );
  for (const trial of result.document.trials) {
    assert.deepEqual([trial.start - trial.begin, trial.end - trial.start], [1200, 3000]);
    const seen = result.servers[trial.variant].log.map(({ arrived }) => arrived - trial.begin);
    for (const [i, at] of seen.toSorted((a, b) => a - b).entries()) {
      assert.ok(at >= expected(trial)[i], `arrival ${i}: before it was due`);
    }
  }

  /** When arrivals are due, from the phase's beginning. */
  function expected({ begin, end }) {
    const sequence = arrivals(random('5/2', 'arrivals'), 1000);
    const due = inSequence(sequence, 100);
    return sequence.map((_, i) => due(i)).filter((time) => time < end - begin);
  }
});

test('open load: in flight at the edges is what was due before and not answered, without what was dropped', async () => {
  // One worker of 250 ms for 12 arrivals a second: 8 a second are added to those that wait, until users are still busy.
  const load = { model: 'open', rate: 12, users: 25 };
  const result = await undisturbed(
    async () => {
      const servers = { queue: await stub(queue(1, 250)) };
      const change = { load, windows: { ramp_up: 500, measure: 4000 }, max_response: 20_000 };
      const measured = await block(experiment(change), servers, { ORDER: 'queue', WARMUP_CYCLES: '0' });
      servers.queue.close();
      return measured;
    },
    (measured) => {
      sound(measured);
      const { document, servers } = measured;
      const [{ start, end, in_flight, ok }] = document.trials;
      assert.ok(Math.abs(in_flight.start - servers.queue.inFlightAt(start)) <= 1, `at the start: ${in_flight.start}`);
      assert.ok(Math.abs(in_flight.end - servers.queue.inFlightAt(end)) <= 1, `at the end: ${in_flight.end}`);
      assert.ok(Math.abs(ok - 16) <= 1, `one answer each 250 ms: ${ok}`);
    },
  );
  const [trial] = result.document.trials;
  assert.ok(trial.dropped > 0 && trial.started + trial.dropped === 54, `${trial.started} and ${trial.dropped}`);
});

test('open load: drops where the user is still busy', async () => {
  const result = await undisturbed(async () => {
    const servers = { hang: await stub(hang) };
    const change = { load: OPEN, windows: { ramp_up: 500, measure: 3000 }, max_response: 100 };
    const measured = await block(experiment(change), servers, { ORDER: 'hang', WARMUP_CYCLES: '0' });
    servers.hang.close();
    return measured;
  }, sound);
  // Every user hangs in its first request until the timeout, after the window.
  const [overloaded] = result.document.trials;
  assert.deepEqual([overloaded.started, overloaded.dropped, overloaded.ok], [50, 300, 0]);
  assert.deepEqual([overloaded.failed, overloaded.failed_outside], [{}, 50]);
  assert.deepEqual([overloaded.throughput, overloaded.latency.mean, overloaded.latency.p50], [0, null, null]);
});

test('open load: a slow answer drops the next arrival of its user, though others are free', async () => {
  await undisturbed(
    async () => {
      // Each user is due once a second.
      const servers = { slow: await stub((n, done) => setTimeout(done, n === 13 ? 1500 : 20, 200)) };
      const measured = await block(
        experiment({ load: { model: 'open', rate: 10, users: 10 }, windows: { ramp_up: 500, measure: 4000 } }),
        servers,
        { ORDER: 'slow', WARMUP_CYCLES: '0' },
      );
      servers.slow.close();
      return measured;
    },
    (measured) => {
      sound(measured);
      const { document, servers } = measured;
      const [trial] = document.trials;
      assert.deepEqual([trial.started, trial.dropped], [44, 1]);
      const { arrived, ended } = servers.slow.log[12];
      const meanwhile = servers.slow.log.filter((entry) => entry.arrived > arrived && entry.ended < ended);
      near(meanwhile.length, 13, 0.2, 'requests of the other users in the same 1.5 s');
    },
  );
});

test('open load: latency counts from when a request was due, also when the generator was late', async () => {
  const { document } = await undisturbed(
    async () => {
      const servers = { constant: await stub(constant(20)) };
      let stopped = 0;
      const result = await block(
        experiment({ load: OPEN, windows: { ramp_up: 500, measure: 4000 } }),
        servers,
        { ORDER: 'constant', WARMUP_CYCLES: '0' },
        {
          during: (child) => {
            // Stops the generator for half a second in the middle of the window.
            const timer = setInterval(() => {
              if (servers.constant.log.length < 200) return;
              clearInterval(timer);
              const since = now();
              child.kill('SIGSTOP');
              setTimeout(() => {
                child.kill('SIGCONT');
                stopped = (now() - since) / 1000;
              }, 500);
            }, 20);
            child.on('close', () => clearInterval(timer));
          },
        },
      );
      servers.constant.close();
      // The stop itself is no stall.
      const [{ begin, drained }] = result.document.trials;
      return { ...result, stall: Math.max(result.gap(begin, drained) / 1000, result.stall - stopped) };
    },
    ({ document }) => {
      const [trial] = document.trials;
      // 50 of some 400 were due during the stop, evenly over it; from their late start they took 20 ms each.
      assert.ok(trial.latency.p95 > 0.15, `p95 ${trial.latency.p95}`);
      assert.ok(trial.latency.p50 < 0.1, `p50 ${trial.latency.p50}`);
      assert.ok(trial.late_max > 0.4, `late by ${trial.late_max}`);
    },
  );
  const [trial] = document.trials;
  assert.deepEqual([trial.started + trial.dropped, trial.started], [450, trial.completed]);
});

test('failures by reason', async () => {
  const load = { model: 'closed', users: 4, think_time: 0 };
  // Timeouts after 5.1 s, so the first ones are in the window and the second ones after it.
  async function hanging() {
    const servers = { hang: await stub(hang) };
    const change = { load, max_response: 100, windows: { measure: 9000 } };
    const result = await block(experiment(change), servers, { ORDER: 'hang', WARMUP_CYCLES: '0' });
    servers.hang.close();
    return result;
  }
  async function failing() {
    const gone = await stub(hang);
    gone.close();
    const servers = { error: await stub(statuses([200, 500, 503, 299], 20)), cut: await stub(cut(20)), refused: gone };
    const result = await block(experiment({ load }), servers, { ORDER: 'error,cut,refused', WARMUP_CYCLES: '0' });
    for (const server of Object.values(servers)) server.close();
    return result;
  }
  const [fast, timeouts] = await Promise.all([
    undisturbed(failing, (result) => {
      sound(result, { error: result.servers.error });
      const [error, cutOff, refused] = result.document.trials;
      assert.deepEqual(Object.keys(error.failed).toSorted(), ['other', 'status-500', 'status-503']);
      assert.ok(error.failed_outside > 0);
      for (const record of [cutOff, refused]) assert.deepEqual(Object.keys(record.failed), ['connection']);
    }),
    undisturbed(hanging, (result) => {
      sound(result);
      const [timeout] = result.document.trials;
      assert.deepEqual([timeout.failed, timeout.failed_outside, timeout.started], [{ timeout: 4 }, 4, 8]);
    }),
  ]);

  const [error, cutOff, refused] = fast.document.trials;
  const inWindow = error.ok + sum(Object.values(error.failed), (n) => n);
  const seen = fast.servers.error.endedIn(error.start, error.end).length;
  // Of each user at most one answer is on the other side of an edge.
  assert.ok(Math.abs(inWindow - seen) <= 4, `completed in the window: ${inWindow} instead of ${seen}`);
  for (const n of [error.ok, ...Object.values(error.failed)]) {
    assert.ok(Math.abs(n - inWindow / 4) <= 4, `each a quarter: ${n} of ${inWindow}`);
  }

  for (const record of [cutOff, refused]) {
    assert.deepEqual([record.ok, record.throughput, record.started], [0, 0, record.completed]);
  }
  // They leave a target alone that refuses: 4 users, a request each half second.
  assert.ok(refused.started <= 20);

  for (const { stderr } of [fast, timeouts]) assert.equal(stderr, '', 'no line for each failure');
});

test('an interrupted block ends non-zero and its document shows what is missing', async () => {
  await undisturbed(
    async () => {
      const servers = { slow: await stub(constant(1500)) };
      const result = await block(
        experiment({ windows: { measure: 5000 } }),
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
      return result;
    },
    (result) => {
      assert.notEqual(result.code, 0);
      const [only, ...more] = result.document.trials;
      assert.deepEqual(more, []);
      assert.ok(only.started > only.completed);
      assert.match(result.stdout, /Do not use it/);
    },
  );
});
