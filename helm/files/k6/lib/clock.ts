// One clock for every user, and the barrier between two phases.
import { sleep } from 'k6';
import exec from 'k6/execution';

let base = 0;
/** One instance: k6 makes a new one at each look, a tenth of its CPU by its profile (--profiling-enabled, 1.8.1). */
let instance: typeof exec.instance | undefined;
/** The grid of the wall clock on which users end their part in a phase, and begin the next. */
let grid = 500;

/**
 * Returns what to add to k6's own clock for milliseconds since the epoch, finer than Date.now(). It is for setup()
 * alone.
 */
export function readClock(): number {
  const tick = Date.now();
  while (Date.now() === tick);
  return Date.now() - elapsed();
}

/** Sets the clock that readClock returned, and the plan's grid. */
export function setClock(clock: number, step: number): void {
  base = clock;
  grid = step;
}

export function now(): number {
  return base + elapsed();
}

/** Returns the milliseconds since k6 began. */
function elapsed(): number {
  instance ??= exec.instance;
  return instance.currentTestRunDuration;
}

export function sleepUntil(time: number): void {
  const left = time - now();
  if (left > 0) sleep(left / 1000);
}

/**
 * Waits until every user has ended the phases before this one, and returns the time at which this one begins.
 *
 * Users end on the grid and look in the middle between two of its points, so all of them see the last one's end at the
 * same look, and all take the same next point. A generator that stalls for half a grid can break this; then the users
 * disagree about the beginning, which is recorded and shown.
 */
export function awaitBegin(index: number, users: number): number {
  // All users know when the scenario began; leave them time to get going.
  if (index === 0) return nextPoint(exec.scenario.startTime + grid);
  for (;;) {
    sleepUntil(nextPoint(now() - grid / 2) + grid / 2);
    if (exec.instance.iterationsCompleted >= users * index) return nextPoint(now());
  }
}

/** Ends a user's part in a phase, not before `end`. */
export function endOnGrid(end: number): void {
  sleepUntil(nextPoint(Math.max(now(), end)));
}

function nextPoint(time: number): number {
  return Math.ceil(time / grid) * grid;
}
