// One user's part in one phase.
import exec from 'k6/execution';
import { type Due, dealt, evenly, inFlightAt, inSequence, partIn, timeIn } from './arrivals.ts';
import { now, sleepUntil } from './clock.ts';
import * as metrics from './metrics.ts';
import type { Phase, Plan } from './plan.ts';
import type { Findings } from './preflight.ts';
import { exponential, random } from './random.ts';

/** A user that got no connection waits this long, so that a target that is gone does not cost the generator its CPU. */
const PAUSE = 500;
const PAUSE_AFTER = ['connection', 'login', 'exception'];
/** Arrivals of an open load that are sent so many milliseconds late are counted: a stall of the generator. */
const LATE = 20;

/** What one iteration of a user came to: in milliseconds how long it took, and why it failed if it did. */
export interface Outcome {
  took: number;
  reason?: string | undefined;
}

/** One user in one phase: what it does again and again. */
export interface User {
  /** Gives up after `patience` milliseconds. */
  iterate(patience: number): Outcome | Promise<Outcome>;
  /** In place of an iteration that is dropped: those after it are the same as without that. */
  skip(): void;
}

/** The workload. */
export interface Users {
  take(phase: Phase, user: number): User;
  /** Before everything else. */
  login(phase: Phase, user: number): void;
  /** What there is to do, once, before a run. */
  preflight(variant: string, base: string): Findings | Promise<Findings>;
}

/** What all users share: the workload, how long to wait for an answer, and what is drawn. */
export interface Shared {
  users: Users;
  timeout: Plan['timeout'];
  seed: string;
  /** Of an open load with exponential gaps: when arrivals are due at one per second. */
  arrivals: ArrayLike<number>;
}

