// One user's share of what a window tells beside its totals: answers by part and kind, both halves, a sample of bodies.
import * as metrics from './metrics.ts';
import type { Phase } from './phase.ts';

/** Times are milliseconds since the phase began; what lies outside the window is left out. */
export class UserWindow {
  private readonly phase: Phase;
  private readonly user: number;
  private readonly hasKinds: boolean;
  /** Arrivals and completions by half, then by kind. */
  private readonly arrivals: number[][] = [[], []];
  private readonly completions: number[][] = [[], []];
  /** Arrivals of this user so far, those dropped included. */
  private arrived = 0;
  private part = -1;
  private sampled = 0;

  constructor(phase: Phase, user: number, hasKinds: boolean) {
    this.phase = phase;
    this.user = user;
    this.hasKinds = hasKinds;
  }

  /** Tells whether to sample the answer to the next request, which was due, under closed load sent, at that time. */
  samples(time: number): boolean {
    const { parts, users } = this.phase;
    if (!parts || !this.holds(time)) return false;
    const { length, sampling } = parts;
    if ('everyArrival' in sampling) return (this.user + this.arrived * users) % sampling.everyArrival === 0;
    if (this.user % sampling.everyUser !== 0) return false;
    const part = this.partAt(time, length);
    if (part !== this.part) this.sampled = 0;
    this.part = part;
    return this.sampled++ < sampling.requests;
  }

  /** Counts an iteration that was due, under closed load sent. */
  arrive(time: number, kind: number): void {
    this.arrived++;
    this.count(this.arrivals, time, kind);
  }

  complete(time: number, kind: number): void {
    this.count(this.completions, time, kind);
  }

  /** Records an OK answer. */
  answer(time: number, took: number, kind: number): void {
    const { parts, kind: phase } = this.phase;
    if (!parts || !this.holds(time)) return;
    const part = String(this.partAt(time, parts.length));
    metrics.answer.add(took, this.hasKinds ? { phase, part, kind: String(kind) } : { phase, part });
  }

  report(): void {
    for (const [counter, halves] of [
      [metrics.arrivals, this.arrivals],
      [metrics.completions, this.completions],
    ] as const) {
      for (const [half, kinds] of halves.entries()) {
        // Kinds that never came are holes.
        for (const [kind, n = 0] of kinds.entries()) if (n > 0) counter.add(n, this.tags(half + 1, kind));
      }
    }
  }

  private tags(half: number, kind: number): Record<string, string> {
    const tags = { phase: this.phase.kind, half: String(half) };
    return this.hasKinds ? { ...tags, kind: String(kind) } : tags;
  }

  private count(halves: number[][], time: number, kind: number): void {
    const { parts, start, end } = this.phase;
    if (!parts || !this.holds(time)) return;
    const half = halves[time < (start + end) / 2 ? 0 : 1] as number[];
    half[kind] = (half[kind] ?? 0) + 1;
  }

  private holds(time: number): boolean {
    return time >= this.phase.start && time < this.phase.end;
  }

  private partAt(time: number, length: number): number {
    return Math.floor((time - this.phase.start) / length);
  }
}
