// One block: equal warm-up, then trials in a mirrored order, against variants that already run.
//
//   k6 run -e EXPERIMENT=blocking -e TARGETS='{"platform":"http://localhost:8081","virtual":"http://localhost:8082"}' block.ts
//
// EXPERIMENT     a name from plans/, or a path to a normalised experiment (vtlab lab k6-plan FILE > plan.json)
// TARGETS        JSON: variant -> base URL
// ORDER          the trials, a comma list of variants; default: the experiment's block; empty: warm-up only
// WARMUP_CYCLES  rounds of warm-up, one cycle for each variant in each; default: the experiment's
// OWN_CYCLES     further rounds with the trials' own users and request (fewer where these queue); default: 3, or 0 where
//                WARMUP_CYCLES is 0
// SINGLE         length of the phases with one user, for each variant, after the warm-up; default: the experiment's; 0s: none
// SINGLE_PHASES  into how many of each variant it is divided, in mirrored order; default: 3
// POSITION       the number of the first trial in its block, for one of several calls; default: 1
// WAIT_FOR_ANSWERS  false: what is unanswered when the last window ends is given up, of closed load; default: the
//                experiment's
// SETTLE         open load: from the ramp-up to a trial's window; default: 0s
// ROUNDS         JSON: variant -> a round of a closed load's user (response and think time), where the experiment has
//                none: {"platform":"5s"}; it paces the ramp-up and the beginning of the window as load.full.round does
// TYPICAL        the typical load: after the trials a phase of each of these variants, a comma list, at RATE; empty: none;
//                default: the variants that have trials, where the rate is known (from RATE, or from the experiment, which
//                names it or says what it expects) and USERS is one number
// TYPICAL_USERS, TYPICAL_MEASURE, TYPICAL_SETTLE  its users, its window, and how long it has arrivals before; default: three
//                times RATE (20 to 1000), what 3,000 arrivals take (5s to 15s), 1500ms
// PROBES         JSON: variant -> URL of a light request that is sent five times a second beside warm-up cycles, trials and typical
//                load, each on a new connection, as a kubelet asks for liveness; default: /actuator/health/liveness of each
//                target; none
// LIGHT          JSON: variant -> [arrivals per second, ...], phases of evenly spaced light load at the end; 0 is idle
// LIGHT_MEASURE, LIGHT_SETTLE  the window of such a phase, and how long it has arrivals before (an idle one 300 ms); default: 2s, 1s.
//                An answer may take as long as LIGHT_SETTLE
// SEED           what is drawn (arrivals, think times, when a window begins) depends on it and on BLOCK; default: RUN_ID
// PRIVATE        a file with what only k6 is to read: rows of the data, the login (vtlab writes it)
// ROWS           JSON: variant -> rows of the data that earlier calls took; default: none. Each row is read once in a call with
//                one number of users, or with light load alone: who joins later begins at rows that others have read
// PREFLIGHT      true: each request, or each task of a script, once for each variant, and nothing else
// ORIGIN         of a user's script: the origin in it that stands for the variant
// RUN_ID, BLOCK  what this block belongs to; go into every sample and the document
// NAMESPACE      where the variants run on Kubernetes; goes into every sample
// DOCUMENT       where the JSON document goes: a path, or `stdout` for lines `@@vtlab i/n …` of at most 8 KB
// USERS, MEASURE  override the experiment's load and windows. USERS may be a comma list: the trials are repeated for each, in
//                an order that turns round from one to the next
// RATE           arrivals per second of the typical load, or of an experiment whose only load is open
// Durations are written as in an experiment: 5s, 100ms.
import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import type { Options } from 'k6/options';
import { arrivals } from './lib/arrivals.ts';
import { awaitBegin, endOnGrid, readClock, setClock } from './lib/clock.ts';
import { parseInput } from './lib/input.ts';
import { ScriptUsers, type SetupData } from './lib/iterations.ts';
import { takePart } from './lib/load.ts';
import { thresholds } from './lib/metrics.ts';
import { chunks, table } from './lib/output.ts';
import type { Phase } from './lib/phase.ts';
import { arrivalsIn, plan } from './lib/plan.ts';
import { type Findings, preflightDocument, preflightThresholds } from './lib/preflight.ts';
import { probeThrough } from './lib/probe.ts';
import { statistics } from './lib/quantiles.ts';
import { random } from './lib/random.ts';
import { makeDocument } from './lib/record.ts';
import { RequestUsers } from './lib/requests.ts';
import { keptOptions, scripts, thresholdsOf } from './lib/scripts.ts';
import type { Summary } from './lib/summary.ts';

const read = (path: string) => open(import.meta.resolve(path));
const input = parseInput(__ENV, read);
const block = plan(input);
// These are instances of one script: what one of them says of itself all say.
const script = Object.values(scripts)[0];
const scriptUsers = script && new ScriptUsers(script, input.origin, block.users, input.seed);
const users = scriptUsers ?? new RequestUsers({ ...input, privatePath: input.private, timeout: block.timeout, read });
const shared = {
  users,
  timeout: block.timeout,
  seed: input.seed,
  // One sequence for all users, the same for every variant of a block.
  arrivals: new SharedArray('arrivals', () => arrivals(random(input.seed, 'arrivals'), arrivalsIn(block.phases))),
};

