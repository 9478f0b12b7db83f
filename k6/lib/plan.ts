// The phases of a block, one after another. Pure: no k6 in here.
import type { Input } from './input.ts';

export type Kind = 'warmup' | 'single' | 'measure';

export interface Phase {
  /** Which it is in the block, from 0. */
  index: number;
  kind: Kind;
  /** Which it is among its kind, from 1. */
  position: number;
  /** The value of the tag `trial`: "1" … for trials, "w1" … for warm-up cycles, "s1" … for single-user phases. */
  trial: string;
  variant: string;
  url: string;
  /** Users that take part; an open load deals its arrivals to them in turn. */
  users: number;
  /** Arrivals per second of an open load; a closed one has none. */
  rate: number | undefined;
  thinkTime: number;
  /** Milliseconds over which the users' first requests are spread. */
  spread: number;
  /** The window [start, end) in milliseconds from the phase's beginning. No request starts at its end or later. */
  start: number;
  end: number;
  /** Whether what is unanswered at the window's end is waited for. */
  drain: boolean;
}

export interface Plan {
  phases: Phase[];
  /** Users of the block: the most that any phase needs. */
  users: number;
  /** Request timeout in milliseconds. */
  timeout: number;
  /** Milliseconds that the block cannot exceed. */
  longest: number;
  /** Milliseconds between the moments at which users end and begin phases. All of them wake at once: more need longer. */
  grid: number;
}

/** A request may take this much longer than `max_response` before the user gives it up. */
const GRACE = 5_000;
/** Milliseconds for each user to begin in, at least: a thousand new connections in a second would come in bunches. */
const GENTLY = 5;

export function plan(input: Input): Plan {
  const { windows, load } = input.experiment;
  const inOrder = [...new Set(input.order)];
  const variants = inOrder.length > 0 ? inOrder : Object.keys(input.targets);
  const phases: Phase[] = [];

  function add(
    kind: Kind,
    variant: string,
    rest: Pick<Phase, 'users' | 'rate' | 'thinkTime' | 'spread' | 'start' | 'end'>,
    drain = true,
  ) {
    const first = kind === 'measure' ? input.position : 1;
    const position = first + phases.filter((phase) => phase.kind === kind).length;
    const trial = { warmup: 'w', single: 's', measure: '' }[kind] + position;
    const { path, query } = input.experiment.request;
    const url = input.targets[variant] + target(path, kind === 'warmup' ? windows.warmupQuery : query);
    phases.push({ index: phases.length, kind, position, trial, variant, url, ...rest, drain });
  }

  const rate = load.model === 'open' ? load.rate : undefined;
  const thinkTime = load.model === 'closed' ? load.thinkTime : 0;

  for (let cycle = 0; cycle < input.warmupCycles; cycle++) {
    for (const variant of variants) {
      const spread = Math.min(windows.spread, 1000);
      const users = load.model === 'open' ? load.users : windows.warmupUsers;
      add('warmup', variant, { users, rate, thinkTime, spread, start: spread, end: spread + windows.warmupLoad });
    }
  }

  for (const variant of input.single > 0 ? variants : []) {
    add('single', variant, { users: 1, rate: undefined, thinkTime: 0, spread: 0, start: 0, end: input.single });
  }

  for (const [i, variant] of input.order.entries()) {
    const own = roundOf(input, variant);
    // In whole rounds: in one and a quarter the first quarter would have twice the users.
    const spread = load.model === 'closed' ? own * Math.ceil((GENTLY * load.users) / own) : own;
    // Closed load: what clients see is steady only after each user's second response, so settle for one more round.
    const start = load.model === 'closed' ? spread + own : spread;
    const window = { start, end: start + (windows.measureOf[variant] ?? windows.measure) };
    // The next trial would begin with the backlog of this one.
    const drain = input.drain || i < input.order.length - 1;
    add('measure', variant, { users: load.users, rate, thinkTime, spread, ...window }, drain);
  }

  const timeout = input.experiment.maxResponse + GRACE;
  const users = Math.max(...phases.map((phase) => phase.users));
  return {
    phases,
    users,
    timeout,
    longest: phases.reduce((sum, phase) => sum + phase.end + timeout + GRACE, 60_000),
    grid: users <= 100 ? 250 : 500 * Math.ceil(users / 500),
  };
}

/**
 * One whole round of a user under closed load, N / X = R + Z: spread over it the first requests come evenly. Without an
 * ideal it is unknown, but no shorter than that of the variant whose users wait least.
 */
function roundOf(input: Input, variant: string): number {
  const { load, ideal, windows } = input.experiment;
  if (load.model === 'open') return windows.spread;
  const round = (best: number) => Math.max(1, Math.round((1000 * load.users) / best));
  const own = ideal[variant];
  if (own !== undefined) return round(own);
  const known = Object.values(ideal).map(round);
  return known.length > 0 ? Math.max(windows.spread, Math.min(...known)) : windows.spread;
}

function target(path: string, query: Record<string, string>): string {
  const pairs = Object.entries(query).map((pair) => pair.map(encodeURIComponent).join('='));
  return pairs.length > 0 ? `${path}?${pairs.join('&')}` : path;
}
