// Histograms of latency: buckets of equal width on a log axis, so those of several windows add up. Pure: no k6 in here.
import { BUCKETS_PER_DECADE } from './constants.ts';

/** Bucket b holds [10^(b/100), 10^((b+1)/100)) microseconds; the first one whatever is shorter, too. */
export interface Histogram {
  /** Number of the first bucket that is not empty. */
  first: number;
  /** From there to the last one that is not empty. */
  counts: number[];
  /** False where some values were read off between quantiles. */
  is_exact: boolean;
}

/** Rounding must not move an edge, such as a millisecond, into the bucket before. */
const ROUNDING = 1e-9;

/** Returns the number of a bucket. */
export function bucket(ms: number): number {
  return Math.max(0, Math.floor(BUCKETS_PER_DECADE * Math.log10(1000 * ms) + ROUNDING));
}

export function histogram(values: number[], isExact: boolean): Histogram {
  const buckets = values.map(bucket);
  if (buckets.length === 0) return { first: 0, counts: [], is_exact: isExact };
  const first = buckets.reduce((least, b) => Math.min(least, b));
  const last = buckets.reduce((most, b) => Math.max(most, b));
  const counts = new Array<number>(last - first + 1).fill(0);
  for (const b of buckets) counts[b - first] = (counts[b - first] as number) + 1;
  return { first, counts, is_exact: isExact };
}
