// The users of a workload of requests.
import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import http from 'k6/http';
import { at, parsed, shape, unmet } from './answers.ts';
import { encodeForm } from './codes.ts';
import type { Experiment, Request } from './experiment.ts';
import { kindsOf, namesOf, sharesOf } from './kinds.ts';
import { Choices, Rows } from './mix.ts';
import type { Phase } from './phase.ts';
import type { Answer, Findings } from './preflight.ts';
import { body, type Lookup, type Template, target, template } from './template.ts';
import type { User, Users } from './users.ts';

/** Data that nobody but k6 sees: rows, the login, variables of vtlab's environment. */
interface Private {
  columns: string[];
  rows: string[][];
  /** Variables by their names in braces. */
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
  /** The steps to a value in the answer, by its name. */
  capture: Record<string, string[]>;
}

type Sent = Omit<Request, 'expected' | 'weight'>;

/** A request, ready to be sent. */
interface Prepared {
  method: string;
  /** The name that tells it from others in k6's own metrics. */
  name: string;
  target: Template;
  headers: [string, Template][];
  body: Template | undefined;
  isRead: boolean;
  expected: ReturnType<typeof http.expectedStatuses>;
}

/** A request whose turn it is. */
interface Turn {
  request: Request;
  prepared: Prepared;
  kind: number;
}

/** Settings of the users: the experiment, and how long they wait for an answer. */
interface Settings {
  experiment: Experiment;
  /** A file with what is private, if the workload has that. */
  privatePath: string | undefined;
  timeout: number;
  seed: string;
  /** Rows that earlier calls of k6 took, by variant. */
  rowsBefore: Record<string, number>;
  read: (path: string) => string;
}

export class RequestUsers implements Users {
  readonly kinds: string[];
  readonly shares: number[];
  private readonly settings: Settings;
  private readonly rows: string[][];
  private readonly secrets: Private;
  private readonly requests: Turn[];
  private readonly choices: Choices;
  private readonly turns: Rows;
  /** The request of cheap warm-up cycles, if there is one. */
  private readonly cheap: Prepared | undefined;
  private readonly preparedLogin: Prepared | null;
  /** Users who log in by a row of the data stay that one. */
  private readonly isRowKept: boolean;
  /** Values that this user captured, by variant; null where it could not log in. */
  private readonly captured: Record<string, Record<string, string> | null> = {};
  private loginStatus = 0;

  constructor(settings: Settings) {
    const { workload, windows } = settings.experiment;
    this.settings = settings;
    this.rows = this.shared('rows', (content) => content.rows);
    const [rest] = this.shared('private', (content) => [{ ...content, rows: [] }]);
    this.secrets = rest ?? NOTHING;
    const kinds = kindsOf(namesOf(workload.requests));
    this.kinds = kinds.names;
    this.requests = workload.requests.map((request, i) => ({
      request,
      prepared: prepare(request, request.expected.length > 0),
      kind: kinds.of[i] as number,
    }));
    const weights = workload.requests.map(({ weight }) => weight);
    this.shares = sharesOf(weights, kinds);
    this.choices = new Choices(weights, settings.seed, 'requests');
    this.turns = new Rows(this.rows.length, settings.rowsBefore);
    const [only] = workload.requests;
    if (only && windows.warmup_query) {
      this.cheap = prepare({ ...only, query: windows.warmup_query }, only.expected.length > 0);
    }
    const { login, columns } = this.secrets;
    this.preparedLogin = login && prepare(login, true);
    this.isRowKept = columns.some((name) => JSON.stringify(login).includes(`{${name}}`));
  }

  take(phase: Phase, user: number): User {
    const { requests, rows, cheap, isRowKept } = this;
    const draw = this.choices.of(phase, user);
    const tokens = this.captured[phase.variant];
    const isLoggedOut = this.secrets.login !== null && !tokens;
    if (phase.rowsBefore !== undefined) this.turns.begin(phase.variant, phase.rowsBefore, user);
    const nextRow = () => (isRowKept ? user % rows.length : this.turns.next(phase.variant, user, phase.users));
    const next = () => requests[draw()] as Turn;
    return {
      skip: () => {
        nextRow();
        return next().kind;
      },
      iterate: (patience, isSampled) => {
        const { request, prepared, kind } = next();
        const row = rows[nextRow()];
        if (isLoggedOut) return { took: 0, reason: 'login', kind };
        const lookup = this.lookup(row, tokens);
        try {
          const answer = send(phase.isCheap && cheap ? cheap : prepared, phase.base, patience, lookup, isSampled);
          // `blocked` lasts until there is a connection, so it holds `connecting` and `tls_handshaking`.
          const took = answer.timings.blocked + answer.timings.duration;
          const reason = reasonToFail(request, answer.status, answer.body);
          if (isSampled && reason === undefined) return { took, kind, form: encodeForm(kind, answer.body) };
          return { took, reason, kind };
        } catch (error) {
          return { took: 0, reason: reasonOf(String(error)), kind };
        }
      },
    };
  }

