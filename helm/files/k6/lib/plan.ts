// The phases of a block, one after another. Pure: no k6 in here.
import type { Closed, Experiment } from './experiment.ts';
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
  /** Milliseconds over which the users start, evenly. */
  rampUp: number;
  /** The window [start, end) in milliseconds from the phase's beginning. No request starts at its end or later. */
  start: number;
  end: number;
  /** Whether to wait for outstanding answers at the end of the window. */
  waitForAnswers: boolean;
}

export interface Plan {
  phases: Phase[];
  /** Users of the block: the most that any phase needs. */
  users: number;
  /** Request timeout in milliseconds. */
  timeout: number;
  /** Milliseconds that the block cannot exceed. */
  longest: number;
  /** How long the block takes where every request is answered in time. */
  seconds: number;
  /** Milliseconds between the moments at which users end and begin phases. All of them wake at once: more need longer. */
  grid: number;
}

/** A request may take this much longer than `max_response` before the user gives it up. */
const GRACE = 5_000;
/** Milliseconds for each user to begin in, at least: a thousand new connections in a second would come in bunches. */
const GENTLY = 5;
/** The longest ramp-up of a warm-up cycle in milliseconds. */
const WARMUP_RAMP = 1000;
/** Milliseconds between two phases, about: users end and begin on the grid. */
const BETWEEN = 1000;

export function plan(input: Input): Plan {
  const { request, windows, load, max_response } = overridden(input);
  const inOrder = [...new Set(input.order)];
  const variants = inOrder.length > 0 ? inOrder : Object.keys(input.targets);
  const phases: Phase[] = [];

  function add(
    kind: Kind,
    variant: string,
    rest: Pick<Phase, 'users' | 'rate' | 'thinkTime' | 'rampUp' | 'start' | 'end'>,
    waitForAnswers = true,
  ) {
    const first = kind === 'measure' ? input.position : 1;
    const position = first + phases.filter((phase) => phase.kind === kind).length;
    const trial = { warmup: 'w', single: 's', measure: '' }[kind] + position;
    const query = kind === 'warmup' ? windows.warmup_query : request.query;
    const url = input.targets[variant] + target(request.path, query);
    phases.push({ index: phases.length, kind, position, trial, variant, url, ...rest, waitForAnswers });
  }

  const rate = load.model === 'open' ? load.rate : undefined;
  const thinkTime = load.model === 'closed' ? load.think_time : 0;

  for (let cycle = 0; cycle < input.warmupCycles; cycle++) {
    for (const variant of variants) {
      const rampUp = Math.min(windows.ramp_up, WARMUP_RAMP);
      const users = load.model === 'open' ? load.users : windows.warmup_users;
      add('warmup', variant, { users, rate, thinkTime, rampUp, start: rampUp, end: rampUp + windows.warmup_load });
    }
  }

  for (const variant of input.single > 0 ? variants : []) {
    add('single', variant, { users: 1, rate: undefined, thinkTime: 0, rampUp: 0, start: 0, end: input.single });
  }

  let rounds = 0;
  for (const [i, variant] of input.order.entries()) {
    const round = load.model === 'closed' ? roundOf(load, windows.ramp_up, variant) : 0;
    // In whole rounds: in one and a quarter the first quarter would have twice the users.
    const rampUp = load.model === 'closed' ? round * Math.ceil((GENTLY * load.users) / round) : windows.ramp_up;
    // Closed load: what clients see is steady only after each user's second response, so settle for one more round.
    const start = rampUp + round;
    const window = { start, end: start + (windows.measure_by_variant[variant] ?? windows.measure) };
    // The next trial would begin with the backlog of this one.
    const waitForAnswers = input.waitForAnswers || i < input.order.length - 1;
    add('measure', variant, { users: load.users, rate, thinkTime, rampUp, ...window }, waitForAnswers);
    if (waitForAnswers) rounds += round;
  }

  const timeout = max_response + GRACE;
  const users = Math.max(...phases.map((phase) => phase.users));
  const sum = (extra: number) => phases.reduce((total, phase) => total + phase.end + extra, 0);
  return {
    phases,
    users,
    timeout,
    longest: 60_000 + sum(timeout + GRACE),
    seconds: Math.round((sum(BETWEEN) + rounds) / 1000),
    grid: users <= 100 ? 250 : 500 * Math.ceil(users / 500),
  };
}

/** The experiment as USERS, RATE and MEASURE change it. */
function overridden({ experiment, users, rate, measure }: Input): Experiment {
  const load = { ...experiment.load, users: users ?? experiment.load.users };
  if (load.model === 'open') load.rate = rate ?? load.rate;
  else load.round = scaled(load.round, load.users / experiment.load.users);
  const windows = { ...experiment.windows, ...(measure === undefined ? {} : { measure, measure_by_variant: {} }) };
  return { ...experiment, load, windows };
}

/** Rounds of so many times the users: N / X = R + Z, at the same throughput. */
function scaled(rounds: Record<string, number>, times: number): Record<string, number> {
  const entries = Object.entries(rounds).map(([variant, ms]) => [variant, Math.max(1, Math.round(ms * times))]);
  return Object.fromEntries(entries);
}

/**
 * One whole round of a user under closed load, R + Z: where they start within one round, the first requests come evenly.
 * An unknown one is no shorter than that of the variant whose users wait least.
 */
function roundOf(load: Closed, rampUp: number, variant: string): number {
  const known = Object.values(load.round);
  return load.round[variant] ?? Math.max(rampUp, known.length > 0 ? Math.min(...known) : 0);
}

function target(path: string, query: Record<string, string>): string {
  const pairs = Object.entries(query).map((pair) => pair.map(encodeURIComponent).join('='));
  return pairs.length > 0 ? `${path}?${pairs.join('&')}` : path;
}
