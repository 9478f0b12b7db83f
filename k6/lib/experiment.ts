// An experiment: what one file in experiments/ says, checked. Pure: no k6 in here.
import { fail } from './input.ts';

export interface Experiment {
  name: string;
  request: { method: string; path: string; query: Record<string, string>; status: number };
  load: Closed | Open;
  windows: {
    warmupUsers: number;
    /** Replaces the request's query in the warm-up. */
    warmupQuery: Record<string, string>;
    warmupLoad: number;
    warmupCycles: number;
    spread: number;
    measure: number;
    /** The windows of variants that need others. */
    measureOf: Record<string, number>;
  };
  maxResponse: number;
  ideal: Record<string, number>;
}

export interface Closed {
  model: 'closed';
  users: number;
  thinkTime: number;
}

export interface Open {
  model: 'open';
  users: number;
  rate: number;
}

type Json = Record<string, unknown>;

// Every key an experiment may have; those after the bar are for vtlab, and k6 leaves them alone.
const KEYS = {
  '': 'name request load windows max_response ideal | $schema description publication service primary limits variants properties settings needs',
  request: 'method path query status',
  closed: 'model users think_time',
  open: 'model users rate',
  windows: 'warmup_users warmup_query warmup_load warmup_cycles spread measure measure_of | max_cycles trials drain',
};

/** All durations become milliseconds. */
export function parseExperiment(text: string, file: string): Experiment {
  const top = parseObject(text, file);
  const at = (path: string) => `${file}: ${path}`;
  onlyKeys(top, KEYS[''], file);

  const request = object(top.request, at('request'));
  onlyKeys(request, KEYS.request, at('request'));
  const path = string(request.path, at('request.path'));
  if (!path.startsWith('/')) fail(at('request.path'), `${show(path)} does not begin with a slash`, 'write "/…"');
  const query = parseQuery(request.query ?? {}, at('request.query'));

  const windows = object(top.windows, at('windows'));
  onlyKeys(windows, KEYS.windows, at('windows'));

  const ideal: Record<string, number> = {};
  for (const [variant, value] of Object.entries(object(top.ideal ?? {}, at('ideal')))) {
    ideal[variant] = positive(value, at(`ideal.${variant}`));
  }

  const measureOf: Record<string, number> = {};
  for (const [variant, value] of Object.entries(object(windows.measure_of ?? {}, at('windows.measure_of')))) {
    measureOf[variant] = duration(value, at(`windows.measure_of.${variant}`));
  }

  return {
    name: string(top.name, at('name')),
    request: {
      method: string(request.method ?? 'GET', at('request.method')),
      path,
      query,
      status: whole(request.status ?? 200, at('request.status')),
    },
    load: parseLoad(object(top.load, at('load')), at('load')),
    windows: {
      warmupUsers: whole(windows.warmup_users, at('windows.warmup_users')),
      warmupQuery: windows.warmup_query ? parseQuery(windows.warmup_query, at('windows.warmup_query')) : query,
      warmupLoad: duration(windows.warmup_load, at('windows.warmup_load')),
      warmupCycles: whole(windows.warmup_cycles, at('windows.warmup_cycles'), 0),
      spread: duration(windows.spread, at('windows.spread')),
      measure: duration(windows.measure, at('windows.measure')),
      measureOf,
    },
    maxResponse: duration(top.max_response, at('max_response')),
    ideal,
  };
}

function parseQuery(value: unknown, at: string): Record<string, string> {
  return Object.fromEntries(Object.entries(object(value, at)).map(([key, text]) => [key, String(text)]));
}

function parseLoad(load: Json, at: string): Closed | Open {
  switch (load.model) {
    case 'closed':
      onlyKeys(load, KEYS.closed, at);
      return {
        model: 'closed',
        users: whole(load.users, `${at}.users`),
        thinkTime: duration(load.think_time ?? '0s', `${at}.think_time`, true),
      };
    case 'open':
      onlyKeys(load, KEYS.open, at);
      return {
        model: 'open',
        users: whole(load.users, `${at}.users`),
        rate: positive(load.rate, `${at}.rate`),
      };
    default:
      return fail(`${at}.model`, `there is no load model ${show(load.model)}`, 'write "closed" or "open"');
  }
}

/** Milliseconds from "100ms", "1.5s", "1m30s" or a bare number of seconds. */
export function duration(value: unknown, at: string, zero = false): number {
  const text = String(value);
  let ms = Number.NaN;
  if (/^\d+(\.\d+)?$/.test(text)) {
    ms = Number(text) * 1000;
  } else if (/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) {
    const unit: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
    ms = 0;
    for (const [, n, u] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) ms += Number(n) * (unit[u as string] as number);
  }
  if (!(zero ? ms >= 0 : ms > 0)) {
    fail(at, `${show(value)} is not a ${zero ? '' : 'positive '}duration`, 'write one like "5s" or "100ms"');
  }
  return ms;
}

export function whole(value: unknown, at: string, least = 1): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least) {
    fail(at, `${show(value)} is not a whole number of at least ${least}`, 'correct it');
  }
  return value;
}

export function positive(value: unknown, at: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0) {
    fail(at, `${show(value)} is not a positive number`, 'correct it');
  }
  return value;
}

export function parseObject(text: string, at: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    fail(at, `not JSON (${(error as Error).message})`, 'correct it');
  }
  return object(value, at);
}

function object(value: unknown, at: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    fail(at, value === undefined ? 'missing' : `${show(value)} is not an object`, 'write {…}');
  }
  return value as Json;
}

function string(value: unknown, at: string): string {
  if (typeof value !== 'string' || value === '') fail(at, `${show(value)} is not a text`, 'write "…"');
  return value;
}

function onlyKeys(value: Json, keys: string, at: string): void {
  const known = keys.split(' ').filter((key) => key !== '|');
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) fail(at, `unknown key ${show(key)}`, `known are ${known.join(', ')}`);
  }
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
