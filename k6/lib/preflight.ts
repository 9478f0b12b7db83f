// The pre-flight before a run: each request, or each task of a script, once for each variant. Pure: no k6 in here.
import { type Counts, checks, requests, type Summary } from './summary.ts';

/** The answer to one request. */
export interface Answer {
  request: string;
  /** 0: there was no answer. */
  status: number;
  /** The reason why it failed, if it did. */
  reason: string | null;
  /** A JSON body with types in place of values. */
  shape: unknown;
}

/** The outcome for one variant. */
export interface Findings {
  /** The answers to a workload of requests. */
  answers: Answer[];
  /** A script's requests by origin, as it asked for them, and by the origin that answered; what it threw. */
  asked: Record<string, number>;
  answered: Record<string, number>;
  error: string | null;
}

/** Outcomes by variant. */
export type Preflight = Record<string, Findings & { checks: Counts; requests: Counts }>;

/** Returns thresholds that hold always: k6 keeps a part of a metric only if one asks for it. */
export function preflightThresholds(variants: string[]): Record<string, string[]> {
  const names = variants.flatMap((variant) => [checksOf(variant), requestsOf(variant)]);
  return Object.fromEntries(names.map((name) => [name, ['rate>=0']]));
}

export function preflightDocument(findings: Record<string, Findings>, summary: Summary): { preflight: Preflight } {
  const all = Object.entries(findings).map(([variant, outcome]) => [
    variant,
    { ...outcome, checks: checks(summary, checksOf(variant)), requests: requests(summary, requestsOf(variant)) },
  ]);
  return { preflight: Object.fromEntries(all) };
}

function checksOf(variant: string): string {
  return `checks{variant:${variant}}`;
}

function requestsOf(variant: string): string {
  return `http_req_failed{variant:${variant}}`;
}
