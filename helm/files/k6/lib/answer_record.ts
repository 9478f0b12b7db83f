// What the document tells of the answers in a window, and of the probes beside them, from k6's summary.
import { decodeForm, decodeSlot, MOST_SLOTS } from './codes.ts';
import { PROBE_INTERVAL } from './constants.ts';
import { type Histogram, histogram } from './histogram.ts';
import * as metrics from './metrics.ts';
import { type Latency, latencies, round, windowPercentiles } from './percentiles.ts';
import type { Phase } from './phase.ts';
import { type Values, valuesOf } from './quantiles.ts';
import type { Summary } from './summary.ts';

/** Counts of the first and of the second half of a window. */
type Pair = [number, number];

interface Halves {
  /** Due, with those dropped; under closed load sent. */
  arrived: Pair;
  /** Answered, failed or timed out. */
  completed: Pair;
}

/** One kind of requests of a mix, or one scenario of a script. */
interface KindRecord {
  name: string;
  failed: number;
  halves: Halves;
  /** Its `count` are the OK answers of the kind, also where the latency was not steady. */
  latency: Latency;
}

/** Kind, least length of its class, shape, and the answers of that form. */
type FormRow = [number, number, string, number];

/** Milliseconds by percentile; null where too few answers lie beyond one. */
type Limits = Record<'p50' | 'p90' | 'p95' | 'p99', number | null>;

export interface AnswersRecord {
  /** Seconds of a script's HTTP answers; null of requests, whose record has it. */
  latency: Latency | null;
  histogram: Histogram;
  /** OK answers of each part, and how many of them took longer than the percentiles of the whole window. */
  parts: { seconds: number; ok: number[]; above: Partial<Record<keyof Limits, number[]>> };
  halves: Halves;
  /** Empty where there is one kind. */
  kinds: KindRecord[];
  /** Forms of the sampled answers, the most frequent first; null where no body was read. */
  forms: { rows: FormRow[]; others: number } | null;
}

export interface ProbeRecord {
  /** Due in the window, and sent. */
  sent: number;
  /** Due while too many were unanswered. */
  skipped: number;
  /** Answered 200 to 299. */
  healthy: number;
  /** Timed out, refused or cut; or given up after more than a second. */
  unanswered: number;
  /** Took over a second, or unanswered. */
  over_second: number;
  longest: number | null;
  /** Seconds by slot from the window's beginning; null where none was sent. */
  times: (number | null)[];
}

/** One kind of the OK iterations of a single user: its share of all that users send, and the mean in seconds. */
export interface AloneRecord {
  name: string;
  share: number;
  ok: number;
  mean: number | null;
}

/** Part of a record that only trials and phases of typical load have; `kinds`: of single users of a mix. */
export interface Details {
  answers?: AnswersRecord;
  probe?: ProbeRecord;
  kinds?: AloneRecord[];
}

/** Rows of forms that are told one by one. */
const MOST_FORMS = 24;
/** Milliseconds by which a value that was found from quantiles may be off: less than lies between two answers. */
const ROUNDING = 1e-7;

/** Kinds of requests that users send: their names, and their shares. */
interface Sent {
  kinds: string[];
  shares: number[];
  isScript: boolean;
}

/** Returns what is told of a phase that has parts, or probes. */
export function makeDetails(phase: Phase, { kinds, shares, isScript }: Sent, summary: Summary): Details {
  const reader = new Reader(phase, summary);
  const isAloneWithKinds = phase.kind === 'single' && kinds.length > 1;
  return {
    ...(isAloneWithKinds ? { kinds: kinds.map((name, kind) => reader.alone(name, shares[kind] as number, kind)) } : {}),
    ...(phase.parts ? { answers: reader.answers(kinds, isScript, phase.parts) } : {}),
    ...(phase.probe && phase.kind !== 'warmup' ? { probe: reader.probe() } : {}),
  };
}

/** Reads the parts of one phase. */
class Reader {
  private readonly phase: Phase;
  private readonly summary: Summary;

  constructor(phase: Phase, summary: Summary) {
    this.phase = phase;
    this.summary = summary;
  }

