// The k6/http of a user's script, by whatever name it imports it: each iteration has its own cookie jar, and an origin
// that stands in the script is the variant's. k6 itself gives a new jar to its own iterations alone.
import http from 'k6/http';
import { moved, movedCookie, originOf } from './addresses.ts';
import { now } from './clock.ts';
import type { Answered } from './users.ts';

/** The functions of k6, before they are replaced. */
const k6 = { ...http } as unknown as Record<string, (...all: unknown[]) => unknown>;
const K6Jar = http.CookieJar;
type K6Jar = InstanceType<typeof K6Jar>;

/** The variant for which requests are sent, and what they asked for. */
export const sending = {
  /** The variant's address. */
  base: '',
  /** The origin that stands for the variant in the script; undefined: none. */
  origin: undefined as string | undefined,
  /** True: every origin is taken for the variant's, so nothing goes elsewhere. */
  isPreflight: false,
  jar: undefined as Jar | undefined,
  /**
   * OK answers of the variant in an iteration, and the bodies that the script has of them; undefined where nobody wants
   * them.
   */
  answers: undefined as Answered[] | undefined,
  bodies: undefined as string[] | undefined,
  /** Requests by origin, as the script asks for them, and by the origin that answered. */
  asked: {} as Record<string, number>,
  answered: {} as Record<string, number>,
};

type Params = Record<string, unknown> | null | undefined;

/** A cookie jar of k6's, with addresses of the variant. */
export class Jar {
  readonly inner: K6Jar;

  constructor() {
    this.inner = new K6Jar();
  }

  cookiesForURL(url: string) {
    return this.inner.cookiesForURL(variantUrl(url));
  }

  set(url: string, name: string, value: string, options?: Record<string, unknown>) {
    const from = originOf(url);
    const to = originOf(variantUrl(url));
    const isMoved = options && from !== undefined && to !== undefined && from !== to;
    return this.inner.set(variantUrl(url), name, value, (isMoved ? movedCookie(options, from, to) : options) as never);
  }

  clear(url: string) {
    return this.inner.clear(variantUrl(url));
  }

  delete(url: string, name: string) {
    return this.inner.delete(variantUrl(url), name);
  }
}

/** Replaces k6's functions, for everything in this user's runtime. */
export function patch(): void {
  const replaced: Record<string, unknown> = {
    CookieJar: Jar,
    cookieJar: () => sending.jar ?? k6.cookieJar?.(),
    get: (url: unknown, params: Params) => sendToVariant(url, params, (to, options) => k6.get?.(to, options)),
    head: (url: unknown, params: Params) => sendToVariant(url, params, (to, options) => k6.head?.(to, options)),
    batch: (requests: unknown) => {
      const from = moment();
      const all = Array.isArray(requests)
        ? requests.map(batched)
        : Object.fromEntries(Object.entries(requests as object).map(([key, value]) => [key, batched(value)]));
      const answers = k6.batch?.(all) as Record<string, unknown>;
      for (const key of Object.keys(answers)) answers[key] = received(answers[key], from);
      return answers;
    },
    asyncRequest: async (method: string, url: unknown, body: unknown, params: Params) => {
      const { to, options } = redirected(url, params);
      const from = moment();
      return received(await k6.asyncRequest?.(method, to, body, options), from);
    },
    request: (method: string, url: unknown, body: unknown, params: Params) =>
      sendToVariant(url, params, (to, options) => k6.request?.(method, to, body, options)),
  };
  for (const name of ['post', 'put', 'patch', 'del', 'options']) {
    replaced[name] = (url: unknown, body: unknown, params: Params) =>
      sendToVariant(url, params, (to, options) => k6[name]?.(to, body, options));
  }
  Object.assign(http, replaced);
}

/** Sends a request to the variant, if it is for it. */
function sendToVariant(url: unknown, params: Params, send: (to: unknown, options: Params) => unknown): unknown {
  const { to, options } = redirected(url, params);
  const from = moment();
  return received(send(to, options), from);
}

