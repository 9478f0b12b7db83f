// One block: equal warm-up, then trials in a mirrored order, against variants that already run.
//
//   k6 run -e EXPERIMENT=blocking -e TARGETS='{"platform":"http://localhost:8081","virtual":"http://localhost:8082"}' block.ts
//
// EXPERIMENT     a name from plans/, or a path to a normalised experiment (vtlab normalise FILE > plan.json)
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
//                none: {"platform":"5s"}; it paces the ramp-up and the beginning of the window as load.round does
// LIGHT          JSON: variant -> [arrivals per second, ...], phases of evenly spaced light load after the trials; 0 is idle
// LIGHT_MEASURE, LIGHT_SETTLE  the window of such a phase, and how long it has arrivals before (an idle one 300 ms); default: 2s, 1s.
//                An answer may take as long as LIGHT_SETTLE
// SEED           what is drawn (arrivals, think times, when a window begins) depends on it and on BLOCK; default: RUN_ID
// RUN_ID, BLOCK  what this block belongs to; go into every sample and the document
// NAMESPACE      where the variants run on Kubernetes; goes into every sample
// DOCUMENT       where the JSON document goes: a path, or `stdout` for lines `@@vtlab i/n …` of at most 8 KB
// USERS, RATE, MEASURE  override the experiment's load and windows
// Durations are written as in an experiment: 5s, 100ms.
import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import http from 'k6/http';
import type { Options } from 'k6/options';
import { arrivals } from './lib/arrivals.ts';
import { awaitBegin, endOnGrid, readClock, setClock } from './lib/clock.ts';
import { parseInput } from './lib/input.ts';
import { takePart } from './lib/load.ts';
import { thresholds } from './lib/metrics.ts';
import { chunks, table } from './lib/output.ts';
import { arrivalsIn, type Phase, plan } from './lib/plan.ts';
import { random } from './lib/random.ts';
import { makeDocument, type Summary } from './lib/record.ts';
import { SUMMARY_STATISTICS } from './lib/statistics.ts';

const input = parseInput(__ENV, (path) => open(import.meta.resolve(path)));
const block = plan(input);
const shared = {
  request: input.experiment.request,
  timeout: block.timeout,
  seed: input.seed,
  // One sequence for all users, the same for every variant of a block.
  arrivals: new SharedArray('arrivals', () => arrivals(random(input.seed, 'arrivals'), arrivalsIn(block.phases))),
};

export const options: Options = {
  scenarios: {
    // Every iteration of a user is its part in one phase.
    users: {
      executor: 'per-vu-iterations',
      vus: block.users,
      iterations: block.phases.length,
      // Longer than anything can take: an interrupted request leaves no sample.
      maxDuration: `${block.longest}ms`,
      gracefulStop: `${block.timeout}ms`,
      // `k6 inspect` prints it: how long the block takes where every request is answered in time.
      env: { BLOCK_SECONDS: String(block.seconds) },
    },
  },
  thresholds: thresholds(block.phases),
  tags: {
    testid: input.runId,
    experiment: input.experiment.name,
    block: String(input.block),
    // As Prometheus's label of the variants' own series.
    ...(input.namespace === undefined ? {} : { namespace: input.namespace }),
  },
  systemTags: ['name', 'method', 'status', 'error_code', 'expected_response'],
  summaryTrendStats: SUMMARY_STATISTICS,
  discardResponseBodies: true,
  maxRedirects: 0,
  noVUConnectionReuse: false,
  // A failed request is counted with its reason, not logged.
  throw: true,
};

http.setResponseCallback(http.expectedStatuses(input.experiment.request.status));

export function setup(): number {
  return readClock();
}

export default function (clock: number): void {
  setClock(clock, block.grid);
  const phase = block.phases[exec.vu.iterationInScenario] as Phase;
  const user = exec.vu.idInTest - 1;

  const begin = awaitBegin(phase.index, block.users);
  takePart(phase, begin, user, shared);
  endOnGrid(phase.requests === undefined ? begin + phase.end : begin);
}

export function handleSummary(summary: Summary): Record<string, string> {
  const document = makeDocument(input, block, summary);
  const json = JSON.stringify(document);
  const text = table(document);
  if (input.document === undefined) return { stdout: text };
  if (input.document === 'stdout') return { stdout: text + chunks(json) };
  return { stdout: text, [input.document]: `${json}\n` };
}
