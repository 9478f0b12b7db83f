// One user's part in one phase.
import exec from 'k6/execution';
import { type Due, dealt, evenly, inFlightAt, inSequence, partIn, timeIn } from './arrivals.ts';
import { now, sleepUntil } from './clock.ts';
import * as metrics from './metrics.ts';
import type { Phase } from './phase.ts';
import type { Plan } from './plan.ts';
import { exponential, random } from './random.ts';
import type { Answered, Outcome, User, Users } from './users.ts';
import { type UserWindow, userWindow } from './window.ts';

/** A user that got no connection waits this long, so that a target that is gone does not cost the generator its CPU. */
const PAUSE = 500;
const PAUSE_AFTER = ['connection', 'login', 'exception'];
/** Arrivals of an open load that are sent so many milliseconds late are counted: a stall of the generator. */
const LATE = 20;

/** The counters of a part; what is zero is not reported. */
const COUNTERS = [
  ['answered', metrics.answered],
  ['between', metrics.between],
  ['failedOutside', metrics.failedOutside],
  ['givenUp', metrics.givenUp],
  ['dropped', metrics.dropped],
  ['inFlightStart', metrics.inFlightStart],
  ['inFlightEnd', metrics.inFlightEnd],
  ['lateArrivals', metrics.lateArrivals],
] as const;

/** What all users share: the workload, how long to wait for an answer, and what is drawn. */
export interface Shared {
  users: Users;
  timeout: Plan['timeout'];
  seed: string;
  /** When arrivals of an open load with exponential gaps are due at one per second. */
  arrivals: ArrayLike<number>;
}

export async function takePart(phase: Phase, begin: number, user: number, shared: Shared): Promise<void> {
  const tags = exec.vu.metrics.tags;
  tags.variant = phase.variant;
  tags.trial = phase.trial;
  tags.phase = phaseAt(phase, 0);
  // Of a user that takes no part k6 still counts the iteration, under this phase and not the one before.
  if (user >= phase.users) return;
  metrics.begin.add(begin);
  if (phase.kind === 'login') {
    sleepUntil(begin + (phase.rampUp * user) / phase.users);
    shared.users.login(phase, user);
    return;
  }
  if (user === 0) announce(phase, begin);
  await new Part(phase, begin, user, shared).take();
}

/** Records what the phase is to be. */
function announce(phase: Phase, begin: number): void {
  const kind = { phase: phase.kind };
  metrics.windowStart.add(begin + phase.start, kind);
  metrics.windowEnd.add(begin + phase.end, kind);
  metrics.users.add(phase.users, kind);
  metrics.thinkTime.add(phase.thinkTime, kind);
  if (phase.rate !== undefined) metrics.rate.add(phase.rate, kind);
}

/**
 * Returns the tag for a time of the phase. A single user has no ramp and no drain: its window ends with its last
 * answer.
 */
function phaseAt(phase: Phase, time: number): string {
  if (phase.kind === 'single') return phase.kind;
  return time < phase.start ? 'ramp' : time < phase.end ? phase.kind : 'drain';
}

