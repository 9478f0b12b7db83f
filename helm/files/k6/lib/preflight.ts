// Before a run: each request, or each task of a script, once for each variant.
import type { Summary } from './record.ts';

/** What one request was answered with. */
export interface Answer {
  request: string;
  /** 0: there was no answer. */
  status: number;
  /** Why it has failed, if it has. */
  reason: string | null;
  /** Of a JSON body: types in place of values. */
  shape: unknown;
}

/** What came of one variant. */
export interface Findings {
  /** Of a workload of requests. */
  answers: Answer[];
  /** Of a script: requests by origin, as it asked for them, and by the origin that answered; what it threw. */
  asked: Record<string, number>;
  answered: Record<string, number>;
  error: string | null;
}

export interface Counts {
  passed: number;
  failed: number;
}

/** By variant. */
export type Preflight = Record<string, Findings & { checks: Counts; requests: Counts }>;

/** k6 keeps a part of a metric only if a threshold asks for it. */
export function preflightThresholds(variants: string[]): Record<string, string[]> {
  const names = variants.flatMap((variant) => [checksOf(variant), requestsOf(variant)]);
  return Object.fromEntries(names.map((name) => [name, ['rate>=0']]));
}

export function preflightDocument(findings: Record<string, Findings>, summary: Summary): { preflight: Preflight } {
  const all = Object.entries(findings).map(([variant, of]) => [
    variant,
    { ...of, checks: checks(summary, checksOf(variant)), requests: requests(summary, requestsOf(variant)) },
  ]);
  return { preflight: Object.fromEntries(all) };
}

/** Of a part of k6's `checks`. */
export function checks(summary: Summary, name: string): Counts {
  const { passes = 0, fails = 0 } = summary.metrics[name]?.values ?? {};
  return { passed: passes, failed: fails };
}

/** Of a part of k6's `http_req_failed`, where a failed request passes. */
export function requests(summary: Summary, name: string): Counts {
  const { passes = 0, fails = 0 } = summary.metrics[name]?.values ?? {};
  return { passed: fails, failed: passes };
}

function checksOf(variant: string): string {
  return `checks{variant:${variant}}`;
}

function requestsOf(variant: string): string {
  return `http_req_failed{variant:${variant}}`;
}
