// What the environment asks for, checked. Pure: no k6 in here.
import { duration, type Experiment, parseExperiment, parseObject, positive, whole } from './experiment.ts';

export interface Input {
  experiment: Experiment;
  targets: Record<string, string>;
  order: string[];
  warmupCycles: number;
  /** Length of each single-user phase in milliseconds; 0 is none. */
  single: number;
  /** The number of the first trial in its block. */
  position: number;
  /** False: what is unanswered when the last window ends is given up. */
  drain: boolean;
  runId: string;
  block: number;
  namespace: string | undefined;
  document: string | undefined;
}

type Env = Record<string, string | undefined>;

/** Ends the block with one line. Not an Error: k6 prints the place in the code of an Error, and that helps nobody here. */
export function fail(where: string, what: string, todo: string): never {
  throw `${where}: ${what}: ${todo}`;
}

export function parseInput(env: Env, read: (path: string) => string): Input {
  const experiment = readExperiment(env, read);
  const targets = parseTargets(env.TARGETS);
  const [first, second] = Object.keys(targets) as [string, string | undefined];

  const order =
    env.ORDER === undefined
      ? second === undefined
        ? [first]
        : [first, second, second, first]
      : env.ORDER.split(',').map((name) => name.trim());
  if (order.length === 1 && order[0] === '') order.pop();
  for (const variant of order) {
    if (!(variant in targets)) {
      fail(
        'ORDER',
        variant === '' ? 'an empty name' : `no variant "${variant}" in TARGETS`,
        `write a comma list of ${Object.keys(targets).join(', ')}`,
      );
    }
  }

  const load = experiment.load;
  if (env.USERS) load.users = whole(number(env.USERS), 'USERS');
  if (env.RATE) {
    if (load.model !== 'open') fail('RATE', `the load of "${experiment.name}" is closed`, 'set USERS instead');
    load.rate = positive(number(env.RATE), 'RATE');
  }
  if (env.MEASURE) {
    experiment.windows.measure = duration(env.MEASURE, 'MEASURE');
    experiment.windows.measureOf = {};
  }

  const warmupCycles = env.WARMUP_CYCLES
    ? whole(number(env.WARMUP_CYCLES), 'WARMUP_CYCLES', 0)
    : experiment.windows.warmupCycles;
  const single = env.SINGLE ? duration(env.SINGLE, 'SINGLE', true) : 0;
  if (order.length === 0 && warmupCycles === 0 && single === 0) {
    fail('ORDER', 'no trials, no warm-up and no single-user phase', 'ask for at least one of them');
  }

  return {
    experiment,
    targets,
    order,
    warmupCycles,
    single,
    position: whole(number(env.POSITION || '1'), 'POSITION'),
    drain: parseDrain(env.DRAIN || 'true', experiment),
    runId: env.RUN_ID || 'by-hand',
    block: whole(number(env.BLOCK || '1'), 'BLOCK', 0),
    namespace: env.NAMESPACE || undefined,
    document: env.DOCUMENT || undefined,
  };
}

function parseDrain(text: string, { load, name }: Experiment): boolean {
  if (text !== 'true' && text !== 'false') fail('DRAIN', `"${text}" is not true or false`, 'correct it');
  if (text === 'false' && load.model === 'open') fail('DRAIN', `the load of "${name}" is open`, 'leave it out');
  return text === 'true';
}

/** What is no number stays as it is, for the message that refuses it. */
function number(text: string): number | string {
  const value = Number(text);
  return Number.isNaN(value) ? text : value;
}

/** A name is a file in experiments/; a path is one of the caller's, relative to where the caller stands. */
function readExperiment(env: Env, read: (path: string) => string): Experiment {
  const name = env.EXPERIMENT;
  if (!name) fail('EXPERIMENT', 'missing', 'give a name from experiments/ or a path to a .json file');
  const isPath = name.includes('/') || name.endsWith('.json');
  const here = env.PWD && !name.startsWith('/') ? `${env.PWD}/` : '';
  const file = isPath ? here + name : `./experiments/${name}.json`;
  let text = '';
  try {
    text = read(file);
  } catch {
    fail('EXPERIMENT', `cannot read ${file}`, 'give a name from experiments/ or a path to a .json file');
  }
  return parseExperiment(text, isPath ? name : `experiments/${name}.json`);
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
