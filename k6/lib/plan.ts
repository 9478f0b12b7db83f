// The phases of a block, one after another. Pure: no k6 in here.
import { originOf } from './addresses.ts';
import {
  BETWEEN_PHASES,
  CONNECTION_KEPT,
  FINE_GRID,
  FINE_GRID_USERS,
  GRACE,
  GRID_STEP,
  GRID_STEP_USERS,
  IDLE_SETTLE,
  LEAST_WARM_UP_PATIENCE,
  LONGEST_WARM_UP_RAMP_UP,
  MOST_LIGHT_USERS,
  PROBE_TIMEOUT,
  RAMP_UP_PER_CONNECTED_USER,
  RAMP_UP_PER_USER,
  WARM_UP_PATIENCE,
  WARM_UP_PROBES,
} from './constants.ts';
import type { Experiment } from './experiment.ts';
import type { Input } from './input.ts';
import { partsOf } from './parts.ts';
import { type Kind, type Phase, PREFIX } from './phase.ts';
import { random } from './random.ts';
import { Rounds } from './rounds.ts';

export interface Plan {
  phases: Phase[];
  /** Users of the block: the most that any phase needs. */
  users: number;
  /** Users of k6: one more where there are probes, which the last one sends. */
  vus: number;
  /** Request timeout in milliseconds. */
  timeout: number;
  /** Milliseconds that the block cannot exceed. */
  longest: number;
  /** Seconds that the block takes where every request is answered in time. */
  seconds: number;
  /** Milliseconds between the moments at which users end and begin phases. */
  grid: number;
}

/** The part of a phase that says what its users do. */
type Part = Omit<
  Phase,
  'index' | 'kind' | 'position' | 'trial' | 'variant' | 'turn' | 'base' | 'isCheap' | 'waitForAnswers'
>;

/** The load of a single user, and of phases of light load. */
const BARE = { users: 1, gaps: 'even', thinkTime: 0, isThinkTimeExponential: false, rampUp: 0 } as const;

/**
 * Plans the phases in their order: warm-up cycles in turn, cheap ones and then with the trials' own load; single-user
 * phases in mirrored order; the trials; typical load; light load.
 */
export function plan(input: Input): Plan {
  const planner = new Planner(input);
  planner.addCheapCycles();
  planner.addOwnCycles();
  planner.addSingleUsers();
  planner.addTrials();
  planner.addTypicalLoad();
  planner.addLightLoad();
  planner.addLogins();
  return planner.plan();
}

/** Counts the arrivals that a sequence with exponential gaps must hold for any of the phases; 0 where none needs it. */
export function arrivalsIn(phases: Phase[]): number {
  const drawn = phases.filter((phase) => phase.gaps === 'exponential');
  return Math.max(0, ...drawn.map((phase) => ((phase.rate ?? 0) * phase.end) / 1000));
}

/** A plan in the making. */
class Planner {
  private readonly input: Input;
  private readonly experiment: Experiment;
  /** Undefined for an open load. */
  private readonly rounds: Rounds | undefined;
  private readonly variants: string[];
  /** Milliseconds in which the last users of a closed load get their answers, over all phases. */
  private answering = 0;
  private phases: Phase[] = [];

  constructor(input: Input) {
    this.input = input;
    this.experiment = overridden(input);
    const { load, windows } = this.experiment;
    this.rounds = load.model === 'open' ? undefined : new Rounds(load, windows.ramp_up);
    const inOrder = [...new Set(input.order)];
    this.variants = inOrder.length > 0 ? inOrder : Object.keys(input.targets);
  }

  addCheapCycles(): void {
    const { load, windows } = this.experiment;
    const rampUp = Math.min(windows.ramp_up, LONGEST_WARM_UP_RAMP_UP);
    const users = this.rounds ? windows.warmup_users : load.users;
    const timed = { start: rampUp, end: rampUp + windows.warmup_load };
    const part = { ...this.arriving(), users, rampUp, ...timed, ...this.counted(users, rampUp) };
    // What has as many requests for each variant may end long before its end.
    const until = part.requests === undefined ? part.end : Math.min(part.end, WARM_UP_PROBES);
    for (let cycle = 0; cycle < this.input.warmupCycles; cycle++) {
      for (const variant of this.variants) {
        this.add('warmup', variant, { ...part, probe: this.probe(variant, until) }, { isCheap: true });
      }
    }
  }

