// The lab's own metrics, beside k6's http_* metrics.
//
// Tags: `variant`, `trial` and `phase` are set on the user, `testid`, `experiment` and `block` on the run. In a trial,
// `phase` is `ramp` before the window, `measure` in it and `drain` after it (`warmup` or `single` for the window of the
// other kinds); what describes a whole phase has its kind. k6's own samples carry the phase in which their request
// started, `trial_latency` and `trial_failed` the one in which it completed.
import { Counter, Gauge, Trend } from 'k6/metrics';
import type { Phase } from './phase.ts';

export const latency = new Trend('trial_latency', true);
/** OK answers to a closed load, each as the part of its time that lies in the window. */
export const answered = new Counter('trial_answered');
/** Milliseconds of the window in which users of a closed load waited for no answer: they think, or k6 is at work. */
export const between = new Counter('trial_between');
export const started = new Counter('trial_started');
export const completed = new Counter('trial_completed');
export const failed = new Counter('trial_failed');
export const failedOutside = new Counter('trial_failed_outside');
export const givenUp = new Counter('trial_given_up');
export const dropped = new Counter('trial_dropped');
export const inFlightStart = new Counter('trial_in_flight_start');
export const inFlightEnd = new Counter('trial_in_flight_end');
export const begin = new Gauge('trial_begin');
export const drained = new Gauge('trial_drained');
export const late = new Gauge('trial_late', true);
export const lateArrivals = new Counter('trial_late_arrivals');
// What a phase is to be, recorded once at its beginning by the first user. Times are milliseconds, the window's since
// the
// epoch; `trial_rate` is there for open load only.
export const windowStart = new Gauge('trial_window_start');
export const windowEnd = new Gauge('trial_window_end');
export const users = new Gauge('trial_users');
export const rate = new Gauge('trial_rate');
export const thinkTime = new Gauge('trial_think_time');

/** Every reason that a summary can tell apart; a status not listed here counts as `other`. */
export const REASONS = [
  'timeout',
  'connection',
  'login',
  'body',
  'other',
  ...statuses().map((status) => `status-${status}`),
];

/** Returns the name under which the summary holds a metric's part of one phase. */
export function part(metric: { name: string }, phase: Phase, more = ''): string {
  return `${metric.name}{trial:${phase.trial}${more}}`;
}

/** Metrics of k6 for what a user's script checks and asks for, by when an iteration began. */
export const scriptChecks = { name: 'checks' };
export const scriptRequests = { name: 'http_req_failed' };

/** Returns thresholds that hold always: k6 keeps a part of a metric only if one asks for it. */
export function thresholds(phases: Phase[], isScript = false): Record<string, string[]> {
  const all: Record<string, string[]> = {};
  for (const phase of phases) {
    if (isScript) {
      for (const metric of [scriptChecks, scriptRequests])
        all[part(metric, phase, `,phase:${phase.kind}`)] = ['rate>=0'];
    }
    // latency of OK requests that completed in the window
    all[part(latency, phase, `,phase:${phase.kind}`)] = ['max>=0'];
    // requests of the whole phase, and what the edges of the window cut
    for (const metric of [
      answered,
      between,
      started,
      completed,
      failedOutside,
      givenUp,
      dropped,
      inFlightStart,
      inFlightEnd,
      lateArrivals,
    ]) {
      all[part(metric, phase)] = ['count>=0'];
    }
    // failures that completed in the window, by reason
    for (const reason of REASONS) all[part(failed, phase, `,reason:${reason}`)] = ['count>=0'];
    // when the phase began, when its last request completed, how late the generator was at most
    for (const metric of [begin, drained, late]) all[part(metric, phase)] = ['value>=0'];
  }
  return all;
}

function statuses(): number[] {
  const ranges: [number, number][] = [
    [200, 206],
    [300, 308],
    [400, 418],
    [421, 431],
    [451, 451],
    [500, 511],
  ];
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => from + i));
}
