// The output of a block: its table, and its document. Pure: no k6 in here.

import { mean } from './percentiles.ts';
import { PREFIX } from './phase.ts';
import type { Document, TrialRecord } from './record.ts';

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

const HEAD = ['trial', 'variant', 'users', 'OK/s', 'mean', 'p50', 'p99', 'errors', 'drops'];

export function table(document: Document): string {
  const { warmup, single, light, trials } = document;
  const records = [...warmup, ...single, ...trials, ...light];
  const rows = [HEAD, ...records.map(row)];
  const variants = [...new Set(trials.map((record) => record.variant))];
  const means = variants.map((variant) => meanRow(trials.filter((record) => record.variant === variant)));
  const widths = HEAD.map((_, i) => Math.max(...[...rows, ...means].map((cells) => (cells[i] as string).length)));
  const line = (cells: string[]) =>
    `  ${cells.map((cell, i) => (i < 2 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number))).join('  ')}\n`;

  let text = `\n${document.experiment}, block ${document.block}: one block, warm JVMs, no verdict\n\n`;
  text += rows.map(line).join('');
  if (means.length > 0) text += `\n${means.map(line).join('')}`;
  if (records.length > trials.length) text += '\n  w: warm-up, s: a single user, l: light load\n';
  if (!document.agreed)
    text += '\n  The generator stalled: users disagreed about when a phase began. Do not use this block.\n';
  for (const record of records) {
    if (record.started !== record.completed) {
      text += `\n  ${label(record)}: ${record.started} requests started, ${record.completed} completed. Do not use it.\n`;
    }
  }
  return `${text}\n`;
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
    time(latency.p99),
    String(errors(record)),
    String(record.dropped),
  ];
}

function meanRow(records: TrialRecord[]): string[] {
  const over = (pick: (record: TrialRecord) => number | null) => {
    const values = records.map(pick);
    return values.includes(null) ? null : mean(values as number[]);
  };
  const first = records[0] as TrialRecord;
  return [
    'mean',
    first.variant,
    String(first.users),
    rate(over((record) => record.throughput) as number),
    time(over((record) => record.latency.mean)),
    time(over((record) => record.latency.p50)),
    time(over((record) => record.latency.p99)),
    String(+(over(errors) as number).toFixed(1)),
    String(+(over((record) => record.dropped) as number).toFixed(1)),
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
