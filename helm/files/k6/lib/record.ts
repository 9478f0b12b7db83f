// The document of a block, from k6's summary.
import { type Details, makeDetails } from './answer_record.ts';
import type { Input } from './input.ts';
import * as metrics from './metrics.ts';
import { type Latency, latencies, round } from './percentiles.ts';
import type { Kind, Phase } from './phase.ts';
import type { Plan } from './plan.ts';
import { type Script, thresholdResults } from './scripts.ts';
import { type Counts, checks, requests, type Summary } from './summary.ts';

export interface Document {
  version: 2;
  experiment: string;
  run_id: string;
  block: number;
  order: string[];
  /** False where users disagreed about when a phase began: the generator stalled. */
  agreed: boolean;
  warmup: TrialRecord[];
  single: TrialRecord[];
  typical: TrialRecord[];
  light: TrialRecord[];
  trials: TrialRecord[];
  /**
   * Thresholds of a user's script by variant, metric and condition: whether each holds over the windows of the trials.
   */
  thresholds?: Record<string, Record<string, Record<string, boolean>>>;
}

export interface TrialRecord extends Details {
  variant: string;
  phase: Kind;
  position: number;
  /**
   * Milliseconds since the epoch: the phase's beginning, its window [start, end), its last completion (of an idle
   * phase: its end).
   */
  begin: number;
  start: number;
  end: number;
  drained: number;
  users: number;
  /** Arrivals per second of an open load; null for a closed one. */
  rate: number | null;
  /** Requests of the whole phase. */
  started: number;
  /** Requests that were answered, failed, or given up. */
  completed: number;
  /** OK answers that were completed in the window. */
  ok: number;
  failed: Record<string, number>;
  failed_outside: number;
  /** Completed requests that had no answer when the window ended, and were not waited for. */
  given_up: number;
  /**
   * OK requests per second of the window, in general those completed in it. Under a closed load whose rounds are as the
   * experiment says, and whose latencies are alike, a request counts by the part of its time that lies in the window.
   * That comes to the same on average. But a pause of the service at one of its edges moves whole requests to the other
   * side, and hardly changes their parts.
   */
  throughput: number;
  by_parts: boolean;
  /** Seconds of the OK requests completed in the window. None where it was not yet steady. */
  latency: Latency;
  /**
   * Arrivals of an open load whose user was still busy, over the whole phase: an answer took longer than users / rate,
   * about.
   */
  dropped: number;
  /** Seconds by which the generator was late at most. */
  late_max: number;
  /** Arrivals of an open load that were sent 20 ms late and more, over the whole phase. */
  late_arrivals: number;
  /** Requests at the window's edges; under an open load from when an arrival was due, without those dropped. */
  in_flight: { start: number; end: number };
  /**
   * Users of a closed load who waited for no answer, mean of the window: they think, or k6 is at work for them. Null
   * for an open load, and where the number of requests ends the phase.
   */
  between: number | null;
  /** Checks and requests of a user's script, in iterations that began in the window. */
  checks?: Counts;
  requests?: Counts;
}

type Value = (name: string, key: string) => number;

/** The workload as far as the document tells of it: the names and shares of its kinds, and a user's script. */
export interface Workload {
  kinds: string[];
  shares: number[];
  script?: Script | undefined;
}

export function makeDocument(input: Input, { phases }: Plan, summary: Summary, workload: Workload): Document {
  const { script } = workload;
  const sent = { ...workload, isScript: script !== undefined };
  const value: Value = (name, key) => summary.metrics[name]?.values[key] ?? 0;
  // After an interruption there are phases that never began: they have no record.
  const begun = phases.filter((phase) => value(metrics.part(metrics.begin, phase), 'max') > 0);
  const records = begun.map((phase) => ({
    ...makeRecord(phase, value),
    ...(script ? scriptCounts(phase, summary) : {}),
    ...makeDetails(phase, sent, summary),
  }));
  const recordsOf = (kind: Kind) => records.filter((record) => record.phase === kind);
  return {
    version: 2,
    experiment: input.experiment.name,
    run_id: input.runId,
    block: input.block,
    order: input.order,
    agreed: begun.every((phase) => {
      const name = metrics.part(metrics.begin, phase);
      return value(name, 'min') === value(name, 'max');
    }),
    warmup: recordsOf('warmup'),
    single: recordsOf('single'),
    typical: recordsOf('typical'),
    light: recordsOf('light'),
    trials: recordsOf('measure'),
    ...(script && recordsOf('measure').length > 0 ? { thresholds: scriptThresholds(script, input, summary) } : {}),
  };
}

