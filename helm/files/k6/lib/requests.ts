// One user of a workload of requests.
import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import http from 'k6/http';
import { at, parsed, shape, unmet } from './answers.ts';
import type { Experiment, Request } from './experiment.ts';
import type { User, Users } from './load.ts';
import { drawn, rowOf } from './mix.ts';
import type { Phase } from './plan.ts';
import type { Answer, Findings } from './preflight.ts';
import { random } from './random.ts';
import { body, type Lookup, type Template, target, template } from './template.ts';

/** What nobody but k6 sees: rows of the data, the login, variables of vtlab's environment. */
interface Private {
  columns: string[];
  rows: string[][];
  /** By their names in braces. */
  values: Record<string, string>;
  login: Login | null;
}

const NOTHING: Private = { columns: [], rows: [], values: {}, login: null };

interface Login {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  body: string | null;
  is_json: boolean;
  status: number;
  /** By name the steps to it in the answer. */
  capture: Record<string, string[]>;
}

type Sent = Omit<Request, 'expected' | 'weight'>;

/** A request, ready to be sent. */
interface Prepared {
  method: string;
  /** What tells it from others in k6's own metrics. */
  name: string;
  target: Template;
  headers: [string, Template][];
  body: Template | undefined;
  isRead: boolean;
  expected: ReturnType<typeof http.expectedStatuses>;
}

/** The users of a workload of requests. `path`: a file with what is private, if the workload has that. */
export function requestUsers(
  { workload, windows }: Experiment,
  path: string | undefined,
  timeout: number,
  seed: string,
  read: (path: string) => string,
): Users {
  const rows = shared('rows', (content) => content.rows);
  const [rest] = shared('private', (content) => [{ ...content, rows: [] }]);
  const { columns, values, login } = rest ?? NOTHING;
  const requests = workload.requests.map((request) => ({
    request,
    prepared: prepare(request, request.expected.length > 0),
  }));
  const [only] = workload.requests;
  const cheap =
    only && windows.warmup_query
      ? prepare({ ...only, query: windows.warmup_query }, only.expected.length > 0)
      : undefined;
  const weights = workload.requests.map(({ weight }) => weight);
  const preparedLogin = login && prepare(login, true);
  // Whoever logs in by a row of the data stays that one.
  const isRowKept = columns.some((name) => JSON.stringify(login).includes(`{${name}}`));
  /** By variant what this user captured; null where it could not log in. */
  const captured: Record<string, Record<string, string> | null> = {};
  let loginStatus = 0;

  return { take, login: logIn, preflight };

  function take(phase: Phase, user: number): User {
    const draw = drawn(weights, random(seed, 'requests', user));
    const tokens = captured[phase.variant];
    let n = 0;

    return { skip: () => next(), iterate };

    function next() {
      return { index: draw(), n: n++ };
    }

    function iterate(patience: number) {
      const turn = next();
      if (login && !tokens) return { took: 0, reason: 'login' };
      const { request, prepared } = requests[turn.index] as (typeof requests)[number];
      const row = rows[isRowKept ? user % rows.length : rowOf(user, phase.users, turn.n, rows.length)];
      const lookup: Lookup = (name) => row?.[columns.indexOf(name)] ?? tokens?.[name] ?? values[name] ?? '';
      try {
        const answer = send(phase.isCheap && cheap ? cheap : prepared, phase.base, patience, lookup);
        const { status, timings } = answer;
        // `blocked` lasts until there is a connection, so it holds `connecting` and `tls_handshaking`.
        const took = timings.blocked + timings.duration;
        if (status !== request.status) return { took, reason: `status-${status}` };
        return { took, reason: unmet(answer.body, request.expected) ? 'body' : undefined };
      } catch (error) {
        return { took: 0, reason: reasonOf(String(error)) };
      }
    }
  }

  /** Once for each variant; the user keeps what it captured. */
  function logIn({ variant, base }: Pick<Phase, 'variant' | 'base'>, user: number): void {
    if (!login || !preparedLogin) return;
    const row = rows[user % rows.length];
    const lookup: Lookup = (name) => row?.[columns.indexOf(name)] ?? values[name] ?? '';
    captured[variant] = null;
    try {
      const answer = send(preparedLogin, base, timeout, lookup);
      loginStatus = answer.status;
      if (answer.status !== login.status) return;
      const document = parsed(answer.body);
      const entries = Object.entries(login.capture).map(([name, steps]) => [name, at(document, steps)]);
      if (entries.every(([, value]) => value !== undefined)) {
        captured[variant] = Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
      }
    } catch {
      // Counted where the user has something to send.
    }
  }

  /** The login, and each request once, with the first row. */
  function preflight(variant: string, base: string): Findings {
    exec.vu.metrics.tags.variant = variant;
    logIn({ variant, base }, 0);
    if (login && !captured[variant]) {
      const answer = {
        request: `login: ${login.method} ${login.path}`,
        status: loginStatus,
        reason: 'login',
        shape: null,
      };
      return { answers: [answer], asked: {}, answered: {}, error: null };
    }
    const row = rows[0];
    const lookup: Lookup = (name) => row?.[columns.indexOf(name)] ?? captured[variant]?.[name] ?? values[name] ?? '';
    return {
      answers: workload.requests.map((request) => once(request, base, lookup)),
      asked: {},
      answered: {},
      error: null,
    };
  }

  function once(request: Request, base: string, lookup: Lookup): Answer {
    const answered = { request: `${request.method} ${request.path}`, status: 0, reason: null, shape: null };
    try {
      const { status, body: text } = send(prepare(request, true), base, timeout, lookup);
      const isWrong = status !== request.status;
      const reason = isWrong ? `status-${status}` : unmet(text, request.expected) ? 'body' : null;
      return { ...answered, status, reason, shape: parsed(text) === undefined ? null : shape(parsed(text)) };
    } catch (error) {
      return { ...answered, reason: reasonOf(String(error)) };
    }
  }

  /** One copy for all users. */
  function shared<T>(name: string, part: (content: Private) => T[]): T[] {
    return path === undefined ? [] : new SharedArray(name, () => part(JSON.parse(read(path))));
  }
}

function prepare(request: Sent, isRead: boolean): Prepared {
  const headers = { ...request.headers };
  const isTyped = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  if (request.body !== null && !isTyped) headers['Content-Type'] = request.is_json ? 'application/json' : 'text/plain';
  return {
    method: request.method,
    name: request.path,
    target: target(request.path, request.query),
    headers: Object.entries(headers).map(([name, text]) => [name, template(text)]),
    body: request.body === null ? undefined : body(request.body, request.is_json),
    isRead,
    expected: http.expectedStatuses(request.status),
  };
}

function send(request: Prepared, base: string, timeout: number, lookup: Lookup) {
  const headers = Object.fromEntries(request.headers.map(([name, text]) => [name, text(lookup)]));
  return http.request(request.method, base + request.target(lookup), request.body?.(lookup) ?? null, {
    headers,
    timeout,
    responseType: request.isRead ? 'text' : 'none',
    responseCallback: request.expected,
    tags: { name: request.name },
  });
}

function reasonOf(error: string): string {
  if (/request timeout|deadline exceeded/i.test(error)) return 'timeout';
  if (/dial|connect|refused|reset|broken pipe|EOF|lookup|no such host|closed|tls|x509/i.test(error))
    return 'connection';
  return 'other';
}
