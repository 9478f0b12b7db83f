// The input of a block, which the environment has, checked. The experiment is vtlab's, which has checked it. Pure: no
// k6 in here.
import type { Experiment, Open } from './experiment.ts';
import { SETTLE, usersAt, windowAt } from './typical.ts';

export interface Input {
  experiment: Experiment;
  /** These three replace those of the trials. With several numbers of users each has its trials. */
  users: number[] | undefined;
  rate: number | undefined;
  measure: number | undefined;
  targets: Record<string, string>;
  order: string[];
  /** Warm-up cycles with cheaper requests, and after these with the trials' own load. */
  warmupCycles: number;
  ownCycles: number;
  /** Milliseconds of each variant's single-user phases together, 0 for none, and how many these are. */
  single: number;
  singlePhases: number;
  /** Milliseconds from the ramp-up to the window in the trials of an open load. */
  settle: number;
  /** Milliseconds of a round of a closed load's user, by variant, where the experiment has none. */
  rounds: Record<string, number>;
  /** Phases of typical load after the trials; undefined: none. */
  typical: TypicalLoad | undefined;
  /** True: there would be typical load if its rate were known. */
  lacksRate: boolean;
  /** Where the probes of a variant go. */
  probes: Record<string, string>;
  /** Phases of light load after the trials, by variant: arrivals per second of each, 0 for an idle one. */
  light: Record<string, number[]>;
  /** Milliseconds of such a phase: its window, and before it. */
  lightMeasure: number;
  lightSettle: number;
  /** The number of the first trial in its block. */
  position: number;
  /** False: what is unanswered when the last window ends is given up. */
  waitForAnswers: boolean;
  /** The seed of everything that is drawn: the same in each call of one block. */
  seed: string;
  runId: string;
  block: number;
  namespace: string | undefined;
  /** A file that only k6 is to read: rows, the login, variables of vtlab's environment. */
  private: string | undefined;
  /** The origin in a user's script that stands for the variant. */
  origin: string | undefined;
  /** Rows of the data that earlier calls took, by variant. */
  rowsBefore: Record<string, number>;
  /** True: each request, or task of a script, once for each variant, and nothing else. */
  isPreflight: boolean;
  document: string | undefined;
}

/** The typical load: a phase for each of these variants. */
export interface TypicalLoad {
  order: string[];
  /** Arrivals per second. */
  rate: number;
  gaps: Open['gaps'];
  users: number;
  /** Milliseconds from a phase's beginning to its window, and of the window. */
  settle: number;
  measure: number;
}

/** Warm-up cycles with the trials' own load: two are judged against one. */
const OWN_CYCLES = 3;
/** The path at which a kubelet asks a service of Spring Boot whether it lives. */
const LIVENESS = '/actuator/health/liveness';
/** Single-user phases of a variant: enough for an interval. */
const SINGLE_PHASES = 3;

type Env = Record<string, string | undefined>;

/** Ends the block with one line. Not an Error: for an Error k6 prints a place in the code, which does not help. */
function fail(where: string, what: string, fix: string): never {
  throw `${where}: ${what}: ${fix}`;
}

export function parseInput(env: Env, read: (path: string) => string): Input {
  const experiment = readExperiment(env, read);
  refuseOtherLoads(env, experiment);
  const targets = parseTargets(env.TARGETS);
  const users = env.USERS ? env.USERS.split(',').map((count) => whole(count, 'USERS')) : undefined;
  const phases = parsePhases(env, experiment, targets, (users?.length ?? 1) > 1);
  const runId = env.RUN_ID || 'by-hand';
  const block = whole(env.BLOCK || '1', 'BLOCK', 0);
  return {
    experiment,
    users,
    rate: env.RATE && experiment.load.model === 'open' ? positive(env.RATE, 'RATE') : undefined,
    measure: env.MEASURE ? duration(env.MEASURE, 'MEASURE') : undefined,
    targets,
    ...phases,
    probes: parseProbes(env.PROBES, targets),
    singlePhases: whole(env.SINGLE_PHASES || String(SINGLE_PHASES), 'SINGLE_PHASES'),
    settle: duration(env.SETTLE || '0s', 'SETTLE', true),
    rounds: parseRounds(env.ROUNDS, experiment),
    lightMeasure: duration(env.LIGHT_MEASURE || '2s', 'LIGHT_MEASURE'),
    lightSettle: duration(env.LIGHT_SETTLE || '1s', 'LIGHT_SETTLE'),
    position: whole(env.POSITION || '1', 'POSITION'),
    waitForAnswers: parseWait(env.WAIT_FOR_ANSWERS, experiment),
    seed: `${env.SEED || runId}/${block}`,
    runId,
    block,
    namespace: env.NAMESPACE || undefined,
    private: env.PRIVATE ? callerPath(env.PRIVATE, env) : undefined,
    origin: env.ORIGIN || undefined,
    rowsBefore: parseRowsBefore(env.ROWS),
    isPreflight: env.PREFLIGHT === 'true',
    document: env.DOCUMENT || undefined,
  };
}