  /**
   * Warm-up by a number of requests, as many for each variant: one that gets more of the CPU is ready sooner, and no
   * warmer.
   */
  private counted(users: number, rampUp: number): Partial<Part> {
    const { warmup_load, warmup_requests } = this.experiment.windows;
    if (!this.rounds || warmup_requests <= 0) return {};
    const most = Math.max(WARM_UP_PATIENCE * warmup_load, LEAST_WARM_UP_PATIENCE);
    return { requests: Math.ceil(warmup_requests / users), start: 0, end: rampUp + most };
  }

  addOwnCycles(): void {
    for (let cycle = 0; cycle < this.input.ownCycles; cycle++) {
      for (const variant of this.variants) this.addOwnCycle(variant);
    }
  }

  private addOwnCycle(variant: string): void {
    const { load, windows } = this.experiment;
    const users = this.ownUsers(variant);
    const rampUp = Math.min(this.rounds?.rampUpOf(load.users, variant) ?? windows.ramp_up, LONGEST_WARM_UP_RAMP_UP);
    const shortest = this.rounds?.shortest ?? windows.ramp_up;
    const start = rampUp + shortest;
    const end = start + Math.max(windows.warmup_load, shortest);
    // None of fewer users than in the trials queues.
    const longest = this.rounds && users < load.users ? this.rounds.served(variant) : this.round(variant);
    const partsOfRound = this.isDeclared(variant) && start >= rampUp + longest ? longest : undefined;
    const probe = this.probe(variant, end);
    this.add('warmup', variant, { ...this.arriving(), users, rampUp, start, end, partsOfRound, probe });
    this.answering += (this.round(variant) * users) / load.users;
  }

  /**
   * Returns the users of a warm-up cycle with the trials' own load. Every answer is waited for, so no backlog is
   * made: where users queue these cycles have as many as are served at a time, and where a trial gives up what is
   * unanswered as many as the cheap ones.
   */
  private ownUsers(variant: string): number {
    const { load, windows } = this.experiment;
    if (!this.rounds) return load.users;
    const served = Math.ceil((load.users * this.rounds.served(variant)) / this.rounds.round(variant));
    return windows.wait_for_answers ? served : Math.min(served, windows.warmup_users);
  }

  addSingleUsers(): void {
    const { single, singlePhases } = this.input;
    for (let turn = 0; single > 0 && turn < singlePhases; turn++) {
      const end = Math.ceil(single / singlePhases);
      for (const variant of turn % 2 === 0 ? this.variants : this.variants.toReversed()) {
        this.add('single', variant, { ...BARE, rate: undefined, start: 0, end });
      }
    }
  }

  addTrials(): void {
    const { input } = this;
    const { load, windows } = this.experiment;
    const trials = trialsOf(input, load.users);
    const arriving = this.arriving();
    const { rate } = arriving;
    for (const [i, { variant, users }] of trials.entries()) {
      const window = this.rounds
        ? this.closedWindow(this.rounds, variant, users, input.position + i)
        : { rampUp: windows.ramp_up, start: windows.ramp_up + input.settle };
      const end = window.start + (windows.measure_by_variant[variant] ?? windows.measure);
      // The next phase would begin with the backlog of this one.
      const isFollowed = i < trials.length - 1 || input.typical !== undefined || Object.keys(input.light).length > 0;
      const waitForAnswers = input.waitForAnswers || isFollowed;
      // A curve over numbers of users has no more than totals.
      const details =
        (input.users ?? []).length > 1 ? {} : this.details(variant, { start: window.start, end }, users, rate);
      this.add('measure', variant, { ...arriving, users, ...window, end, ...details }, { waitForAnswers });
      if (waitForAnswers) this.answering += this.round(variant);
    }
  }

