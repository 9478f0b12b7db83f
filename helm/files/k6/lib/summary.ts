// k6's summary at the end of a test, and what is counted in it. Pure: no k6 in here.

export interface Summary {
  metrics: Record<string, { values: Record<string, number>; thresholds?: Record<string, { ok: boolean }> } | undefined>;
  setup_data?: unknown;
}

export interface Counts {
  passed: number;
  failed: number;
}

/** Counts a part of k6's `checks`. */
export function checks(summary: Summary, name: string): Counts {
  const { passes = 0, fails = 0 } = summary.metrics[name]?.values ?? {};
  return { passed: passes, failed: fails };
}

/** Counts a part of k6's `http_req_failed`, where a failed request passes. */
export function requests(summary: Summary, name: string): Counts {
  const { passes = 0, fails = 0 } = summary.metrics[name]?.values ?? {};
  return { passed: fails, failed: passes };
}
