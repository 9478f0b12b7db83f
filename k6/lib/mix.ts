// The choice of the next request, and of a row of the data. Pure: no k6 in here.
import type { Random } from './random.ts';

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

/** Returns the row for a user's n-th iteration, from 0: all users together go through the rows in turn. */
export function rowOf(user: number, users: number, n: number, rows: number): number {
  return (user + n * users) % rows;
}
