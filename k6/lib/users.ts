// The workload as a block sees it: users, and what each of them does again and again. Types alone.
import type { Phase } from './phase.ts';
import type { Findings } from './preflight.ts';

/** The outcome of one iteration of a user: the milliseconds that it took, and why it failed if it did. */
export interface Outcome {
  took: number;
  reason?: string | undefined;
}

/** One user in one phase. */
export interface User {
  /** Gives up after `patience` milliseconds. */
  iterate(patience: number): Outcome | Promise<Outcome>;
  /** Takes the place of an iteration that is dropped: those after it are the same as without that. */
  skip(): void;
}

/** The workload. */
export interface Users {
  take(phase: Phase, user: number): User;
  /** Logs a user in, before everything else. */
  login(phase: Phase, user: number): void;
  /** Does once, before a run, what there is to do. */
  preflight(variant: string, base: string): Findings | Promise<Findings>;
}