/** Refuses what the other model of load alone has. */
function refuseOtherLoads(env: Env, { name, load }: Experiment): void {
  if (env.TYPICAL && load.model === 'open')
    fail('TYPICAL', `the load of "${name}" is open: it has no other`, 'leave it out: RATE sets its rate');
  if (env.SETTLE && load.model !== 'open')
    fail('SETTLE', `the load of "${name}" is closed`, 'leave it out: load.full.round opens the window');
  if (env.ROUNDS && load.model !== 'closed')
    fail('ROUNDS', `the load of "${name}" is open`, 'leave it out: SETTLE opens the window');
}

/** Parses which phases there are. */
function parsePhases(env: Env, experiment: Experiment, targets: Record<string, string>, hasLevels: boolean) {
  const { windows } = experiment;
  const order = parseOrder(env.ORDER, experiment, targets);
  const warmupCycles = env.WARMUP_CYCLES ? whole(env.WARMUP_CYCLES, 'WARMUP_CYCLES', 0) : windows.warmup_cycles;
  const defaultCycles = env.WARMUP_CYCLES === '0' ? 0 : OWN_CYCLES;
  const ownCycles = env.OWN_CYCLES ? whole(env.OWN_CYCLES, 'OWN_CYCLES', 0) : defaultCycles;
  const single = env.SINGLE === undefined ? windows.single_user_phase : duration(env.SINGLE || '0s', 'SINGLE', true);
  const light = parseLight(env.LIGHT, targets);
  const { typical, lacksRate } = parseTypical(env, experiment, targets, hasLevels ? [] : order);
  const further = (typical ? 1 : 0) + Object.keys(light).length;
  if (order.length + warmupCycles + ownCycles + single + further === 0) {
    const phases = 'no trials, no warm-up, no single-user phase, no typical load and no light load';
    fail('ORDER', phases, 'ask for at least one of them');
  }
  return { order, warmupCycles, ownCycles, single, typical, lacksRate, light };
}

/**
 * Reads an experiment: a name is a file in plans/, a path is one of the caller's, relative to where the caller stands.
 */
function readExperiment(env: Env, read: (path: string) => string): Experiment {
  const name = env.EXPERIMENT;
  const fix = 'give a name from plans/, or a path to what vtlab lab k6-plan wrote';
  if (!name) fail('EXPERIMENT', 'missing', fix);
  const isPath = name.includes('/') || name.endsWith('.json');
  const file = isPath ? callerPath(name, env) : `./plans/${name}.json`;
  let text = '';
  try {
    text = read(file);
  } catch {
    fail('EXPERIMENT', `cannot read ${file}`, fix);
  }
  const experiment = parseObject(text, isPath ? name : `plans/${name}.json`);
  if (experiment.normalised !== 1) {
    fail('EXPERIMENT', `${file} is not a normalised experiment`, `vtlab lab k6-plan ${name} > plan.json`);
  }
  return experiment as unknown as Experiment;
}

/** Returns a path relative to where the caller stands. */
function callerPath(path: string, env: Env): string {
  return env.PWD && !path.startsWith('/') ? `${env.PWD}/${path}` : path;
}

function parseTargets(text: string | undefined): Record<string, string> {
  if (!text) fail('TARGETS', 'missing', `write '{"platform":"http://…","virtual":"http://…"}'`);
  const targets: Record<string, string> = {};
  for (const [variant, url] of Object.entries(parseObject(text, 'TARGETS'))) {
    targets[variant] = parseUrl(url, variant, 'TARGETS').replace(/\/+$/, '');
  }
  if (Object.keys(targets).length === 0) fail('TARGETS', 'no variant', 'write {"variant":"http://host:port",…}');
  return targets;
}

/**
 * Parses ORDER. Without it: the experiment's block, mirrored where it has two trials of each variant, as in
 * vtlab/model/blocks.py.
 */
function parseOrder(text: string | undefined, experiment: Experiment, targets: Record<string, string>): string[] {
  const { variants, windows } = experiment;
  const back = variants.toReversed();
  const mirrored = [...variants, ...back, ...(windows.trials === 4 ? [...back, ...variants] : [])];
  const block = windows.trials === 1 ? variants : mirrored;
  const order = text === undefined ? block : list(text);
  refuseUnknown(order, 'ORDER', targets);
  return order;
}

/**
 * Parses the typical load. Without TYPICAL it is that of the variants that have trials, where its rate is known: k6
 * cannot take it from the trials, since users share no state.
 */
function parseTypical(env: Env, { load, typical }: Experiment, targets: Record<string, string>, order: string[]) {
  const named = env.RATE && load.model === 'closed' ? positive(env.RATE, 'RATE') : undefined;
  const rate = named ?? typical?.rate ?? undefined;
  const variants = env.TYPICAL === undefined ? [...new Set(order)] : list(env.TYPICAL);
  refuseUnknown(variants, 'TYPICAL', targets);
  if (variants.length === 0 && named !== undefined) fail('RATE', 'no variant has typical load', 'name some in TYPICAL');
  if (env.TYPICAL && rate === undefined) fail('TYPICAL', 'its rate is not known', 'set RATE');
  const isWanted = variants.length > 0 && load.model === 'closed' && (typical !== null || named !== undefined);
  if (!isWanted || rate === undefined) return { typical: undefined, lacksRate: isWanted };
  const users = env.TYPICAL_USERS ? whole(env.TYPICAL_USERS, 'TYPICAL_USERS') : usersAt(rate);
  const settle = duration(env.TYPICAL_SETTLE || `${SETTLE}ms`, 'TYPICAL_SETTLE');
  const measure = duration(env.TYPICAL_MEASURE || `${windowAt(rate)}ms`, 'TYPICAL_MEASURE');
  const gaps = typical?.gaps ?? 'exponential';
  return { typical: { order: variants, rate, gaps, users, settle, measure }, lacksRate: false };
}

