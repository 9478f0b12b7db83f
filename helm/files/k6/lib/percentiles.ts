// Statistics of a trial. Pure: no k6 in here.

/** The statistics that k6 has to keep of every trend. */
export const SUMMARY_STATISTICS = ['count', 'avg', 'med', 'p(90)', 'p(95)', 'p(99)', 'p(99.9)', 'max'];

export type Percentiles = Record<'p50' | 'p90' | 'p95' | 'p99' | 'p99_9', number | null>;

/** Seconds of OK answers. */
export type Latency = { count: number; mean: number | null; max: number | null } & Percentiles;

/** The number of samples that a percentile needs beyond it. */
const BEYOND = 10;

/** Returns the percentiles; null where too few of the `count` samples lie beyond one. */
export function windowPercentiles(count: number, value: (key: string) => number): Percentiles {
  const at = (perMille: number, key: string) => (beyond(count, perMille) >= BEYOND ? value(key) : null);
  return {
    p50: at(500, 'med'),
    p90: at(900, 'p(90)'),
    p95: at(950, 'p(95)'),
    p99: at(990, 'p(99)'),
    p99_9: at(999, 'p(99.9)'),
  };
}

/** Returns what is told of so many samples. */
export function latencies(count: number, seconds: (key: string) => number): Latency {
  return {
    count,
    mean: count > 0 ? seconds('avg') : null,
    ...windowPercentiles(count, seconds),
    max: count > 0 ? seconds('max') : null,
  };
}

/** Counts the samples beyond a percentile: k6 interpolates at rank p (count - 1) of the sorted samples, from 0. */
export function beyond(count: number, perMille: number): number {
  return Math.max(0, count - 1 - Math.floor((perMille * (count - 1)) / 1000));
}

export function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Rounds to a millionth: a microsecond where it is seconds. */
export function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