  answers(kinds: string[], isScript: boolean, { count, length }: NonNullable<Phase['parts']>): AnswersRecord {
    const parts = Array.from({ length: count }, (_, i) => this.values(metrics.answer, `,part:${i}`));
    const all = parts.flatMap(({ values }) => values);
    const limits = isScript
      ? this.limits(metrics.answer, '')
      : this.limits(metrics.latency, `,phase:${this.phase.kind}`);
    return {
      latency: isScript ? this.latency('') : null,
      histogram: histogram(
        all,
        parts.every(({ isExact }) => isExact),
      ),
      parts: { seconds: length / 1000, ok: parts.map(({ values }) => values.length), above: above(parts, limits) },
      halves: this.halves(''),
      kinds: kinds.length > 1 ? kinds.map((name, kind) => this.kind(name, `,kind:${kind}`)) : [],
      forms: forms(this.values(metrics.form, '')),
    };
  }

  probe(): ProbeRecord {
    const { start, end } = this.phase;
    const slots = Math.min(MOST_SLOTS, Math.ceil((end - start) / PROBE_INTERVAL));
    const times = new Array<number | null>(slots).fill(null);
    for (const code of this.values(metrics.probeSlot, '').values) {
      const { slot, seconds } = decodeSlot(Math.round(code));
      times[slot] = seconds;
    }
    const sent = this.count(metrics.probeSent);
    return {
      sent,
      skipped: this.count(metrics.probeSkipped),
      healthy: this.count(metrics.probeHealthy),
      unanswered: this.count(metrics.probeUnanswered),
      over_second: this.count(metrics.probeSlow),
      longest: sent > 0 ? round(this.value(metrics.probe, '', 'max') / 1000) : null,
      times,
    };
  }

  alone(name: string, share: number, kind: number): AloneRecord {
    const { count: ok, mean } = this.latency(`,kind:${kind}`);
    return { name, share: round(share), ok, mean };
  }

  private kind(name: string, more: string): KindRecord {
    const { count } = this.latency(more);
    const latency = this.phase.isLatencySteady === false ? latencies(0, () => 0) : this.latency(more);
    return {
      name,
      failed: this.count(metrics.failed, more),
      halves: this.halves(more),
      latency: { ...latency, count },
    };
  }

  private halves(more: string): Halves {
    const both = (metric: { name: string }): Pair => [
      this.count(metric, `,half:1${more}`),
      this.count(metric, `,half:2${more}`),
    ];
    return { arrived: both(metrics.arrivals), completed: both(metrics.completions) };
  }

  private latency(more: string): Latency {
    const count = this.value(metrics.answer, more, 'count');
    return latencies(count, (key) => round(this.value(metrics.answer, more, key) / 1000));
  }

  /** Returns the percentiles that are told of the window. */
  private limits(metric: { name: string }, more: string): Limits {
    const count = this.phase.isLatencySteady === false ? 0 : this.value(metric, more, 'count');
    return windowPercentiles(count, (key) => this.value(metric, more, key));
  }

  private values(metric: { name: string }, more: string): Values {
    return valuesOf(this.summary.metrics[metrics.part(metric, this.phase, more)]?.values ?? {});
  }

  private count(metric: { name: string }, more = ''): number {
    return this.value(metric, more, 'count');
  }

  private value(metric: { name: string }, more: string, key: string): number {
    return this.summary.metrics[metrics.part(metric, this.phase, more)]?.values[key] ?? 0;
  }
}

function above(parts: Values[], limits: Limits): AnswersRecord['parts']['above'] {
  const counts: AnswersRecord['parts']['above'] = {};
  for (const name of ['p50', 'p90', 'p95', 'p99'] as const) {
    const limit = limits[name];
    if (limit === null) continue;
    counts[name] = parts.map(({ values }) => values.filter((value) => value > limit + ROUNDING).length);
  }
  return counts;
}

/** Counts equal forms; those of more answers than can be told apart would be nonsense. */
function forms({ values: codes, isExact }: Values): AnswersRecord['forms'] {
  if (codes.length === 0 || !isExact) return null;
  const counts = new Map<number, number>();
  for (const code of codes.map(Math.round)) counts.set(code, (counts.get(code) ?? 0) + 1);
  const sorted = [...counts].sort(([a, n], [b, m]) => m - n || a - b);
  return {
    rows: sorted.slice(0, MOST_FORMS).map(([code, n]): FormRow => {
      const { kind, length, shape } = decodeForm(code);
      return [kind, length, shape, n];
    }),
    others: sorted.slice(MOST_FORMS).reduce((sum, [, n]) => sum + n, 0),
  };
}
