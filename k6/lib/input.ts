// What the environment asks for, checked. The experiment is vtlab's, which has checked it. Pure: no k6 in here.
import type { Experiment } from './experiment.ts';

export interface Input {
  experiment: Experiment;
  /** These three replace the experiment's. */
  users: number | undefined;
  rate: number | undefined;
  measure: number | undefined;
  targets: Record<string, string>;
  order: string[];
  warmupCycles: number;
  /** Length of each single-user phase in milliseconds; 0 is none. */
  single: number;
  /** The number of the first trial in its block. */
  position: number;
  /** False: what is unanswered when the last window ends is given up. */
  waitForAnswers: boolean;
  runId: string;
  block: number;
  namespace: string | undefined;
  document: string | undefined;
}

type Env = Record<string, string | undefined>;

/** Ends the block with one line. Not an Error: for an Error k6 prints a place in the code, which does not help. */
function fail(where: string, what: string, fix: string): never {
  throw `${where}: ${what}: ${fix}`;
}

export function parseInput(env: Env, read: (path: string) => string): Input {
  const experiment = readExperiment(env, read);
  const { load, windows } = experiment;
  if (env.RATE && load.model !== 'open')
    fail('RATE', `the load of "${experiment.name}" is closed`, 'set USERS instead');
  const targets = parseTargets(env.TARGETS);
  const order = parseOrder(env.ORDER, experiment, targets);
  const warmupCycles = env.WARMUP_CYCLES ? whole(env.WARMUP_CYCLES, 'WARMUP_CYCLES', 0) : windows.warmup_cycles;
  const single = env.SINGLE === undefined ? windows.single_user_phase : duration(env.SINGLE || '0s', 'SINGLE', true);
  if (order.length === 0 && warmupCycles === 0 && single === 0) {
    fail('ORDER', 'no trials, no warm-up and no single-user phase', 'ask for at least one of them');
  }
  return {
    experiment,
    users: env.USERS ? whole(env.USERS, 'USERS') : undefined,
    rate: env.RATE ? positive(env.RATE, 'RATE') : undefined,
    measure: env.MEASURE ? duration(env.MEASURE, 'MEASURE') : undefined,
    targets,
    order,
    warmupCycles,
    single,
    position: whole(env.POSITION || '1', 'POSITION'),
    waitForAnswers: parseWait(env.WAIT_FOR_ANSWERS, experiment),
    runId: env.RUN_ID || 'by-hand',
    block: whole(env.BLOCK || '1', 'BLOCK', 0),
    namespace: env.NAMESPACE || undefined,
    document: env.DOCUMENT || undefined,
  };
}

/** A name is a file in plans/; a path is one of the caller's, relative to where the caller stands. */
function readExperiment(env: Env, read: (path: string) => string): Experiment {
  const name = env.EXPERIMENT;
  const fix = 'give a name from plans/, or a path to what vtlab normalise wrote';
  if (!name) fail('EXPERIMENT', 'missing', fix);
  const isPath = name.includes('/') || name.endsWith('.json');
  const here = env.PWD && !name.startsWith('/') ? `${env.PWD}/` : '';
  const file = isPath ? here + name : `./plans/${name}.json`;
  let text = '';
  try {
    text = read(file);
  } catch {
    fail('EXPERIMENT', `cannot read ${file}`, fix);
  }
  const experiment = parseObject(text, isPath ? name : `plans/${name}.json`);
  if (experiment.normalised !== 1) {
    fail('EXPERIMENT', `${file} is not a normalised experiment`, `vtlab normalise ${name} > plan.json`);
  }
  return experiment as unknown as Experiment;
}

function parseTargets(text: string | undefined): Record<string, string> {
  if (!text) fail('TARGETS', 'missing', `write '{"platform":"http://…","virtual":"http://…"}'`);
  const targets: Record<string, string> = {};
  for (const [variant, url] of Object.entries(parseObject(text, 'TARGETS'))) {
    if (typeof url !== 'string' || !/^https?:\/\/[^/]/.test(url)) {
      fail('TARGETS', `${JSON.stringify(url)} is not a base URL for "${variant}"`, 'write "http://host:port"');
    }
    targets[variant] = url.replace(/\/+$/, '');
  }
  if (Object.keys(targets).length === 0) fail('TARGETS', 'no variant', 'write {"variant":"http://host:port",…}');
  return targets;
}

/** Without ORDER: the experiment's block, mirrored where it has two trials of each variant. */
function parseOrder(text: string | undefined, experiment: Experiment, targets: Record<string, string>): string[] {
  const { variants, windows } = experiment;
  const block = windows.trials === 2 ? [...variants, ...variants.toReversed()] : variants;
  const order = text === undefined ? block : text === '' ? [] : text.split(',').map((name) => name.trim());
  for (const variant of order) {
    if (!(variant in targets)) {
      fail(
        'ORDER',
        variant === '' ? 'an empty name' : `no variant "${variant}" in TARGETS`,
        `write a comma list of ${Object.keys(targets).join(', ')}`,
      );
    }
  }
  return order;
}

function parseWait(text: string | undefined, { name, load, windows }: Experiment): boolean {
  if (!text) return windows.wait_for_answers;
  if (text !== 'true' && text !== 'false') fail('WAIT_FOR_ANSWERS', `"${text}" is not true or false`, 'correct it');
  if (text === 'false' && load.model === 'open') {
    fail('WAIT_FOR_ANSWERS', `the load of "${name}" is open`, 'leave it out');
  }
  return text === 'true';
}

/** Milliseconds, written as in an experiment. */
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
