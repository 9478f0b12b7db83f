// Starts the real k6: from the variable K6, else from PATH.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SCRIPT = new URL('../block.ts', import.meta.url).pathname;

/** The script that k6 starts for a user's own: as `lab/vtlab/k6/user_script.py` writes it. */
export function wrapped(script) {
  const main = file(script, 'js');
  const library = new URL('../lib/scripts.ts', import.meta.url).pathname;
  const register = file(
    `import * as script from '${main}';
     import { register } from '${library}';
     register(Object.fromEntries(Object.keys(JSON.parse(__ENV.TARGETS)).map((name) => [name, script])), {});`,
    'js',
  );
  const exported = ['options', 'setup', 'teardown', 'handleSummary'].map((name) => `export const ${name} = b.${name};`);
  const lines = [`import '${register}';`, `import * as b from '${SCRIPT}';`, ...exported, 'export default b.default;'];
  return file(lines.join('\n'), 'js');
}

export const folder = mkdtempSync(join(tmpdir(), 'vtlab-k6-'));
let files = 0;

/** A request as vtlab normalises it. */
export function request(change = {}) {
  return {
    method: 'GET',
    path: '/work',
    query: {},
    headers: {},
    body: null,
    is_json: false,
    status: 200,
    expected: [],
    weight: 1,
    ...change,
  };
}

/**
 * A normalised experiment with short windows; `change` overrides its keys, one level deep, and `requests` are those of
 * its workload.
 */
export function experiment({ requests, ...change } = {}) {
  const query = { duration: '1s', what: 'a b' };
  const closed = { think_time: 0, is_think_time_exponential: false, round: {}, service_time: {} };
  const windows = {
    warmup_users: 5,
    warmup_query: query,
    warmup_load: 500,
    warmup_cycles: 1,
    warmup_requests: 0,
    single_user_phase: 0,
    ramp_up: 200,
    measure: 1000,
    measure_by_variant: {},
    trials: 2,
    wait_for_answers: true,
  };
  const load = { model: 'closed', users: 10, ...change.load };
  return {
    normalised: 1,
    name: 'stub',
    max_response: 5000,
    variants: ['platform', 'virtual'],
    typical: null,
    ...change,
    workload: { requests: requests ?? [request({ query })], has_login: false, is_script: false, ...change.workload },
    load: load.model === 'closed' ? { ...closed, ...load } : { gaps: 'even', ...load },
    windows: { ...windows, ...change.windows },
  };
}

export function file(content, kind = 'json') {
  const path = join(folder, `file-${++files}.${kind}`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** Runs one block, or `script` around it; `during` gets the process once it has started. */
export async function k6(env, { args = [], script = SCRIPT, during = () => {} } = {}) {
  const vars = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const child = spawn(process.env.K6 ?? 'k6', ['run', '--quiet', '--address', '', ...vars, ...args, script], {
    cwd: folder,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data) => {
    stdout += data;
  });
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  during(child);
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  return { code, stdout, stderr };
}

/**
 * Runs one block, without probes unless asked for them, and reads its document. `gap(from, to)`: milliseconds for which this process, which has the stub servers,
 * did not get to run then, at most. `stall`: seconds of the longest of these in the block, or of what only k6 can tell,
 * from a CPU that was taken from it alone: how late it sent, and how much longer an answer took it than the server.
 */
export async function block(content, targets, env = {}, options = {}) {
  const path = join(folder, `document-${++files}.json`);
  const variants = Object.keys(targets);
  const urls = Object.fromEntries(Object.entries(targets).map(([variant, target]) => [variant, target.url]));
  const ticks = [];
  const clock = setInterval(() => ticks.push(Date.now()), 5);
  const vars = { EXPERIMENT: file({ ...content, variants }), TARGETS: JSON.stringify(urls), DOCUMENT: path };
  const result = await k6({ ...vars, OWN_CYCLES: '0', SINGLE_PHASES: '1', PROBES: 'none', ...env }, options);
  clearInterval(clock);
  let document;
  try {
    document = env.DOCUMENT === 'stdout' ? reassemble(result.stdout) : JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`no document: ${error.message}\n${result.stdout}\n${result.stderr}`);
  }
  const { warmup, single, trials, typical, light } = document;
  const records = [...warmup, ...single, ...trials, ...typical, ...light];
  const gap = (from, to) => longestGap(ticks, from, to);
  const ofK6 = [...single, ...trials, ...typical, ...light].flatMap(
    ({ variant, begin, drained, late_max, latency, answers }) => [
      late_max,
      // An iteration of a script has several answers.
      (answers?.latency ?? latency).max - targets[variant].longest(begin, drained) / 1000,
    ],
  );
  // From the first phase to the last: a stall in a ramp bunches the users, one between phases moves their beginnings.
  // Of an interrupted phase nobody knows when it had its last answer.
  const stall = Math.max(gap(records[0]?.begin, records.at(-1)?.drained || Number.POSITIVE_INFINITY) / 1000, ...ofK6);
  return { ...result, servers: targets, document, records, gap, stall };
}

/** Milliseconds between two ticks of which a part lies in [from, to), at most. */
function longestGap(ticks, from, to) {
  const gaps = ticks.slice(1).map((tick, i) => (ticks[i] < to && tick > from ? tick - ticks[i] : 0));
  return Math.max(0, ...gaps);
}

export function reassemble(stdout) {
  const lines = stdout.split('\n').filter((line) => line.startsWith('@@vtlab '));
  const parts = lines.map((line) => {
    const [, i, n, text] = line.match(/^@@vtlab (\d+)\/(\d+) (.*)$/);
    if (Buffer.byteLength(line) + 1 > 8192) throw new Error(`a line of ${line.length} bytes`);
    if (Number(n) !== lines.length) throw new Error(`${n} lines promised, ${lines.length} found`);
    return { i: Number(i), text };
  });
  return JSON.parse(parts.map((part) => part.text).join(''));
}
