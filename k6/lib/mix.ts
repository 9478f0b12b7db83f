// The choice of the next request, and of a row of the data. Pure: no k6 in here.
import { type Random, random } from './random.ts';

/** Draws positions in proportion to the weights. One alone is not drawn. */
export function drawn(weights: number[], draw: Random): () => number {
  if (weights.length === 1) return () => 0;
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return () => {
    let left = draw() * total;
    const chosen = weights.findIndex((weight) => {
      left -= weight;
      return left < 0;
    });
    // Rounding may leave a rest.
    return chosen === -1 ? weights.length - 1 : chosen;
  };
}

/**
 * Chooses positions so that each has its share of any number of choices, by one at most: the next one is what lacks most
 * of its weight. A user who is alone has too few requests for a draw.
 */
export function stratified(weights: number[]): () => number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const lacking = weights.map(() => 0);
  return () => {
    for (const [i, weight] of weights.entries()) lacking[i] = (lacking[i] as number) + weight;
    const chosen = lacking.indexOf(Math.max(...lacking));
    lacking[chosen] = (lacking[chosen] as number) - total;
    return chosen;
  };
}

/**
 * Returns what chooses a user's requests, or tasks, in a phase: the same for each variant, another in each of its phases.
 * Of single users the choice goes on from one phase to the next.
 */
export class Choices {
  private readonly weights: number[];
  private readonly seed: string;
  private readonly purpose: string;
  private readonly alone: Record<string, () => number> = {};

  constructor(weights: number[], seed: string, purpose: string) {
    this.weights = weights;
    this.seed = seed;
    this.purpose = purpose;
  }

  of({ kind, turn, variant }: { kind: string; turn: number; variant: string }, user: number): () => number {
    if (kind !== 'single') return drawn(this.weights, random(this.seed, `${this.purpose} ${kind} ${turn}`, user));
    this.alone[variant] ??= stratified(this.weights);
    return this.alone[variant];
  }
}

/**
 * The rows of the data, by variant: all users together go through them in turn, from one phase to the next. Each variant
 * has read other rows before, and a cache of its own.
 */
export class Rows {
  private readonly count: number;
  /** Rows that earlier calls of k6 took, by variant. */
  private readonly before: Record<string, number>;
  private readonly following: Record<string, number> = {};

  constructor(count: number, before: Record<string, number>) {
    this.count = count;
    this.before = before;
  }

  /** Begins a phase before which all users together have taken so many rows in this call. */
  begin(variant: string, taken: number, user: number): void {
    this.following[variant] = (this.before[variant] ?? 0) + taken + user;
  }

  /**
   * Returns the next row of one of so many users, who share no state: each takes every `users`-th. One that joins in a
   * later phase cannot know what the others have taken: their number stays the same, or the plan knows it (`begin`).
   */
  next(variant: string, user: number, users: number): number {
    const row = this.following[variant] ?? (this.before[variant] ?? 0) + user;
    this.following[variant] = row + users;
    return row % this.count;
  }
}