  /** Logs in, once for each variant; the user keeps what it captured. */
  login({ variant, base }: Pick<Phase, 'variant' | 'base'>, user: number): void {
    const { login } = this.secrets;
    if (!login || !this.preparedLogin) return;
    const row = this.rows[user % this.rows.length];
    this.captured[variant] = null;
    try {
      const answer = send(this.preparedLogin, base, this.settings.timeout, this.lookup(row));
      this.loginStatus = answer.status;
      if (answer.status !== login.status) return;
      const document = parsed(answer.body);
      const entries = Object.entries(login.capture).map(([name, steps]) => [name, at(document, steps)]);
      if (entries.every(([, value]) => value !== undefined)) {
        this.captured[variant] = Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
      }
    } catch {
      // Counted where the user has something to send.
    }
  }

  /** Logs in and sends each request once, with the first row. */
  preflight(variant: string, base: string): Findings {
    exec.vu.metrics.tags.variant = variant;
    this.login({ variant, base }, 0);
    const { login } = this.secrets;
    const tokens = this.captured[variant];
    const lookup = this.lookup(this.rows[0], tokens);
    const isRefused = login && !tokens;
    const answers = isRefused
      ? [this.refusal(login)]
      : this.settings.experiment.workload.requests.map((request) => this.answer(request, base, lookup));
    return { answers, asked: {}, answered: {}, error: null };
  }

  private refusal(login: Login): Answer {
    const request = `login: ${login.method} ${login.path}`;
    return { request, status: this.loginStatus, reason: 'login', shape: null };
  }

  private answer(request: Request, base: string, lookup: Lookup): Answer {
    const unanswered = { request: `${request.method} ${request.path}`, status: 0, reason: null, shape: null };
    try {
      const { status, body: text } = send(prepare(request, true), base, this.settings.timeout, lookup);
      const document = parsed(text);
      const reason = reasonToFail(request, status, text) ?? null;
      return { ...unanswered, status, reason, shape: document === undefined ? null : shape(document) };
    } catch (error) {
      return { ...unanswered, reason: reasonOf(String(error)) };
    }
  }

  /** Returns the values of names: from a row of the data, from what the user captured, from the variables. */
  private lookup(row: string[] | undefined, tokens?: Record<string, string> | null): Lookup {
    const { columns, values } = this.secrets;
    return (name) => row?.[columns.indexOf(name)] ?? tokens?.[name] ?? values[name] ?? '';
  }

  /** Returns a part of what is private, in one copy for all users. */
  private shared<T>(name: string, part: (content: Private) => T[]): T[] {
    const { privatePath, read } = this.settings;
    return privatePath === undefined ? [] : new SharedArray(name, () => part(JSON.parse(read(privatePath))));
  }
}

/** Returns why an answer is not the expected one; undefined where it is. */
function reasonToFail(request: Request, status: number, body: unknown): string | undefined {
  if (status !== request.status) return `status-${status}`;
  return unmet(body, request.expected) ? 'body' : undefined;
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

/** Sends a request; `isRead`: its answer's body is read in any case. */
function send(request: Prepared, base: string, timeout: number, lookup: Lookup, isRead = false) {
  const headers = Object.fromEntries(request.headers.map(([name, text]) => [name, text(lookup)]));
  return http.request(request.method, base + request.target(lookup), request.body?.(lookup) ?? null, {
    headers,
    timeout,
    responseType: request.isRead || isRead ? 'text' : 'none',
    responseCallback: request.expected,
    tags: { name: request.name },
  });
}

/** Classifies k6's error for a request without an answer. */
function reasonOf(error: string): string {
  if (/request timeout|deadline exceeded/i.test(error)) return 'timeout';
  if (/dial|connect|refused|reset|broken pipe|EOF|lookup|no such host|closed|tls|x509/i.test(error))
    return 'connection';
  return 'other';
}