  /**
   * Opens the window a round after the ramp-up, as what clients see is steady only after each user's second response,
   * and then at a moment drawn from one more round. Where waits are constant the users keep their places in the round,
   * and fixed edges would count the same part of it in every trial. Drawn, the count is right on average, and trials
   * differ by as much as it is uncertain; a window of whole rounds counts the same wherever it begins.
   *
   * Where users queue for what serves them, throughput is steady sooner: as soon as so many have begun as are served at
   * a time. They are answered evenly over the service time, which takes the place of the round.
   */
  private closedWindow(rounds: Rounds, variant: string, users: number, position: number) {
    const perUser = this.isConnected(rounds, variant, users) ? RAMP_UP_PER_CONNECTED_USER : RAMP_UP_PER_USER;
    const rampUp = rounds.rampUpOf(users, variant, perUser);
    const round = rounds.round(variant);
    const served = rounds.served(variant);
    const drawn = 1 + random(this.input.seed, 'window', position)();
    const start = Math.floor((rampUp * served) / round + served * drawn);
    const isLatencySteady = start >= rampUp + round;
    const partsOfRound = isLatencySteady && this.isDeclared(variant) ? round : undefined;
    return { rampUp, start, isLatencySteady, partsOfRound };
  }

  /**
   * Tells whether all users of a trial had a phase of the variant a moment ago. vtlab asks for both in one call only
   * where the round of every variant is known.
   */
  private isConnected(rounds: Rounds, variant: string, users: number): boolean {
    if (!rounds.areKnown(this.variants)) return false;
    const last = this.phases.findLastIndex((phase) => phase.variant === variant && phase.users >= users);
    const since = this.phases.slice(last + 1).reduce((sum, phase) => sum + phase.end + rounds.round(phase.variant), 0);
    return last >= 0 && since < CONNECTION_KEPT;
  }

  addTypicalLoad(): void {
    const { typical } = this.input;
    if (!typical) return;
    const { rate, gaps, users, settle: start, measure } = typical;
    for (const variant of typical.order) {
      const window = { start, end: start + measure };
      this.add('typical', variant, {
        ...BARE,
        rate,
        gaps,
        users,
        ...window,
        ...this.details(variant, window, users, rate),
      });
    }
  }

  /** Returns what is told of a window beside its totals, and the probes beside its load. */
  private details(variant: string, window: { start: number; end: number }, users: number, rate?: number) {
    const parts = partsOf(window.end - window.start, users, rate);
    return { parts, probe: this.probe(variant, window.end) };
  }

  /**
   * Returns the probes of a phase, if the variant has any. The warm-up has them, too: the first answers to probes let a
   * JVM throw away code that it compiled for the load alone.
   */
  private probe(variant: string, until: number): Phase['probe'] {
    const { targets, probes, users } = this.input;
    const url = probes[variant];
    // A curve over numbers of users has none.
    if (url === undefined || (users ?? []).length > 1) return undefined;
    return { url, isSamePort: originOf(url) === originOf(targets[variant] as string), until };
  }

  addLightLoad(): void {
    const { light, lightSettle, lightMeasure } = this.input;
    for (const [variant, rates] of Object.entries(light)) {
      // How many requests of a closed load there were before nobody knows.
      let rowsBefore = this.phases.some((phase) => phase.variant === variant) ? undefined : 0;
      for (const rate of rates) {
        const start = rate > 0 ? lightSettle : Math.min(lightSettle, IDLE_SETTLE);
        // Each user's first arrival comes before the window, which so has no new connections: they would cost the
        // variant CPU. An arrival is dropped where an answer takes longer than that.
        const users = Math.min(Math.max(1, Math.ceil((rate * start) / 1000)), MOST_LIGHT_USERS);
        const end = start + lightMeasure;
        this.add('light', variant, { ...BARE, users, rate, start, end, rowsBefore });
        if (rowsBefore !== undefined) rowsBefore += Math.ceil((rate * end) / 1000);
      }
    }
  }

  /** Lets all users that any phase of a variant has log in, before everything else. */
  addLogins(): void {
    if (!this.experiment.workload.has_login) return;
    const loaded = this.phases;
    this.phases = [];
    for (const variant of new Set(loaded.map((phase) => phase.variant))) {
      const users = Math.max(...loaded.filter((phase) => phase.variant === variant).map((phase) => phase.users));
      const rampUp = RAMP_UP_PER_USER * users;
      this.add('login', variant, { ...BARE, users, rate: undefined, rampUp, start: rampUp, end: rampUp });
    }
    for (const phase of loaded) this.phases.push({ ...phase, index: this.phases.length });
  }