export async function takePart(
  phase: Phase,
  begin: number,
  user: number,
  { users, timeout, seed, arrivals }: Shared,
): Promise<void> {
  const { start, end, rate } = phase;
  const tags = exec.vu.metrics.tags;
  tags.variant = phase.variant;
  tags.trial = phase.trial;
  tags.phase = phaseAt(0);
  // Of a user that takes no part k6 still counts the iteration, under this phase and not the one before.
  if (user >= phase.users) return;
  metrics.begin.add(begin);
  if (phase.kind === 'login') {
    sleepUntil(begin + (phase.rampUp * user) / phase.users);
    users.login(phase, user);
    return;
  }
  if (user === 0) announce();
  const workload = users.take(phase, user);

  const sum = {
    answered: 0,
    between: 0,
    completed: 0,
    failedOutside: 0,
    givenUp: 0,
    dropped: 0,
    inFlightStart: 0,
    inFlightEnd: 0,
    late: 0,
    lateArrivals: 0,
    drained: 0,
  };
  const failed: Record<string, number> = {};
  // When the user had its last answer, in milliseconds since the phase began.
  let free = 0;

  if (rate === undefined) await closed();
  else if (rate > 0) await open(phase.gaps === 'even' ? evenly(rate) : inSequence(arrivals, rate));

  metrics.completed.add(sum.completed);
  if (sum.answered > 0) metrics.answered.add(sum.answered);
  if (sum.between > 0) metrics.between.add(sum.between);
  metrics.late.add(sum.late);
  if (sum.lateArrivals > 0) metrics.lateArrivals.add(sum.lateArrivals);
  if (sum.drained > 0) metrics.drained.add(begin + sum.drained);
  if (sum.failedOutside > 0) metrics.failedOutside.add(sum.failedOutside);
  if (sum.givenUp > 0) metrics.givenUp.add(sum.givenUp);
  if (sum.dropped > 0) metrics.dropped.add(sum.dropped);
  if (sum.inFlightStart > 0) metrics.inFlightStart.add(sum.inFlightStart);
  if (sum.inFlightEnd > 0) metrics.inFlightEnd.add(sum.inFlightEnd);
  for (const [reason, count] of Object.entries(failed)) metrics.failed.add(count, { reason, phase: phase.kind });

  function announce() {
    const kind = { phase: phase.kind };
    metrics.windowStart.add(begin + start, kind);
    metrics.windowEnd.add(begin + end, kind);
    metrics.users.add(phase.users, kind);
    metrics.thinkTime.add(phase.thinkTime, kind);
    if (rate !== undefined) metrics.rate.add(rate, kind);
  }

  // From here on every time is in milliseconds since the phase began.

  /** The next request waits for the answer to the one before. */
  async function closed() {
    // From the beginning in each phase: every variant has the same users.
    const draw = random(seed, 'think', user);
    let left = phase.requests ?? Number.POSITIVE_INFINITY;
    for (let due = (phase.rampUp * user) / phase.users; due < end && left > 0; left--) {
      const pause = await send(due, false);
      const think = phase.isThinkTimeExponential ? phase.thinkTime * exponential(draw) : phase.thinkTime;
      due = clock() + Math.max(think, pause);
    }
    sum.between += timeIn(start, end, free, end);
  }

  /**
   * An arrival whose user is still busy is dropped, also when others are free: users share no state. So a drop means an
   * answer that took longer than users / rate, about.
   */
  async function open(due: Due) {
    const next = dealt(due, user, phase.users);
    for (let at = next(); at < end; at = next()) {
      if (free > at) {
        sum.dropped++;
        workload.skip();
      } else {
        await send(at, true);
        free = clock();
      }
    }
  }

  /** Returns how long to leave the target alone. */
  async function send(due: number, fromDue: boolean): Promise<number> {
    sleepUntil(begin + due);
    const from = clock();
    // Closed load starts nothing after the window; an arrival of an open load was due before its end and is sent.
    if (!fromDue && from >= end) return 0;
    if (!fromDue) sum.between += timeIn(start, end, free, from);
    sum.late = Math.max(sum.late, from - due);
    if (fromDue && from - due > LATE) sum.lateArrivals++;
    if (tags.phase !== phaseAt(from)) tags.phase = phaseAt(from);
    // Counted before the request: an interrupted one leaves no other sample.
    metrics.started.add(1);

    // What is not waited for is given up at the window's end.
    const patience = phase.waitForAnswers ? timeout : Math.min(timeout, Math.max(1, Math.ceil(end - from)));
    // Without await where nothing is to be awaited: it would be another turn of the event loop.
    const iteration = workload.iterate(patience);
    const { took, reason } = iteration instanceof Promise ? await iteration : iteration;

    const to = clock();
    const where = phaseAt(to);
    free = to;
    // What k6 took of it to send the request and to read the answer; of an exception nobody knows how long it waited.
    if (!fromDue && took > 0 && where === phase.kind) sum.between += Math.max(0, to - from - took);
    sum.completed++;
    sum.drained = Math.max(sum.drained, to);
    // An arrival of an open load is in flight from when it was due.
    const since = fromDue ? due : from;
    if (inFlightAt(start, since, to)) sum.inFlightStart++;
    if (reason === 'timeout' && patience < timeout) {
      sum.givenUp++;
      sum.inFlightEnd++;
      return 0;
    }
    if (inFlightAt(end, since, to) && phase.kind !== 'single') sum.inFlightEnd++;
    if (reason === undefined) {
      // Open load: from when the request was due, so that a late generator does not make the target look faster.
      metrics.latency.add(fromDue ? from - due + took : took, { phase: where });
      if (!fromDue) sum.answered += partIn(start, end, from, to);
    } else if (where === phase.kind) {
      const known = metrics.REASONS.includes(reason) ? reason : 'other';
      failed[known] = (failed[known] ?? 0) + 1;
    } else {
      sum.failedOutside++;
    }
    return reason !== undefined && PAUSE_AFTER.includes(reason) ? PAUSE : 0;
  }

  function clock(): number {
    return now() - begin;
  }

  /** A single user has no ramp and no drain: its window ends with its last answer. */
  function phaseAt(time: number): string {
    if (phase.kind === 'single') return phase.kind;
    return time < start ? 'ramp' : time < end ? phase.kind : 'drain';
  }
}