/** Every time in here is in milliseconds since the phase began. */
class Part {
  private readonly phase: Phase;
  private readonly begin: number;
  private readonly user: number;
  private readonly shared: Shared;
  private readonly isOpen: boolean;
  private readonly workload: User;
  private readonly window: UserWindow;
  private readonly hasKinds: boolean;
  private readonly isAloneWithKinds: boolean;
  private readonly tags = exec.vu.metrics.tags;
  private readonly sum = {
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
  /** By kind, then by reason. */
  private readonly failed: Record<string, number>[] = [];
  /** When the user had its last answer. */
  private free = 0;

  constructor(phase: Phase, begin: number, user: number, shared: Shared) {
    this.phase = phase;
    this.begin = begin;
    this.user = user;
    this.shared = shared;
    this.isOpen = phase.rate !== undefined;
    this.workload = shared.users.take(phase, user);
    this.hasKinds = phase.parts !== undefined && shared.users.kinds.length > 1;
    this.isAloneWithKinds = phase.kind === 'single' && shared.users.kinds.length > 1;
    this.window = userWindow(phase, user, shared.users.kinds.length);
  }

  async take(): Promise<void> {
    const { gaps, rate, requests, end } = this.phase;
    if (rate === undefined) await this.closed();
    else if (rate > 0) await this.open(gaps === 'even' ? evenly(rate) : inSequence(this.shared.arrivals, rate));
    // Others may still be at work: a report takes CPU that their requests need.
    if (requests === undefined) sleepUntil(this.begin + end);
    this.report();
  }

  /** Sends requests, each after the answer to the one before. */
  private async closed(): Promise<void> {
    const { phase, user } = this;
    // Every variant has the same users.
    const draw = random(this.shared.seed, `think ${phase.kind} ${phase.turn}`, user);
    let left = phase.requests ?? Number.POSITIVE_INFINITY;
    for (let due = (phase.rampUp * user) / phase.users; due < phase.end && left > 0; left--) {
      const pause = await this.send(due);
      const think = phase.isThinkTimeExponential ? phase.thinkTime * exponential(draw) : phase.thinkTime;
      due = this.clock() + Math.max(think, pause);
    }
    this.sum.between += timeIn(phase.start, phase.end, this.free, phase.end);
  }

  /**
   * Sends the user's arrivals. One that finds its user busy is dropped, also when others are free: users share no
   * state. So a drop means an answer that took longer than users / rate, about.
   */
  private async open(due: Due): Promise<void> {
    const next = dealt(due, this.user, this.phase.users);
    for (let at = next(); at < this.phase.end; at = next()) {
      if (this.free > at) {
        this.sum.dropped++;
        this.window.drop(at, this.workload.skip());
      } else {
        await this.send(at);
        this.free = this.clock();
      }
    }
  }

  /** Sends a request when it is due. Returns how long to leave the target alone. */
  private async send(due: number): Promise<number> {
    const phase = this.phase;
    const sum = this.sum;
    sleepUntil(this.begin + due);
    const from = this.clock();
    if (this.isOpen) {
      if (from - due > LATE) sum.lateArrivals++;
    } else {
      // Closed load starts nothing after the window; an arrival of an open load was due before its end and is sent.
      if (from >= phase.end) return 0;
      sum.between += timeIn(phase.start, phase.end, this.free, from);
    }
    sum.late = Math.max(sum.late, from - due);
    const where = phaseAt(phase, from);
    if (this.tags.phase !== where) this.tags.phase = where;
    // Counted before the request: an interrupted one leaves no other sample.
    metrics.started.add(1);

    const timeout = this.shared.timeout;
    // What is not waited for is given up at the window's end.
    const patience = phase.waitForAnswers ? timeout : Math.min(timeout, Math.max(1, Math.ceil(phase.end - from)));
    // Without await where nothing is to be awaited: it would be another turn of the event loop.
    // An arrival of an open load is in flight from when it was due.
    const since = this.isOpen ? due : from;
    const iteration = this.workload.iterate(patience, this.window.samples(since));
    const outcome = iteration instanceof Promise ? await iteration : iteration;
    return this.complete(from, since, outcome, patience < timeout);
  }

  /** Counts an iteration. Returns how long to leave the target alone. */
  private complete(from: number, since: number, outcome: Outcome, mayGiveUp: boolean): number {
    const { took, reason, kind = 0 } = outcome;
    const phase = this.phase;
    const sum = this.sum;
    const to = this.clock();
    const where = phaseAt(phase, to);
    this.free = to;
    // What k6 took of it to send the request and to read the answer; of an exception nobody knows how long it waited.
    if (!this.isOpen && took > 0 && where === phase.kind) sum.between += Math.max(0, to - from - took);
    sum.completed++;
    sum.drained = Math.max(sum.drained, to);
    if (inFlightAt(phase.start, since, to)) sum.inFlightStart++;
    if (reason === 'timeout' && mayGiveUp) {
      // Unanswered at the window's end: no completion.
      this.window.drop(since, kind);
      sum.givenUp++;
      sum.inFlightEnd++;
      return 0;
    }
    if (inFlightAt(phase.end, since, to) && phase.kind !== 'single') sum.inFlightEnd++;
    this.window.complete(since, to, kind);
    // Open load: from when the request was due, so that a late generator does not make the target look faster.
    const late = from - since;
    if (outcome.answers) this.keepAnswers(outcome.answers, late, kind);
    if (reason !== undefined) {
      this.fail(reason, where, kind);
      return PAUSE_AFTER.includes(reason) ? PAUSE : 0;
    }
    if (!outcome.answers) this.window.answer(to, late + took, kind);
    if (outcome.form !== undefined) this.window.form(outcome.form);
    metrics.latency.add(late + took, { phase: where });
    if (this.isAloneWithKinds) metrics.answer.add(late + took, { phase: where, kind: String(kind) });
    if (!this.isOpen) sum.answered += partIn(phase.start, phase.end, from, to);
    return 0;
  }

  /** Keeps each OK answer of a script, the first from when its iteration was due. */
  private keepAnswers(answers: Answered[], late: number, kind: number): void {
    for (const [i, { took, at }] of answers.entries()) {
      this.window.answer(at - this.begin, took + (i === 0 ? late : 0), kind);
    }
  }

  private fail(reason: string, where: string, kind: number): void {
    if (where !== this.phase.kind) {
      this.sum.failedOutside++;
      return;
    }
    const known = metrics.REASONS.includes(reason) ? reason : 'other';
    const failed = this.failed[kind] ?? {};
    this.failed[kind] = failed;
    failed[known] = (failed[known] ?? 0) + 1;
  }

  private report(): void {
    const { sum } = this;
    metrics.completed.add(sum.completed);
    metrics.late.add(sum.late);
    if (sum.drained > 0) metrics.drained.add(this.begin + sum.drained);
    for (const [name, counter] of COUNTERS) {
      if (sum[name] > 0) counter.add(sum[name]);
    }
    for (const [kind, reasons = {}] of this.failed.entries()) {
      const tags = { phase: this.phase.kind, ...(this.hasKinds ? { kind: String(kind) } : {}) };
      for (const [reason, count] of Object.entries(reasons)) metrics.failed.add(count, { ...tags, reason });
    }
    this.window.report();
  }

  private clock(): number {
    return now() - this.begin;
  }
}