function scriptCounts(phase: Phase, summary: Summary) {
  const inWindow = (metric: { name: string }) => metrics.part(metric, phase, `,phase:${phase.kind}`);
  return {
    checks: checks(summary, inWindow(metrics.scriptChecks)),
    requests: requests(summary, inWindow(metrics.scriptRequests)),
  };
}

function scriptThresholds(script: Script, { order }: Input, summary: Summary) {
  const isMet = (name: string, condition: string) => summary.metrics[name]?.thresholds?.[condition]?.ok ?? false;
  return thresholdResults(script, [...new Set(order)], isMet);
}

/**
 * Latencies are alike where nine in ten are no longer than so many times the median (as in
 * vtlab.analysis.validity.littles_law), and a round is as planned where it is off by no more than that share.
 */
const [ALIKE, AS_PLANNED] = [1.2, 0.1];

function makeRecord(phase: Phase, value: Value): TrialRecord {
  const count = (metric: { name: string }, more = '') => value(metrics.part(metric, phase, more), 'count');
  const latency = (key: string) => value(metrics.part(metrics.latency, phase, `,phase:${phase.kind}`), key);
  const { begin, start, end, last, endsWithAnswer } = windowOf(phase, value);
  const isCounted = phase.rate === undefined && !endsWithAnswer && phase.requests === undefined && end > start;
  const ok = latency('count');
  const isByParts = countsByParts(phase, latency);
  return {
    variant: phase.variant,
    phase: phase.kind,
    position: phase.position,
    begin,
    start,
    end,
    drained: phase.rate === 0 ? end : last,
    users: phase.users,
    rate: phase.rate ?? null,
    started: count(metrics.started),
    completed: count(metrics.completed),
    ok,
    failed: failures(count),
    failed_outside: count(metrics.failedOutside),
    given_up: count(metrics.givenUp),
    throughput: round((1000 * (isByParts ? count(metrics.answered) : ok)) / (end - start)),
    by_parts: isByParts,
    latency: latencies(phase.isLatencySteady === false ? 0 : ok, (key) => round(latency(key) / 1000)),
    dropped: count(metrics.dropped),
    late_max: round(value(metrics.part(metrics.late, phase), 'max') / 1000),
    late_arrivals: count(metrics.lateArrivals),
    in_flight: { start: count(metrics.inFlightStart), end: count(metrics.inFlightEnd) },
    between: isCounted ? round(count(metrics.between) / (end - start)) : null,
  };
}

/** Returns when a phase began, its window, and its last completion. */
function windowOf(phase: Phase, value: Value) {
  const begin = value(metrics.part(metrics.begin, phase), 'min');
  const start = begin + phase.start;
  const last = Math.round(value(metrics.part(metrics.drained, phase), 'max'));
  // The window of a single user, and of so many requests, ends with the last answer.
  const endsWithAnswer = phase.kind === 'single' || (phase.requests !== undefined && last < begin + phase.end);
  const end = endsWithAnswer && last > start ? last : begin + phase.end;
  return { begin, start, end, last, endsWithAnswer };
}

/**
 * Tells whether requests count by their parts in the window. Of latencies that differ the long ones are missing at
 * first, and where requests share what serves them the last ones are too short: parts would be too many.
 */
function countsByParts(phase: Phase, latency: (key: string) => number): boolean {
  const planned = phase.partsOfRound ?? Number.NaN;
  const isAsPlanned = Math.abs(latency('avg') + phase.thinkTime - planned) <= AS_PLANNED * planned;
  const areAlike = latency('count') > 0 && latency('p(90)') <= ALIKE * latency('med');
  return phase.waitForAnswers && isAsPlanned && areAlike;
}

function failures(count: (metric: { name: string }, more: string) => number): Record<string, number> {
  const failed: Record<string, number> = {};
  for (const reason of metrics.REASONS) {
    const n = count(metrics.failed, `,reason:${reason}`);
    if (n > 0) failed[reason] = n;
  }
  return failed;
}
