// A phase of a block: what its users do, and when. Pure: no k6 in here.
import type { Open } from './experiment.ts';
import type { Parts } from './parts.ts';

export type Gaps = Open['gaps'];

export type Kind = 'login' | 'warmup' | 'single' | 'measure' | 'typical' | 'light';

/** Beginnings of the tag `trial`, whose value is a phase's kind and its position: "1" … for trials. */
export const PREFIX: Record<Kind, string> = {
  login: 'a',
  warmup: 'w',
  single: 's',
  measure: '',
  typical: 't',
  light: 'l',
};

export interface Phase {
  /** Position in the block, from 0. */
  index: number;
  kind: Kind;
  /** Position among the phases of its kind, from 1. */
  position: number;
  /** The value of the tag `trial`. */
  trial: string;
  variant: string;
  /** Position among the variant's phases of this kind, from 0, in a block of trials in turn. */
  turn: number;
  /** The variant's address. */
  base: string;
  /** Whether requests have the query of cheap warm-up cycles. */
  isCheap: boolean;
  /** Users that take part; an open load deals its arrivals to them in turn. */
  users: number;
  /** Arrivals per second of an open load, 0 of an idle phase; a closed load has none. */
  rate: number | undefined;
  gaps: Gaps;
  /** Milliseconds, on average, and whether they are exponential. */
  thinkTime: number;
  isThinkTimeExponential: boolean;
  /** Milliseconds over which the users start, evenly. */
  rampUp: number;
  /** Rows of the data that the phases before take, where the plan knows it. */
  rowsBefore?: number | undefined;
  /** Requests that each user sends; undefined: as many as it can until the window's end. */
  requests?: number;
  /** False: the window opens when throughput is steady, while users who have just begun still have short waits. */
  isLatencySteady?: boolean;
  /**
   * The round that the experiment says, in milliseconds, where answers take as long from the window's beginning to its
   * end: then requests may count by their parts within it. (While a queue still grows, each user has more of short
   * answers than will come.)
   */
  partsOfRound?: number | undefined;
  /** The window [start, end) in milliseconds from the phase's beginning. No request starts at its end or later. */
  start: number;
  end: number;
  /** Whether to wait for outstanding answers at the end of the window. */
  waitForAnswers: boolean;
  /** The parts of the window; undefined where no more than its totals is told. */
  parts?: Parts | undefined;
  /** Where probes go beside the load, whether requests go to the same port, and until when they are sent. */
  probe?: { url: string; isSamePort: boolean; until: number } | undefined;
}
