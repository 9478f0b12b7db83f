// One user's share of what a window tells beside its totals: answers by part and kind, both halves, a sample of bodies.
import type { Counter } from 'k6/metrics';
import * as metrics from './metrics.ts';
import type { Parts } from './parts.ts';
import type { Phase } from './phase.ts';

/**
 * Keeps everything until the window is over, and reports it then: a sample costs k6 more than anything else here, and
 * would cost it within the window. Times are milliseconds since the phase began; what lies outside the window is left
 * out. An iteration arrives when it is due, under closed load when it is sent.
 */
export interface UserWindow {
  /** Tells whether to sample the answer to the next request, which arrives at that time. */
  samples(arrival: number): boolean;
  /** Counts an arrival that is dropped. */
  drop(arrival: number, kind: number): void;
  /** Counts an iteration that has completed. */
  complete(arrival: number, to: number, kind: number): void;
  /** Keeps an OK answer. */
  answer(to: number, took: number, kind: number): void;
  /** Keeps the form of a sampled answer. */
  form(code: number): void;
  report(): void;
}

/** Returns the window of one user. Closures: k6 reads a variable sooner than a property. */
export function userWindow(phase: Phase, user: number, kinds: number): UserWindow {
  const { parts, start, end } = phase;
  if (!parts) return NOTHING;
  const { length } = parts;
  const middle = (start + end) / 2;
  const isSampled = sampler(parts, phase, user);
  // By half and kind, the answers by part and kind.
  const arrivals: number[] = [];
  const completions: number[] = [];
  const answers: number[][] = [];
  const forms: number[] = [];
  /** Arrivals of this user so far. */
  let arrived = 0;

  const count = (counts: number[], time: number, kind: number) => {
    if (time < start || time >= end) return;
    const cell = (time < middle ? 0 : kinds) + kind;
    counts[cell] = (counts[cell] ?? 0) + 1;
  };
  return {
    samples: (arrival) => arrival >= start && arrival < end && isSampled(arrival, arrived),
    drop: (arrival, kind) => {
      arrived++;
      count(arrivals, arrival, kind);
    },
    complete: (arrival, to, kind) => {
      arrived++;
      count(arrivals, arrival, kind);
      count(completions, to, kind);
    },
    answer: (to, took, kind) => {
      if (to < start || to >= end) return;
      const cell = Math.floor((to - start) / length) * kinds + kind;
      const some = answers[cell];
      if (some) some.push(took);
      else answers[cell] = [took];
    },
    form: (code) => {
      forms.push(code);
    },
    report: () => new Report(phase.kind, kinds).send({ arrivals, completions, answers, forms }),
  };
}

const NOTHING: UserWindow = {
  samples: () => false,
  drop: () => {},
  complete: () => {},
  answer: () => {},
  form: () => {},
  report: () => {},
};

/** Returns what tells whether to sample a request of the window, by its arrival and the user's arrivals before it. */
function sampler({ sampling, length }: Parts, { users, start }: Phase, user: number) {
  if ('everyArrival' in sampling) {
    const { everyArrival } = sampling;
    return (_: number, arrived: number) => (user + arrived * users) % everyArrival === 0;
  }
  const { everyUser, requests } = sampling;
  if (user % everyUser !== 0) return () => false;
  let last = -1;
  let sampled = 0;
  return (arrival: number) => {
    const part = Math.floor((arrival - start) / length);
    if (part !== last) sampled = 0;
    last = part;
    return sampled++ < requests;
  };
}

/** The samples of what a user has kept. A cell is `part * kinds + kind`, or `half * kinds + kind`; some are holes. */
class Report {
  private readonly phase: string;
  private readonly kinds: number;

  constructor(phase: string, kinds: number) {
    this.phase = phase;
    this.kinds = kinds;
  }

  send(kept: { arrivals: number[]; completions: number[]; answers: number[][]; forms: number[] }): void {
    for (const [cell, answers = []] of kept.answers.entries()) {
      const tags = this.tags('part', cell, 0);
      for (const took of answers) metrics.answer.add(took, tags);
    }
    this.count(metrics.arrivals, kept.arrivals);
    this.count(metrics.completions, kept.completions);
    for (const code of kept.forms) metrics.form.add(code, { phase: this.phase });
  }

  private count(counter: Counter, counts: number[]): void {
    for (const [cell, n = 0] of counts.entries()) if (n > 0) counter.add(n, this.tags('half', cell, 1));
  }

  private tags(name: 'part' | 'half', cell: number, first: number): Record<string, string> {
    const tags = { phase: this.phase, [name]: String(first + Math.floor(cell / this.kinds)) };
    return this.kinds > 1 ? { ...tags, kind: String(cell % this.kinds) } : tags;
  }
}