/** Returns where a request goes, and its parameters with the jar. */
function redirected(url: unknown, params: Params): { to: unknown; options: Params } {
  const { address, name } = addressOf(url);
  const origin = originOf(address);
  if (origin !== undefined) sending.asked[origin] = (sending.asked[origin] ?? 0) + 1;
  const to = variantUrl(address);
  const jar = (params?.jar ?? sending.jar) as Jar | K6Jar | undefined;
  const options = { ...params, ...(jar ? { jar: jar instanceof Jar ? jar.inner : jar } : {}) };
  // In metrics a request has the name that it has in the script.
  if (to === address) return { to: url, options };
  return { to, options: { ...options, tags: { name, ...(params?.tags as object | undefined) } } };
}

/** Returns an address that is a text, a URL, or one of http.url. */
function addressOf(url: unknown): { address: string; name: string } {
  const { url: address, name } = (typeof url === 'object' && url !== null ? url : {}) as Record<string, unknown>;
  if (typeof address === 'string' && typeof name === 'string') return { address, name };
  return { address: String(url), name: String(url) };
}

function batched(request: unknown): unknown {
  if (Array.isArray(request)) {
    const [method, url, body, params] = request;
    const { to, options } = redirected(url, params);
    return [method, to, body ?? null, options];
  }
  if (typeof request === 'object' && request !== null && 'method' in request) {
    const { url, params, ...rest } = request as unknown as { url: unknown; params?: Params };
    const { to, options } = redirected(url, params);
    return { ...rest, url: to, params: options };
  }
  const { to, options } = redirected(request, undefined);
  return ['GET', to, null, options];
}

/** Returns the address at the variant, if it stands for that. */
function variantUrl(url: string): string {
  if (sending.origin !== undefined) return moved(url, sending.origin, sending.base);
  const origin = originOf(url);
  return sending.isPreflight && origin !== undefined ? moved(url, origin, sending.base) : url;
}

/** An answer, as far as it is read here. */
interface Response {
  headers?: Record<string, string>;
  status?: number;
  url?: string;
  body?: unknown;
  request?: { url: string };
  timings?: { blocked: number; duration: number };
}

/** Returns the time where answers are recorded. k6 has no clock in setup() and teardown(), where none are. */
function moment(): number {
  return sending.answers ? now() : 0;
}

/** Records an OK answer of the variant to a request of that time. */
function record(answer: Response, from: number): void {
  const { status = 0, url, timings } = answer;
  if (!sending.answers || !timings || status < 200 || status > 399) return;
  const at = now();
  // Of a chain of redirects its timings are the last one's.
  const isRedirected = url !== answer.request?.url;
  sending.answers.push({ took: isRedirected ? at - from : timings.blocked + timings.duration, at });
  if (sending.bodies && typeof answer.body === 'string') sending.bodies.push(answer.body);
}

/** Sends what an answer's form or link asks for. */
function submitted(send: () => unknown): unknown {
  const from = moment();
  return received(send(), from);
}

/** Counts an answer, and gives the jar to its own requests, too, which go k6's own way. */
function received(answer: unknown, from: number): unknown {
  const response = (answer ?? {}) as Response;
  const { headers, status, url } = response;
  const origin = status ? originOf(url ?? '') : undefined;
  if (origin !== undefined) sending.answered[origin] = (sending.answered[origin] ?? 0) + 1;
  if (origin === originOf(sending.base)) record(response, from);
  if (!/html/.test(headers?.['Content-Type'] ?? '') || !sending.jar) return answer;
  const jar = sending.jar.inner;
  return new Proxy(answer as object, {
    get(target, key) {
      const value = Reflect.get(target, key);
      if (key === 'submitForm' || key === 'clickLink') {
        return (options: { params?: object } = {}) =>
          submitted(() => value.call(target, { ...options, params: { jar, ...options.params } }));
      }
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
