// One user's share of what a window tells beside its totals: answers by part and kind, both halves, a sample of bodies.
import * as metrics from './metrics.ts';
import type { Phase } from './phase.ts';

/**
 * Times are milliseconds since the phase began; what lies outside the window is left out. Everything is kept until the
 * user has done its part, and reported then: a sample costs k6 more than anything else here, and would cost it within the
 * window.
 */
export class UserWindow {
  private readonly phase: Phase;
  private readonly user: number;
  private readonly kinds: number;
  /** The window; of one without details nothing lies in it. */
  private readonly start: number;
  private readonly end: number;
  private readonly middle: number;
  /** Milliseconds of a part. */
  private readonly length: number;
  /** Arrivals and completions by half and kind, the times of answers by part and kind: `half * kinds + kind`. */
  private readonly arrivals: number[] = [];
  private readonly completions: number[] = [];
  private readonly answers: number[][] = [];
  private readonly forms: number[] = [];
  /** Arrivals of this user so far, those dropped included. */
  private arrived = 0;
  private part = -1;
  private sampled = 0;

  constructor(phase: Phase, user: number, kinds: number) {
    const { parts, start, end } = phase;
    this.phase = phase;
    this.user = user;
    this.kinds = kinds;
    this.start = parts ? start : Number.POSITIVE_INFINITY;
    this.end = end;
    this.middle = (start + end) / 2;
    this.length = parts?.length ?? 1;
  }

  /** Tells whether to sample the answer to the next request, which was due, under closed load sent, at that time. */
  samples(time: number): boolean {
    const { parts, users } = this.phase;
    if (!parts || !this.holds(time)) return false;
    const { sampling } = parts;
    if ('everyArrival' in sampling) return (this.user + this.arrived * users) % sampling.everyArrival === 0;
    if (this.user % sampling.everyUser !== 0) return false;
    const part = this.partAt(time);
    if (part !== this.part) this.sampled = 0;
    this.part = part;
    return this.sampled++ < sampling.requests;
  }

  /** Counts an iteration that was due, under closed load sent. */
  arrive(time: number, kind: number): void {
    this.arrived++;
    if (this.holds(time)) this.count(this.arrivals, time, kind);
  }

  complete(time: number, kind: number): void {
    if (this.holds(time)) this.count(this.completions, time, kind);
  }

  /** Keeps an OK answer. */
  answer(time: number, took: number, kind: number): void {
    if (!this.holds(time)) return;
    const place = this.partAt(time) * this.kinds + kind;
    const answers = this.answers[place];
    if (answers) answers.push(took);
    else this.answers[place] = [took];
  }

  /** Keeps the form of a sampled answer. */
  form(code: number): void {
    this.forms.push(code);
  }

  report(): void {
    const phase = this.phase.kind;
    // Places where nothing came are holes.
    for (const [place, answers = []] of this.answers.entries()) {
      const tags = this.tags('part', place, 0);
      for (const took of answers) metrics.answer.add(took, tags);
    }
    for (const code of this.forms) metrics.form.add(code, { phase });
    for (const [place, n = 0] of this.arrivals.entries())
      if (n > 0) metrics.arrivals.add(n, this.tags('half', place, 1));
    for (const [place, n = 0] of this.completions.entries()) {
      if (n > 0) metrics.completions.add(n, this.tags('half', place, 1));
    }
  }

  private tags(name: 'part' | 'half', place: number, first: number): Record<string, string> {
    const tags = { phase: this.phase.kind, [name]: String(first + Math.floor(place / this.kinds)) };
    return this.kinds > 1 ? { ...tags, kind: String(place % this.kinds) } : tags;
  }

  private count(counts: number[], time: number, kind: number): void {
    const place = (time < this.middle ? 0 : this.kinds) + kind;
    counts[place] = (counts[place] ?? 0) + 1;
  }

  private holds(time: number): boolean {
    return time >= this.start && time < this.end;
  }

  private partAt(time: number): number {
    return Math.floor((time - this.start) / this.length);
  }
}
