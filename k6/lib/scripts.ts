// The user's own k6 script: one instance of its modules for each variant, and whose turn it is. Pure: no k6 in here.

/** The exports of a script. */
export interface Script {
  options?: Options;
  setup?: () => unknown;
  teardown?: (data: unknown) => unknown;
  [name: string]: unknown;
}

/** The options of a script that are read here. */
export interface Options {
  scenarios?: Record<string, Scenario>;
  thresholds?: Record<string, unknown>;
  noCookiesReset?: boolean;
  /** Options for the script's own functions: the lab's have work of their own to do. */
  noSetup?: boolean;
  noTeardown?: boolean;
  [name: string]: unknown;
}

interface Scenario {
  executor: string;
  exec?: string;
  vus?: number;
  maxVUs?: number;
  startVUs?: number;
  rate?: number;
  startRate?: number;
  timeUnit?: string;
  stages?: { target: number }[];
  env?: Record<string, string>;
  tags?: Record<string, string>;
}

/** A function of a script that users call, by the scenario that names it. */
export interface Task {
  scenario: string;
  executor: string;
  exec: string;
  /** Users, or calls per second. */
  weight: number;
  env: Record<string, string>;
  tags: Record<string, string>;
}

/** The tasks of a script's users: each user keeps one, or each iteration draws one. */
export interface Tasks {
  list: Task[];
  areDrawn: boolean;
}

/** Options of a script that hold; the others say how much load there is, or where results go. */
const KEPT = [
  ...['throw', 'discardResponseBodies', 'maxRedirects', 'userAgent', 'batch', 'batchPerHost', 'httpDebug'],
  ...['insecureSkipTLSVerify', 'tlsCipherSuites', 'tlsVersion', 'tlsAuth', 'noConnectionReuse', 'noVUConnectionReuse'],
  ...['hosts', 'dns', 'blacklistIPs', 'blockHostnames', 'setupTimeout', 'teardownTimeout'],
];

/**
 * Scripts by variant; none where the workload is requests. What vtlab wrote beside a script registers them, before
 * block.ts is read.
 */
export const scripts: Record<string, Script> = {};

/** The variables of the environment that a script reads by name. */
export const environment: Record<string, string> = {};

/** The variant and task whose turn it is. */
export const turn = { variant: '', task: undefined as Task | undefined, iteration: 0, iterationInTest: 0 };

export function register(all: Record<string, Script>, values: Record<string, string>): void {
  Object.assign(scripts, all);
  Object.assign(environment, values);
}

export function keptOptions({ options = {} }: Script): Record<string, unknown> {
  return Object.fromEntries(KEPT.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]));
}

/** Returns the tasks of a script's scenarios; without any its default function. */
export function tasksOf({ options = {} }: Script): Tasks {
  const scenarios = Object.entries(options.scenarios ?? {});
  if (scenarios.length === 0) {
    const only = { scenario: 'default', executor: 'per-vu-iterations', exec: 'default', weight: 1, env: {}, tags: {} };
    return { list: [only], areDrawn: false };
  }
  const list = scenarios.map(([name, scenario]) => ({
    scenario: name,
    executor: scenario.executor,
    exec: scenario.exec ?? 'default',
    weight: weightOf(scenario),
    env: scenario.env ?? {},
    tags: scenario.tags ?? {},
  }));
  const arriving = list.filter(({ executor }) => isArrival(executor));
  if (arriving.length > 0 && arriving.length < list.length) {
    throw `options.scenarios: ${arriving[0]?.scenario} has a rate and others have VUs: give all of them a rate, or VUs`;
  }
  return { list, areDrawn: arriving.length > 0 };
}

/** Returns a user's task where each keeps one: they have shares of the users as the scenarios' VUs have. */
export function taskOf(user: number, { list }: Tasks): Task {
  const total = list.reduce((sum, { weight }) => sum + weight, 0);
  // Golden-ratio steps deal every number of first users about evenly; whole VUs in a row would give few users one task.
  let left = ((user * 0.618033988749895) % 1) * total;
  return (
    list.find(({ weight }) => {
      left -= weight;
      return left < 0;
    }) ?? (list[list.length - 1] as Task)
  );
}

function weightOf(scenario: Scenario): number {
  const targets = (scenario.stages ?? []).map(({ target }) => target);
  if (isArrival(scenario.executor)) {
    return (1000 * Math.max(scenario.rate ?? scenario.startRate ?? 0, ...targets)) / milliseconds(scenario.timeUnit);
  }
  return Math.max(scenario.vus ?? scenario.startVUs ?? 1, ...targets);
}

function isArrival(executor: string): boolean {
  return executor.endsWith('-arrival-rate');
}

/** Parses a duration as k6 writes it, 1m30s; a second where there is none. */
function milliseconds(duration = '1s'): number {
  const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  return [...duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * units[unit as keyof typeof units],
    0,
  );
}

/**
 * Returns a script's thresholds for each variant, over the windows of its trials, by their names in a summary. None
 * aborts.
 */
export function thresholdsOf(script: Script, variants: string[]): Record<string, string[]> {
  const all: Record<string, string[]> = {};
  for (const [key, value] of Object.entries(script.options?.thresholds ?? {})) {
    for (const variant of variants) all[inWindows(key, variant)] = conditions(value);
  }
  return all;
}

/** Returns the results of a script's thresholds, by variant, metric and condition. */
export function thresholdResults(
  script: Script,
  variants: string[],
  isMet: (name: string, condition: string) => boolean,
): Record<string, Record<string, Record<string, boolean>>> {
  const resultsOf = (variant: string) =>
    Object.entries(script.options?.thresholds ?? {}).map(([key, value]) => [
      key,
      Object.fromEntries(conditions(value).map((condition) => [condition, isMet(inWindows(key, variant), condition)])),
    ]);
  return Object.fromEntries(variants.map((variant) => [variant, Object.fromEntries(resultsOf(variant))]));
}

function conditions(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.map((item) => (typeof item === 'string' ? item : String((item as { threshold: string }).threshold)));
}

/** Returns the part of a metric, or of a part of it, that belongs to a variant's windows. */
function inWindows(key: string, variant: string): string {
  const [, metric, tags] = /^([^{]*)(?:\{(.*)\})?$/s.exec(key.trim()) ?? [];
  return `${metric}{${tags ? `${tags},` : ''}variant:${variant},phase:measure}`;
}