  plan(): Plan {
    const { phases } = this;
    const { max_response, windows } = this.experiment;
    const timeout = max_response + GRACE;
    const users = Math.max(...phases.map((phase) => phase.users));
    const hasProbes = phases.some(({ probe }) => probe !== undefined);
    const sum = (extra: number) => phases.reduce((total, phase) => total + phase.end + extra, 0);
    // The requests of a cheap cycle take as long as its load, about.
    const counted = phases.filter((phase) => phase.requests !== undefined);
    const sooner = counted.reduce((total, phase) => total + phase.end - phase.rampUp - windows.warmup_load, 0);
    return {
      phases,
      users,
      vus: users + (hasProbes ? 1 : 0),
      timeout,
      longest: 60_000 + sum(Math.max(timeout, hasProbes ? PROBE_TIMEOUT : 0) + GRACE),
      seconds: Math.round((sum(BETWEEN_PHASES) - sooner + this.answering) / 1000),
      grid: users <= FINE_GRID_USERS ? FINE_GRID : GRID_STEP * Math.ceil(users / GRID_STEP_USERS),
    };
  }

  private add(kind: Kind, variant: string, part: Part, { isCheap = false, waitForAnswers = true } = {}): void {
    const { input, phases } = this;
    const first = kind === 'measure' ? input.position : 1;
    const position = first + phases.filter((phase) => phase.kind === kind).length;
    // In a call of its own a trial comes after those of all variants before it.
    const turnsBefore = Math.floor((first - 1) / Math.max(1, this.experiment.variants.length));
    const turn = turnsBefore + phases.filter((phase) => phase.kind === kind && phase.variant === variant).length;
    const base = input.targets[variant] as string;
    const trial = PREFIX[kind] + position;
    phases.push({ index: phases.length, kind, position, trial, variant, turn, base, isCheap, ...part, waitForAnswers });
  }

  /** Returns how requests of the trials come: at a rate, or after think times. */
  private arriving() {
    const { load } = this.experiment;
    if (load.model === 'open') {
      return { rate: load.rate, gaps: load.gaps, thinkTime: 0, isThinkTimeExponential: false };
    }
    const { think_time: thinkTime, is_think_time_exponential: isThinkTimeExponential } = load;
    return { rate: undefined, gaps: 'even' as const, thinkTime, isThinkTimeExponential };
  }

  /** Returns a whole round of a closed load; 0 for an open one. */
  private round(variant: string): number {
    return this.rounds?.round(variant) ?? 0;
  }

  /**
   * Tells whether the experiment itself has the variant's round: then the load, or threads in turn, bound the variant.
   * Of a CPU that requests share, and whose last ones have it for themselves, parts would be too many.
   */
  private isDeclared(variant: string): boolean {
    const { load } = this.input.experiment;
    return load.model === 'closed' && variant in load.round;
  }
}

/** Returns the trials in their order, for each number of users; every second one backwards. */
function trialsOf({ order, users }: Input, planned: number): { variant: string; users: number }[] {
  return (users ?? [planned]).flatMap((count, level) =>
    (level % 2 === 0 ? order : order.toReversed()).map((variant) => ({ variant, users: count })),
  );
}

/** Returns the experiment as USERS, RATE, MEASURE and ROUNDS change it. */
function overridden({ experiment, users, rate, measure, rounds }: Input): Experiment {
  const load = { ...experiment.load, users: users ? Math.max(...users) : experiment.load.users };
  if (load.model === 'open') load.rate = rate ?? load.rate;
  else load.round = { ...rounds, ...scaled(load.round, load.users / experiment.load.users) };
  const windows = { ...experiment.windows, ...(measure === undefined ? {} : { measure, measure_by_variant: {} }) };
  return { ...experiment, load, windows };
}

/** Scales rounds to so many times the users: N / X = R + Z, at the same throughput. */
function scaled(rounds: Record<string, number>, times: number): Record<string, number> {
  const entries = Object.entries(rounds).map(([variant, ms]) => [variant, Math.max(1, Math.round(ms * times))]);
  return Object.fromEntries(entries);
}
