// The workload as a block sees it: users, and what each of them does again and again. Types alone.
import type { Phase } from './phase.ts';
import type { Findings } from './preflight.ts';

/** The outcome of one iteration of a user: the milliseconds that it took, and why it failed if it did. */
export interface Outcome {
  took: number;
  reason?: string | undefined;
  /** Number among the workload's kinds. */
  kind?: number | undefined;
  /** OK answers within an iteration of a script, in the order in which it had them. */
  answers?: Answered[] | undefined;
  /** The form of the answer that was sampled (codes.ts). */
  form?: number | undefined;
}

/** An OK answer: the milliseconds that it took, and the clock at its completion. */
export interface Answered {
  took: number;
  at: number;
}

/** One user in one phase. */
export interface User {
  /** Gives up after `patience` milliseconds. Of an iteration that is sampled the outcome has a form. */
  iterate(patience: number, isSampled: boolean): Outcome | Promise<Outcome>;
  /** Takes the place of an iteration that is dropped: those after it are the same as without that. Returns its kind. */
  skip(): number;
}

/** The workload. */
export interface Users {
  /** Names of the kinds of iterations that are told apart; one where there is no more. */
  readonly kinds: string[];
  /** Share of each kind among the iterations. */
  readonly shares: number[];
  take(phase: Phase, user: number): User;
  /** Logs a user in, before everything else. */
  login(phase: Phase, user: number): void;
  /** Does once, before a run, what there is to do. */
  preflight(variant: string, base: string): Findings | Promise<Findings>;
}
