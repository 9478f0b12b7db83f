// The probe: a light request beside the load, as a kubelet's liveness probe sends it. One further user sends them all.
import exec from 'k6/execution';
import http from 'k6/http';
import { setTimeout } from 'k6/timers';
import { now } from './clock.ts';
import { encodeSlot, MOST_SLOTS } from './codes.ts';
import { MOST_UNANSWERED_PROBES, PROBE_INTERVAL, PROBE_TIMEOUT, SLOW_PROBE } from './constants.ts';
import * as metrics from './metrics.ts';
import type { Phase } from './phase.ts';

// Before a user's script has it replaced.
const { asyncRequest } = http;

/** Sends the probes of a phase, if it has any. Its own iterations and requests belong to no variant. */
export async function probeThrough(phase: Phase, begin: number): Promise<void> {
  const { tags } = exec.vu.metrics;
  for (const name of ['variant', 'trial', 'phase']) delete tags[name];
  if (phase.probe) await new Probes(phase, phase.probe, begin).send();
}

class Probes {
  private readonly phase: Phase;
  private readonly target: NonNullable<Phase['probe']>;
  private readonly begin: number;
  private readonly tags: Record<string, string>;
  private unanswered = 0;

  constructor(phase: Phase, target: NonNullable<Phase['probe']>, begin: number) {
    const { variant, trial, kind } = phase;
    this.phase = phase;
    this.target = target;
    this.begin = begin;
    this.tags = { variant, trial, phase: kind, port: target.isSamePort ? 'same' : 'other' };
  }

  /** Sends one at each slot of the window, and as often before it. Returns when all are answered, or given up. */
  async send(): Promise<void> {
    const { start } = this.phase;
    const end = this.target.until;
    const sent: Promise<void>[] = [];
    for (let slot = -Math.floor(start / PROBE_INTERVAL); ; slot++) {
      const due = start + slot * PROBE_INTERVAL;
      if (due >= end) break;
      const left = this.begin + due - now();
      // sleep() would hold the answers to the others.
      if (left > 0) await new Promise<void>((resolve) => setTimeout(() => resolve(), left));
      if (this.unanswered < MOST_UNANSWERED_PROBES) sent.push(this.ask(slot));
      else if (this.counts(slot)) metrics.probeSkipped.add(1, this.tags);
    }
    await Promise.all(sent);
  }

  private async ask(slot: number): Promise<void> {
    const from = now();
    const left = this.begin + this.target.until - from;
    const isPatient = this.phase.waitForAnswers && this.phase.kind !== 'warmup';
    const patience = isPatient ? PROBE_TIMEOUT : Math.min(PROBE_TIMEOUT, Math.max(1, Math.ceil(left)));
    this.unanswered++;
    const answer = await this.answer(patience);
    this.unanswered--;
    if (!this.counts(slot)) return;
    const waited = now() - from;
    if (answer) this.record(slot, answer.took, answer.status);
    // An early end of the wait tells only of those who had waited for long.
    else if (patience === PROBE_TIMEOUT || waited < patience) this.record(slot, PROBE_TIMEOUT, 0);
    else if (waited > SLOW_PROBE) this.record(slot, waited, 0);
  }

  /** Tells whether the answer of a slot is recorded: none before the window, nor in the warm-up. */
  private counts(slot: number): boolean {
    return slot >= 0 && this.phase.kind !== 'warmup';
  }

  /** Returns undefined where there is no answer. */
  private async answer(timeout: number): Promise<{ status: number; took: number } | undefined> {
    try {
      const { status, timings } = await asyncRequest('GET', this.target.url, null, {
        // A kubelet's probe has a connection of its own.
        headers: { Connection: 'close' },
        timeout,
        redirects: 0,
        responseType: 'none',
        responseCallback: null,
        tags: { name: 'probe' },
      } as object);
      return status === 0 ? undefined : { status, took: timings.blocked + timings.duration };
    } catch {
      return undefined;
    }
  }

  private record(slot: number, took: number, status: number): void {
    const { tags } = this;
    metrics.probe.add(took, tags);
    metrics.probeSent.add(1, tags);
    if (slot < MOST_SLOTS) metrics.probeSlot.add(encodeSlot(slot, took), tags);
    if (status >= 200 && status < 300) metrics.probeHealthy.add(1, tags);
    if (status === 0) metrics.probeUnanswered.add(1, tags);
    if (status === 0 || took > SLOW_PROBE) metrics.probeSlow.add(1, tags);
  }
}