/** Parses PROBES. Without it they go where Spring Boot's actuator says whether a service lives. */
function parseProbes(text: string | undefined, targets: Record<string, string>): Record<string, string> {
  if (text === 'none') return {};
  if (!text) {
    return Object.fromEntries(Object.entries(targets).map(([variant, base]) => [variant, base + LIVENESS]));
  }
  const probes = Object.entries(parseObject(text, 'PROBES'));
  refuseUnknown(
    probes.map(([variant]) => variant),
    'PROBES',
    targets,
  );
  return Object.fromEntries(probes.map(([variant, url]) => [variant, parseUrl(url, variant, 'PROBES')]));
}

/** Parses a comma list. */
function list(text: string): string[] {
  return text === '' ? [] : text.split(',').map((name) => name.trim());
}

function refuseUnknown(variants: string[], at: string, targets: Record<string, string>): void {
  const known = Object.keys(targets).join(', ');
  for (const variant of variants) {
    if (variant === '') fail(at, 'an empty name', `write a comma list of ${known}`);
    if (!(variant in targets)) fail(at, `no variant "${variant}" in TARGETS`, `name some of ${known}`);
  }
}

function parseUrl(url: unknown, variant: string, at: string): string {
  if (typeof url !== 'string' || !/^https?:\/\/[^/]/.test(url)) {
    fail(at, `${JSON.stringify(url)} is not a URL for "${variant}"`, 'write "http://host:port"');
  }
  return url;
}

function parseLight(text: string | undefined, targets: Record<string, string>): Record<string, number[]> {
  const light = parseObject(text || '{}', 'LIGHT');
  refuseUnknown(Object.keys(light), 'LIGHT', targets);
  for (const [variant, rates] of Object.entries(light)) {
    const isRate = (rate: unknown) => typeof rate === 'number' && rate >= 0;
    if (!Array.isArray(rates) || rates.length === 0 || !rates.every(isRate)) {
      fail('LIGHT', `${JSON.stringify(rates)} are no rates for "${variant}"`, 'write [0, 20, 50]');
    }
  }
  return light as Record<string, number[]>;
}

/** Parses ROUNDS. A variant that is not in TARGETS any more may have one. */
function parseRounds(text: string | undefined, { variants }: Experiment): Record<string, number> {
  const rounds = Object.entries(parseObject(text || '{}', 'ROUNDS'));
  for (const [variant] of rounds) {
    if (!variants.includes(variant)) {
      fail('ROUNDS', `no variant "${variant}" in the experiment`, `name some of ${variants.join(', ')}`);
    }
  }
  return Object.fromEntries(rounds.map(([variant, round]) => [variant, duration(String(round), 'ROUNDS')]));
}

/** Parses ROWS. A variant that is not in TARGETS any more may have some. */
function parseRowsBefore(text: string | undefined): Record<string, number> {
  const rows = Object.entries(parseObject(text || '{}', 'ROWS'));
  return Object.fromEntries(rows.map(([variant, count]) => [variant, whole(String(count), 'ROWS', 0)]));
}

function parseWait(text: string | undefined, { name, load, windows }: Experiment): boolean {
  if (!text) return windows.wait_for_answers;
  if (text !== 'true' && text !== 'false') fail('WAIT_FOR_ANSWERS', `"${text}" is not true or false`, 'correct it');
  if (text === 'false' && load.model === 'open') {
    fail('WAIT_FOR_ANSWERS', `the load of "${name}" is open`, 'leave it out');
  }
  return text === 'true';
}

/** Parses a duration, written as in an experiment, to milliseconds. */
function duration(text: string, at: string, zero = false): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const ms = Number(amount) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit as 'ms' | 's' | 'm' | 'h'];
  if (!(zero ? ms >= 0 : ms > 0)) {
    fail(at, `"${text}" is not a ${zero ? '' : 'positive '}duration`, 'write one like "5s" or "100ms"');
  }
  return ms;
}

function whole(text: string, at: string, least = 1): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least) {
    fail(at, `"${text}" is not a whole number of at least ${least}`, 'correct it');
  }
  return value;
}

function positive(text: string, at: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) fail(at, `"${text}" is not a positive number`, 'correct it');
  return value;
}

function parseObject(text: string, at: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    fail(at, `not JSON (${(error as Error).message})`, 'correct it');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    fail(at, `${JSON.stringify(value)} is not an object`, 'write {…}');
  }
  return value as Record<string, unknown>;
}