/** Data that setup() leaves for all users. */
interface Common {
  clock: number;
  data: SetupData;
  findings: Record<string, Findings>;
}

const TAGS = ['name', 'method', 'status', 'error_code', 'expected_response'] as const;
const REQUEST_OPTIONS: Options & { noTeardown: boolean } = {
  systemTags: [...TAGS],
  discardResponseBodies: true,
  maxRedirects: 0,
  noVUConnectionReuse: false,
  // It would leave samples that belong to no phase.
  noTeardown: true,
  // A failed request is counted with its reason, not logged.
  throw: true,
};
// No certificate of a service names an address of this machine. A script's own option goes before it.
const TLS_OPTIONS: Options = [...Object.values(input.targets), ...Object.values(input.probes)].some((url) =>
  url.startsWith('https://'),
)
  ? { insecureSkipTLSVerify: true }
  : {};
/** Tags for which a script's thresholds may ask; `scenario` is its own, too, and set on the user. */
const SCRIPT_TAGS = [...TAGS, 'group', 'check', 'error', 'proto', 'subproto', 'tls_version'] as const;

/** Options of the first instance: k6 reads no others, and a thousand users are a thousand instances. */
export const options: Options = __VU > 0 ? {} : blockOptions();

function blockOptions(): Options {
  return {
    ...TLS_OPTIONS,
    ...(script ? { systemTags: [...SCRIPT_TAGS], ...keptOptions(script) } : REQUEST_OPTIONS),
    // The pre-flight is in setup(), and a service that hangs answers none of its requests. vtlab waits no longer than that.
    ...(input.isPreflight ? { setupTimeout: '10m' } : {}),
    scenarios: {
      // Every iteration of a user is its part in one phase.
      users: {
        executor: 'per-vu-iterations',
        vus: input.isPreflight ? 1 : block.vus,
        iterations: input.isPreflight ? 1 : block.phases.length,
        // Longer than anything can take: an interrupted request leaves no sample.
        maxDuration: `${block.longest}ms`,
        gracefulStop: `${block.timeout}ms`,
        // `k6 inspect` prints it: how long the block takes where every request is answered in time.
        env: { BLOCK_SECONDS: String(block.seconds) },
      },
    },
    thresholds: input.isPreflight
      ? preflightThresholds(Object.keys(input.targets))
      : {
          ...thresholds(block.phases, users.kinds, script !== undefined),
          ...(script && input.order.length > 0 ? thresholdsOf(script, [...new Set(input.order)]) : {}),
        },
    tags: {
      ...(script?.options?.tags as Record<string, string> | undefined),
      testid: input.runId,
      experiment: input.experiment.name,
      block: String(input.block),
      // As Prometheus's label of the variants' own series.
      ...(input.namespace === undefined ? {} : { namespace: input.namespace }),
      ...variantTag(),
    },
    // Many: a window's values are found by them.
    summaryTrendStats: statistics(!input.isPreflight && block.phases.some(({ parts }) => parts !== undefined)),
  };
}

/**
 * Tags the run with the variant, if there is only one. Another k6 may load another one at the same time: then what counts
 * for no phase must not be the same series.
 */
function variantTag(): Record<string, string> {
  const [variant, ...others] = Object.keys(input.targets);
  return variant !== undefined && others.length === 0 ? { variant } : {};
}

export async function setup(): Promise<Common> {
  if (input.experiment.workload.is_script && !script) {
    throw new Error('EXPERIMENT: its workload is a k6 script, which vtlab alone can run: vtlab run FILE');
  }
  const findings: Record<string, Findings> = {};
  if (input.isPreflight) {
    for (const [variant, base] of Object.entries(input.targets))
      findings[variant] = await users.preflight(variant, base);
    return { clock: 0, data: {}, findings };
  }
  const data = (await scriptUsers?.setup(input.targets)) ?? {};
  return { clock: readClock(), data, findings };
}

export default async function ({ clock, data }: Common): Promise<void> {
  if (input.isPreflight) return;
  setClock(clock, block.grid);
  scriptUsers?.receive(data);
  const phase = block.phases[exec.vu.iterationInScenario] as Phase;
  const user = exec.vu.idInTest - 1;

  const begin = awaitBegin(phase.index, block.vus);
  if (user < block.users) await takePart(phase, begin, user, shared);
  else await probeThrough(phase, begin);
  endOnGrid(phase.requests === undefined ? begin + phase.end : begin);
}

export async function teardown({ data }: Common): Promise<void> {
  if (!input.isPreflight) await scriptUsers?.teardown(input.targets, data);
}

export function handleSummary(summary: Summary): Record<string, string> {
  if (input.isPreflight) {
    const { findings } = summary.setup_data as Common;
    return outputs('', JSON.stringify(preflightDocument(findings, summary)));
  }
  const document = makeDocument(input, block, summary, { kinds: users.kinds, shares: users.shares, script });
  return outputs(table(document, input.lacksRate), JSON.stringify(document));
}

function outputs(text: string, json: string): Record<string, string> {
  if (input.document === undefined) return { stdout: text };
  if (input.document === 'stdout') return { stdout: text + chunks(json) };
  return { stdout: text, [input.document]: `${json}\n` };
}
