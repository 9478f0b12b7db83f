// The lab's own metrics, beside k6's http_* metrics.
//
// Tags: `variant`, `trial` and `phase` are set on the user, `testid`, `experiment` and `block` on the run. In a trial,
// `phase` is `ramp` before the window, `measure` in it and `drain` after it (`warmup` or `single` for the window of the
// other kinds); what describes a whole phase has its kind. k6's own samples carry the phase in which their request
// started, `trial_latency` and `trial_failed` the one in which it completed. `part`, `half` and `kind` are numbers. What the
// probe's user sends has no variant, but for its own metrics.
import { Counter, Gauge, Trend } from 'k6/metrics';
import type { Phase } from './phase.ts';

export const latency = new Trend('trial_latency', true);
/**
 * OK answers in a window with details, by the part in which they completed; those of a script are answers of HTTP. Of a
 * single user the iterations, by kind.
 */
export const answer = new Trend('trial_answer', true);
/** Forms of sampled answers (codes.ts). */
export const form = new Trend('trial_form');
/** Iterations of the window that were due or sent, and that completed, by its halves; each user reports them once. */
export const arrivals = new Counter('trial_arrivals');
export const completions = new Counter('trial_completions');
/** Probes that were due in the window, and their slots with the time of each (codes.ts). */
export const probe = new Trend('trial_probe', true);
export const probeSlot = new Trend('trial_probe_slot');
export const probeSent = new Counter('trial_probe_sent');
export const probeSkipped = new Counter('trial_probe_skipped');
export const probeHealthy = new Counter('trial_probe_healthy');
export const probeUnanswered = new Counter('trial_probe_unanswered');
export const probeSlow = new Counter('trial_probe_slow');
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
export function thresholds(phases: Phase[], kinds: string[], isScript: boolean): Record<string, string[]> {
  const all: Record<string, string[]> = {};
  for (const phase of phases) {
    Object.assign(all, detailed(phase, kinds, isScript), probed(phase));
    if (isScript) {
      for (const metric of [scriptChecks, scriptRequests])
        all[part(metric, phase, `,phase:${phase.kind}`)] = ['rate>=0'];
    }
    // latency of OK requests that completed in the window
    all[part(latency, phase, `,phase:${phase.kind}`)] = ['max>=0'];
    if (phase.kind === 'single') for (const more of ofKinds(kinds)) all[part(answer, phase, more)] = ['max>=0'];
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

/** Returns those of a window with details. */
function detailed(phase: Phase, kinds: string[], isScript: boolean): Record<string, string[]> {
  if (!phase.parts) return {};
  const all: Record<string, string[]> = {};
  const tags = Array.from({ length: phase.parts.count }, (_, i) => `,part:${i}`);
  // Of requests `trial_latency` is the whole.
  for (const more of [...tags, ...ofKinds(kinds), ...(isScript ? [''] : [])])
    all[part(answer, phase, more)] = ['max>=0'];
  all[part(form, phase)] = ['max>=0'];
  for (const metric of [arrivals, completions]) {
    for (const half of [1, 2]) {
      for (const more of ['', ...ofKinds(kinds)]) all[part(metric, phase, `,half:${half}${more}`)] = ['count>=0'];
    }
  }
  for (const more of ofKinds(kinds)) all[part(failed, phase, more)] = ['count>=0'];
  return all;
}

function ofKinds(kinds: string[]): string[] {
  return kinds.length > 1 ? kinds.map((_, kind) => `,kind:${kind}`) : [];
}

function probed(phase: Phase): Record<string, string[]> {
  if (!phase.probe || phase.kind === 'warmup') return {};
  const counters = [probeSent, probeSkipped, probeHealthy, probeUnanswered, probeSlow];
  return {
    ...Object.fromEntries([probe, probeSlot].map((metric) => [part(metric, phase), ['max>=0']])),
    ...Object.fromEntries(counters.map((metric) => [part(metric, phase), ['count>=0']])),
  };
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
