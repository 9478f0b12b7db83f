// The output of a block: its table, and its document. Pure: no k6 in here.

import type { ProbeRecord } from './answer_record.ts';
import { mean } from './percentiles.ts';
import { PREFIX } from './phase.ts';
import type { Document, TrialRecord } from './record.ts';

/** The typical load as a share of the throughput under full load. */
const SHARE = 0.6;
/** The longest line: longer ones break in `kubectl logs` when stderr is written at the same time. */
const LINE = 8 * 1024;

/** Writes the document as lines `@@vtlab i/n <part>`, ASCII only, so that a character is a byte. */
export function chunks(document: string): string {
  const ascii = document.replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const size = LINE - 64;
  const n = Math.ceil(ascii.length / size);
  let lines = '';
  for (let i = 0; i < n; i++) lines += `@@vtlab ${i + 1}/${n} ${ascii.slice(i * size, (i + 1) * size)}\n`;
  return lines;
}

const HEAD = ['trial', 'variant', 'users', 'OK/s', 'mean', 'p50', 'p95', 'p99', 'errors', 'drops', 'probe'];

/** Writes the table; `lacksRate`: there would be typical load if its rate were known. */
export function table(document: Document, lacksRate = false): string {
  const { warmup, single, typical, light, trials } = document;
  const records = [...warmup, ...single, ...trials, ...typical, ...light];
  const variants = [...new Set(trials.map((record) => record.variant))];
  const means = variants.map((variant) => meanRow(trials.filter((record) => record.variant === variant)));
  const hasProbes = records.some(({ probe }) => probe !== undefined);
  const rows = [HEAD, ...records.map(row), ...means].map((cells) => (hasProbes ? cells : cells.slice(0, -1)));
  const widths = HEAD.map((_, i) => Math.max(...rows.map((cells) => cells[i]?.length ?? 0)));
  const lines = rows.map(
    (cells) =>
      `  ${cells.map((cell, i) => (i < 2 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number))).join('  ')}\n`,
  );

  let text = `\n${document.experiment}, block ${document.block}: one block, warm JVMs, no verdict\n\n`;
  text += lines.slice(0, 1 + records.length).join('');
  if (means.length > 0) text += `\n${lines.slice(1 + records.length).join('')}`;
  if (records.length > trials.length) text += '\n  w: warm-up, s: a single user, t: typical load, l: light load\n';
  if (hasProbes) text += '  probe: the longest answer to a request for liveness, five of which are sent a second\n';
  return `${[text, ...remarks(document, records, lacksRate)].join('\n')}\n`;
}

/** Returns what is to be said of a block beside its figures, a line each. */
function remarks(document: Document, records: TrialRecord[], lacksRate: boolean): string[] {
  const lines = records.filter(({ probe }) => probe?.over_second).map(slowProbes);
  if (lacksRate) lines.push(withoutTypicalLoad(document.trials));
  if (!document.agreed)
    lines.push('  The generator stalled: users disagreed about when a phase began. Do not use this block.\n');
  for (const record of records) {
    const { started, completed } = record;
    if (started !== completed) {
      lines.push(`  ${label(record)}: ${started} requests started, ${completed} completed. Do not use it.\n`);
    }
  }
  return lines;
}

function slowProbes(record: TrialRecord): string {
  const { over_second, sent, unanswered } = record.probe as ProbeRecord;
  const none = unanswered > 0 ? `; ${unanswered} had no answer` : '';
  return `  ${label(record)}: ${over_second} of ${sent} probes took over 1 s${none}.\n`;
}

/** Says why there is no typical load, with the rate that vtlab would have taken from the trials. */
function withoutTypicalLoad(trials: TrialRecord[]): string {
  const [first] = trials;
  const served = mean(trials.filter(({ variant }) => variant === first?.variant).map(({ throughput }) => throughput));
  const rate = served > 0 ? Number((SHARE * served).toPrecision(3)) : 'N';
  return `  No typical load: its rate is not known. Repeat the block with -e RATE=${rate} (requests a second).\n`;
}

function row(record: TrialRecord): string[] {
  const { latency } = record;
  return [
    label(record),
    record.variant,
    String(record.users),
    rate(record.throughput),
    time(latency.mean),
    time(latency.p50),
    time(latency.p95),
    time(latency.p99),
    String(errors(record)),
    String(record.dropped),
    time(record.probe?.longest ?? null),
  ];
}

function meanRow(records: TrialRecord[]): string[] {
  const over = (pick: (record: TrialRecord) => number | null) => {
    const values = records.map(pick);
    return values.includes(null) ? null : mean(values as number[]);
  };
  const first = records[0] as TrialRecord;
  const longest = records.map(({ probe }) => probe?.longest ?? null).filter((seconds) => seconds !== null);
  return [
    'mean',
    first.variant,
    String(first.users),
    rate(over((record) => record.throughput) as number),
    time(over((record) => record.latency.mean)),
    time(over((record) => record.latency.p50)),
    time(over((record) => record.latency.p95)),
    time(over((record) => record.latency.p99)),
    String(+(over(errors) as number).toFixed(1)),
    String(+(over((record) => record.dropped) as number).toFixed(1)),
    time(longest.length > 0 ? Math.max(...longest) : null),
  ];
}

function label(record: TrialRecord): string {
  return PREFIX[record.phase] + record.position;
}

function errors(record: TrialRecord): number {
  return Object.values(record.failed).reduce((sum, n) => sum + n, record.failed_outside);
}

function rate(value: number): string {
  return value.toFixed(value < 10 ? 2 : 1);
}

function time(seconds: number | null): string {
  if (seconds === null) return '-';
  return seconds < 1 ? `${(seconds * 1000).toFixed(seconds < 0.01 ? 2 : 1)} ms` : `${seconds.toFixed(2)} s`;
}
