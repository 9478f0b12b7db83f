// The values of a Trend, from its quantiles: k6 hands over nothing else of it. Pure: no k6 in here.
import { SUMMARY_STATISTICS } from './percentiles.ts';

/** Steps between the quantiles, from the least value to the largest. */
const STEPS = 1000;

/** Returns the names of the quantiles, `p(0)`, `p(0.1)` … `p(100)`. No constant: each of a thousand users would have it. */
export function gridNames(): string[] {
  return Array.from({ length: STEPS + 1 }, (_, g) => `p(${(100 * g) / STEPS})`);
}

/** The values of a Trend in rising order, and whether these are exactly the ones that were added. */
export interface Values {
  values: number[];
  isExact: boolean;
}

/** Returns the statistics that k6 has to keep of every Trend. */
export function statistics(isDetailed: boolean): string[] {
  return isDetailed ? [...new Set([...SUMMARY_STATISTICS, ...gridNames()])] : SUMMARY_STATISTICS;
}

/**
 * Returns the values of a Trend. k6 interpolates between two of n values at rank p (n - 1). Where no more than 500 steps
 * lie between the least and the largest, two quantiles at least fall on the line between two neighbours, and tell both.
 * More values are read off between the quantiles: each is then at most half a step of rank away from its place.
 */
export function valuesOf(quantiles: Record<string, number>): Values {
  const n = quantiles.count ?? 0;
  if (n === 0) return { values: [], isExact: true };
  // One by one: each key is fetched from k6.
  const grid = gridNames().map((name) => quantiles[name] as number);
  if (n === 1) return { values: [grid[0] as number], isExact: true };
  if (2 * (n - 1) > STEPS) return { values: Array.from({ length: n }, (_, j) => readOff(grid, j, n)), isExact: false };
  const lines = Array.from({ length: n - 1 }, (_, j) => line(grid, j, n));
  const values = Array.from({ length: n }, (_, j) => {
    const [before, after] = [lines[j - 1], lines[j]];
    // The one whose quantiles lie further apart is surer.
    return before && (!after || before.span > after.span) ? before.end : (after as Line).start;
  });
  return { values, isExact: true };
}

interface Line {
  start: number;
  end: number;
  span: number;
}

/** Returns the line from the j-th value to the next, through the outermost two quantiles on it. */
function line(grid: number[], j: number, n: number): Line {
  const first = Math.ceil((STEPS * j) / (n - 1));
  const last = Math.floor((STEPS * (j + 1)) / (n - 1));
  const [low, high] = [grid[first] as number, grid[last] as number];
  const [from, to] = [(first * (n - 1)) / STEPS, (last * (n - 1)) / STEPS];
  const slope = (high - low) / (to - from);
  return { start: low - slope * (from - j), end: high + slope * (j + 1 - to), span: last - first };
}

/** Returns the value of rank j, between the two quantiles beside it. */
function readOff(grid: number[], j: number, n: number): number {
  const step = (STEPS * j) / (n - 1);
  const below = grid[Math.floor(step)] as number;
  return below + ((grid[Math.ceil(step)] as number) - below) * (step % 1);
}
