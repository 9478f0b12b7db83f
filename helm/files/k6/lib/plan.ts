// The phases of a block, one after another. Pure: no k6 in here.
import type { Closed, Experiment, Open } from './experiment.ts';
import type { Input } from './input.ts';
import { random } from './random.ts';

export type Gaps = Open['gaps'];

export type Kind = 'login' | 'warmup' | 'single' | 'measure' | 'light';

/** The value of the tag `trial` is a phase's kind and its position: "1" … for trials. */
export const PREFIX: Record<Kind, string> = { login: 'a', warmup: 'w', single: 's', measure: '', light: 'l' };

export interface Phase {
  /** Which it is in the block, from 0. */
  index: number;
  kind: Kind;
  /** Which it is among its kind, from 1. */
  position: number;
  /** The value of the tag `trial`. */
  trial: string;
  variant: string;
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
  /** How many requests each user sends; undefined: as many as it can until the window's end. */
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
/**
 * Milliseconds for each user to begin in, at least: a thousand new connections in a second would come in bunches. Users
 * who are connected have less to do.
 */
const GENTLY = 5;
const CONNECTED = 1;
/** The longest ramp-up of a warm-up cycle in milliseconds. */
const WARMUP_RAMP = 1000;
/** A warm-up cycle of so many requests lasts so many times `warmup_load` at most, and so many milliseconds in any case. */
const PATIENCE = 3;
const LEAST_PATIENCE = 10_000;
/** Milliseconds for which a server keeps a connection without a request, at least: Jetty 30 s, Tomcat 60 s. */
const KEPT = 15_000;
/** Most users of a phase of light load. */
const MOST_LIGHT_USERS = 2000;
/** Most milliseconds of an idle phase before its window, in which no answer is awaited. */
const IDLE_SETTLE = 300;
/** Milliseconds between two phases, about: users end and begin on the grid. */
const BETWEEN = 1000;

/** What a phase does: of Phase, what is not its name. */
type Part = Omit<Phase, 'index' | 'kind' | 'position' | 'trial' | 'variant' | 'base' | 'isCheap' | 'waitForAnswers'>;

/**
 * The phases in their order: warm-up cycles in turn, cheap ones and then with the trials' own load; single-user phases
 * in mirrored order; the trials; light load.
 */
export function plan(input: Input): Plan {
  const { workload, windows, load, max_response } = overridden(input);
  const inOrder = [...new Set(input.order)];
  const variants = inOrder.length > 0 ? inOrder : Object.keys(input.targets);
  const phases: Phase[] = [];

  function add(kind: Kind, variant: string, part: Part, isCheap = false, waitForAnswers = true) {
    const first = kind === 'measure' ? input.position : 1;
    const position = first + phases.filter((phase) => phase.kind === kind).length;
    const base = input.targets[variant] as string;
    const trial = PREFIX[kind] + position;
    phases.push({ index: phases.length, kind, position, trial, variant, base, isCheap, ...part, waitForAnswers });
  }

  const { ramp_up, warmup_load, warmup_users } = windows;
  const isOpen = load.model === 'open';
  const isCounted = !isOpen && windows.warmup_requests > 0;
  const arriving = {
    rate: isOpen ? load.rate : undefined,
    gaps: isOpen ? load.gaps : 'even',
    thinkTime: isOpen ? 0 : load.think_time,
    isThinkTimeExponential: !isOpen && load.is_think_time_exponential,
  };
  /** Milliseconds in which the last users of a closed load get their answers. */
  let answering = 0;
  const round = (variant: string) => (isOpen ? 0 : roundOf(load, ramp_up, variant));
  const bare = { users: 1, gaps: 'even', thinkTime: 0, isThinkTimeExponential: false, rampUp: 0 } as const;

  for (let cycle = 0; cycle < input.warmupCycles; cycle++) {
    for (const variant of variants) {
      const rampUp = Math.min(ramp_up, WARMUP_RAMP);
      const users = isOpen ? load.users : warmup_users;
      const part = { ...arriving, users, rampUp, start: rampUp, end: rampUp + warmup_load };
      if (isCounted) {
        // As many for each variant: one that gets more of the CPU is ready sooner, and no warmer.
        const requests = Math.ceil(windows.warmup_requests / users);
        const most = Math.max(PATIENCE * warmup_load, LEAST_PATIENCE);
        Object.assign(part, { requests, start: 0, end: rampUp + most });
      }
      add('warmup', variant, part, true);
    }
  }

  // The experiment's own: they say that the load, or threads in turn, bound the variant. Of a CPU that requests share, and
  // whose last ones have it for themselves, parts would be too many.
  const declared = input.experiment.load.model === 'closed' ? input.experiment.load.round : {};
  const shortest = isOpen ? ramp_up : shortestRound(load, ramp_up);
  for (let cycle = 0; cycle < input.ownCycles; cycle++) {
    for (const variant of variants) {
      const warmingUsers = ownUsers(variant);
      const rampUp = Math.min(isOpen ? ramp_up : rampUpOf(load, ramp_up, variant), WARMUP_RAMP);
      const start = rampUp + shortest;
      const end = start + Math.max(warmup_load, shortest);
      // Of fewer users than in the trials none queues.
      const longest = !isOpen && warmingUsers < load.users ? servedIn(load, ramp_up, variant) : round(variant);
      const partsOfRound = variant in declared && start >= rampUp + longest ? longest : undefined;
      add('warmup', variant, { ...arriving, users: warmingUsers, rampUp, start, end, partsOfRound });
      answering += (round(variant) * warmingUsers) / load.users;
    }
  }

  for (let turn = 0; input.single > 0 && turn < input.singlePhases; turn++) {
    const end = Math.ceil(input.single / input.singlePhases);
    for (const variant of turn % 2 === 0 ? variants : variants.toReversed()) {
      add('single', variant, { ...bare, rate: undefined, start: 0, end });
    }
  }

  const light = Object.entries(input.light);
  const trials = trialsOf(input, load.users);
  for (const [i, { variant, users }] of trials.entries()) {
    const part = isOpen ? openWindow() : closedWindow({ ...load, users }, variant, input.position + i);
    const end = part.start + (windows.measure_by_variant[variant] ?? windows.measure);
    // The next phase would begin with the backlog of this one.
    const waitForAnswers = input.waitForAnswers || i < trials.length - 1 || light.length > 0;
    add('measure', variant, { ...arriving, users, ...part, end }, false, waitForAnswers);
    if (waitForAnswers) answering += round(variant);
  }

  for (const [variant, rates] of light) {
    for (const rate of rates) {
      const start = rate > 0 ? input.lightSettle : Math.min(input.lightSettle, IDLE_SETTLE);
      // Each user's first arrival comes before the window, which so has no new connections: they would cost the variant
      // CPU. An arrival is dropped where an answer takes longer than that.
      const users = Math.min(Math.max(1, Math.ceil((rate * start) / 1000)), MOST_LIGHT_USERS);
      add('light', variant, { ...bare, users, rate, start, end: start + input.lightMeasure });
    }
  }

  /**
   * Every answer is waited for, so no backlog is made: where users queue these cycles have as many as are served at a
   * time, and where a trial gives up what is unanswered as many as the cheap ones.
   */
  function ownUsers(variant: string): number {
    if (isOpen) return load.users;
    const users = Math.ceil((load.users * servedIn(load, ramp_up, variant)) / roundOf(load, ramp_up, variant));
    return windows.wait_for_answers ? users : Math.min(users, warmup_users);
  }

  function openWindow() {
    return { rampUp: ramp_up, start: ramp_up + input.settle };
  }

  /**
   * The window opens a round after the ramp-up, as what clients see is steady only after each user's second response, and
   * then at a moment drawn from one more round. Where waits are constant the users keep their places in the round, and
   * fixed edges would count the same part of it in every trial. Drawn, the count is right on average, and trials differ
   * by as much as it is uncertain; a window of whole rounds counts the same wherever it begins.
   *
   * Where users queue for what serves them, throughput is steady sooner: as soon as so many have begun as are served at
   * a time. They are answered evenly over the service time, which takes the place of the round.
   */
  function closedWindow(load: Closed, variant: string, position: number) {
    const rampUp = rampUpOf(load, ramp_up, variant, isConnected(load, variant) ? CONNECTED : GENTLY);
    const served = servedIn(load, ramp_up, variant);
    const rounds = 1 + random(input.seed, 'window', position)();
    const start = Math.floor((rampUp * served) / round(variant) + served * rounds);
    const isLatencySteady = start >= rampUp + round(variant);
    const partsOfRound = isLatencySteady && variant in declared ? round(variant) : undefined;
    return { rampUp, start, isLatencySteady, partsOfRound };
  }

  /**
   * Whether all users of a trial had a phase of the variant a moment ago. vtlab asks for both in one call only where the
   * round of every variant is known.
   */
  function isConnected({ users, round: rounds }: Closed, variant: string): boolean {
    if (!variants.every((name) => name in rounds)) return false;
    const last = phases.findLastIndex((phase) => phase.variant === variant && phase.users >= users);
    const since = phases.slice(last + 1).reduce((sum, phase) => sum + phase.end + round(phase.variant), 0);
    return last >= 0 && since < KEPT;
  }

  if (workload.has_login) logIn();

  /** Before everything else all users that any phase of a variant has. */
  function logIn() {
    const loaded = phases.splice(0);
    for (const variant of new Set(loaded.map((phase) => phase.variant))) {
      const users = Math.max(...loaded.filter((phase) => phase.variant === variant).map((phase) => phase.users));
      const rampUp = GENTLY * users;
      add('login', variant, { ...bare, users, rate: undefined, rampUp, start: rampUp, end: rampUp });
    }
    for (const phase of loaded) phases.push({ ...phase, index: phases.length });
  }

  const timeout = max_response + GRACE;
  const users = Math.max(...phases.map((phase) => phase.users));
  const sum = (extra: number) => phases.reduce((total, phase) => total + phase.end + extra, 0);
  // The requests of a cheap cycle take as long as its load, about.
  const counted = phases.filter((phase) => phase.requests !== undefined);
  const sooner = counted.reduce((total, phase) => total + phase.end - phase.rampUp - warmup_load, 0);
  return {
    phases,
    users,
    timeout,
    longest: 60_000 + sum(timeout + GRACE),
    seconds: Math.round((sum(BETWEEN) - sooner + answering) / 1000),
    grid: users <= 100 ? 250 : 500 * Math.ceil(users / 500),
  };
}

/** Arrivals that a sequence with exponential gaps must hold for any of the phases; 0 where none needs it. */
export function arrivalsIn(phases: Phase[]): number {
  const drawn = phases.filter((phase) => phase.gaps === 'exponential');
  return Math.max(0, ...drawn.map((phase) => ((phase.rate ?? 0) * phase.end) / 1000));
}

/** The trials in their order, for each number of users; every second one backwards. */
function trialsOf({ order, users }: Input, planned: number): { variant: string; users: number }[] {
  return (users ?? [planned]).flatMap((count, level) =>
    (level % 2 === 0 ? order : order.toReversed()).map((variant) => ({ variant, users: count })),
  );
}

/** The experiment as USERS, RATE, MEASURE and ROUNDS change it. */
function overridden({ experiment, users, rate, measure, rounds }: Input): Experiment {
  const load = { ...experiment.load, users: users ? Math.max(...users) : experiment.load.users };
  if (load.model === 'open') load.rate = rate ?? load.rate;
  else load.round = { ...rounds, ...scaled(load.round, load.users / experiment.load.users) };
  const windows = { ...experiment.windows, ...(measure === undefined ? {} : { measure, measure_by_variant: {} }) };
  return { ...experiment, load, windows };
}

/** Rounds of so many times the users: N / X = R + Z, at the same throughput. */
function scaled(rounds: Record<string, number>, times: number): Record<string, number> {
  const entries = Object.entries(rounds).map(([variant, ms]) => [variant, Math.max(1, Math.round(ms * times))]);
  return Object.fromEntries(entries);
}

/**
 * Milliseconds over which the users of a trial start: whole rounds, since in one and a quarter the first quarter would
 * have twice the users.
 */
function rampUpOf(load: Closed, rampUp: number, variant: string, ofEach = GENTLY): number {
  const round = roundOf(load, rampUp, variant);
  return round * Math.ceil((ofEach * load.users) / round);
}

/**
 * One whole round of a user under closed load, R + Z: where they start within one round, the first requests come evenly.
 * An unknown one is no shorter than that of the variant whose users wait least.
 */
function roundOf(load: Closed, rampUp: number, variant: string): number {
  return load.round[variant] ?? Math.max(rampUp, shortestRound(load, rampUp));
}

/** Milliseconds for which a user is served in each round: all of it, where none queues. */
function servedIn(load: Closed, rampUp: number, variant: string): number {
  const round = roundOf(load, rampUp, variant);
  return Math.min(round, load.service_time[variant] ?? round);
}

/** The round of the variant whose users wait least; where none is known, as long as the users start. */
function shortestRound(load: Closed, rampUp: number): number {
  const known = Object.values(load.round);
  return known.length > 0 ? Math.min(...known) : rampUp;
}
