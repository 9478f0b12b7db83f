// What must hold of every block of every workload, and the two ways to measure again: where the machine stalled, and
// where it got too little done.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { setTimeout } from 'node:timers/promises';

export function near(actual, expected, tolerance, what) {
  assert.ok(Math.abs(actual - expected) <= tolerance * expected, `${what}: ${actual} instead of ${expected}`);
}

export function sum(records, pick) {
  return records.reduce((total, record) => total + pick(record), 0);
}

/** What must hold of every block: nothing lost, nothing counted twice, every phase begins with an idle server. */
export function sound(result, servers = result.servers) {
  const { code, document, records } = result;
  assert.equal(code, 0);
  assert.equal(document.version, 2);
  assert.equal(document.agreed, true, 'users disagreed');
  for (const [variant, server] of Object.entries(servers)) {
    const ofVariant = records.filter((record) => record.variant === variant);
    assert.equal(
      sum(ofVariant, (record) => record.started),
      server.log.length,
      `${variant}: started, and seen by the server`,
    );
    for (const record of ofVariant) {
      const seen = server.log.filter(({ arrived }) => arrived >= record.begin && arrived < record.drained + 100);
      assert.equal(record.started, record.completed);
      assert.equal(record.completed, seen.length, `${variant} ${record.phase} ${record.position}`);
    }
    for (const { begin } of records) assert.equal(server.inFlightAt(begin), 0, `${variant} is not idle at ${begin}`);
  }
  for (const record of records) {
    assert.equal(record.latency.count, record.ok);
    assert.ok(record.begin <= record.start && record.start < record.end);
    const answered = (record.throughput * (record.end - record.start)) / 1000;
    // What the window's edges cut counts in part.
    const cut = record.by_parts ? record.in_flight : { start: 0, end: 0 };
    const off = 1e-6 * record.ok;
    assert.ok(
      answered >= record.ok - cut.start - off && answered <= record.ok + cut.end + off,
      `throughput: ${answered} answers where ${record.ok} came within the window`,
    );
  }
}

/** N = X (R + Z) */
export function littlesLaw(record, thinkTime, tolerance = 0.02) {
  near(
    record.throughput * (record.latency.mean + thinkTime),
    record.users,
    tolerance,
    `Little's law, ${record.variant}`,
  );
}

/** Each user waits for an answer, thinks, or is at work in k6: N = X R, and those between two requests. */
export function accounted(record, tolerance = 0.05) {
  const waiting = (1000 * record.ok * record.latency.mean) / (record.end - record.start);
  near(waiting + record.between, record.users, tolerance, `users accounted for, ${record.variant}`);
}

/** Seconds before each repeat: others may share the CPU for some minutes, and must not outlast all attempts. */
const PAUSES = [1, 5, 20, 60, 120];

/** Why something was measured again. */
const repeated = [];
after(() => {
  if (repeated.length > 0) console.log([`measured again: ${repeated.length}`, ...repeated].join('\n  '));
});

/**
 * Measures, and checks what laws say of windows. As in a run, what was measured while the machine stalled does not count
 * and is measured again: a stall moves that share of a window's answers to the other side of its edge. `measure` gets
 * the number of the attempt, from 0.
 */
export async function undisturbed(measure, check) {
  for (const [attempt, pause] of [...PAUSES, undefined].entries()) {
    const result = await measure(attempt);
    try {
      await check(result);
      return result;
    } catch (error) {
      if (pause === undefined || !isDisturbed(result)) throw error;
      repeated.push(`the machine stalled for ${result.stall.toFixed(3)} s: ${error.message.split('\n')[0]}`);
    }
    await setTimeout(1000 * pause);
  }
}

/** Returns the users of an attempt: all of several hundred wake at once, which a slow machine never does in time. */
export function fewer(users, attempt) {
  return users / 2 ** Math.min(attempt, 2);
}

/** Users disagree only where the generator stalled, and that may be between two phases, where nothing else tells it. */
function isDisturbed({ document, records, stall }) {
  const { start, end } = document.trials[0] ?? records[0];
  return !document.agreed || stall >= 0.01 * ((end - start) / 1000);
}

/**
 * Measures in one window after another, each longer, until one has enough, and returns the last measurement. How much a
 * machine gets done in a window is no claim, and it may stall for longer than a short one.
 */
export async function inLongerWindows(windows, measure, hasEnough) {
  let result;
  for (const window of windows) {
    result = await measure(window);
    if (hasEnough(result)) break;
    repeated.push(`too little in a window of ${window} ms`);
  }
  return result;
}
