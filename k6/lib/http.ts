// What a user's script gets for k6/http, by whatever name it imports it: each iteration has its own cookie jar, and an
// origin that stands in the script is the variant's. k6 itself gives a new jar to its own iterations alone.
import http from 'k6/http';
import { moved, movedCookie, originOf } from './addresses.ts';

/** As k6 has them, before they are replaced. */
const k6 = { ...http } as unknown as Record<string, (...all: unknown[]) => unknown>;
const K6Jar = http.CookieJar;
type K6Jar = InstanceType<typeof K6Jar>;

/** For whom requests are sent, and what they asked for. */
export const now = {
  /** The variant's address. */
  base: '',
  /** The origin that stands for the variant in the script; undefined: none. */
  origin: undefined as string | undefined,
  /** Whether every origin is taken for the variant's: nothing goes elsewhere. */
  isPreflight: false,
  jar: undefined as Jar | undefined,
  /** Requests by origin, as the script asks for them, and by the origin that answered. */
  asked: {} as Record<string, number>,
  answered: {} as Record<string, number>,
};

type Params = Record<string, unknown> | null | undefined;

/** k6's own, with addresses of the variant. */
export class Jar {
  readonly inner: K6Jar;

  constructor() {
    this.inner = new K6Jar();
  }

  cookiesForURL(url: string) {
    return this.inner.cookiesForURL(there(url));
  }

  set(url: string, name: string, value: string, options?: Record<string, unknown>) {
    const from = originOf(url);
    const to = originOf(there(url));
    const isMoved = options && from !== undefined && to !== undefined && from !== to;
    return this.inner.set(there(url), name, value, (isMoved ? movedCookie(options, from, to) : options) as never);
  }

  clear(url: string) {
    return this.inner.clear(there(url));
  }

  delete(url: string, name: string) {
    return this.inner.delete(there(url), name);
  }
}

/** Replaces k6's functions, for everything in this user's runtime. */
export function patch(): void {
  const replaced: Record<string, unknown> = {
    CookieJar: Jar,
    cookieJar: () => now.jar ?? k6.cookieJar?.(),
    get: (url: unknown, params: Params) => sent(url, params, (to, ours) => k6.get?.(to, ours)),
    head: (url: unknown, params: Params) => sent(url, params, (to, ours) => k6.head?.(to, ours)),
    batch: (requests: unknown) => {
      const all = Array.isArray(requests)
        ? requests.map(ofBatch)
        : Object.fromEntries(Object.entries(requests as object).map(([key, value]) => [key, ofBatch(value)]));
      const answers = k6.batch?.(all) as Record<string, unknown>;
      for (const key of Object.keys(answers)) answers[key] = withForms(answers[key]);
      return answers;
    },
    asyncRequest: async (method: string, url: unknown, body: unknown, params: Params) => {
      const { to, ours } = prepared(url, params);
      return withForms(await k6.asyncRequest?.(method, to, body, ours));
    },
    request: (method: string, url: unknown, body: unknown, params: Params) =>
      sent(url, params, (to, ours) => k6.request?.(method, to, body, ours)),
  };
  for (const name of ['post', 'put', 'patch', 'del', 'options']) {
    replaced[name] = (url: unknown, body: unknown, params: Params) =>
      sent(url, params, (to, ours) => k6[name]?.(to, body, ours));
  }
  Object.assign(http, replaced);
}

function sent(url: unknown, params: Params, send: (to: unknown, ours: Params) => unknown): unknown {
  const { to, ours } = prepared(url, params);
  return withForms(send(to, ours));
}

function prepared(url: unknown, params: Params): { to: unknown; ours: Params } {
  const { address, name } = parts(url);
  const origin = originOf(address);
  if (origin !== undefined) now.asked[origin] = (now.asked[origin] ?? 0) + 1;
  const to = there(address);
  const jar = (params?.jar ?? now.jar) as Jar | K6Jar | undefined;
  const ours = { ...params, ...(jar ? { jar: jar instanceof Jar ? jar.inner : jar } : {}) };
  // In metrics a request has the name that it has in the script.
  if (to === address) return { to: url, ours };
  return { to, ours: { ...ours, tags: { name, ...(params?.tags as object | undefined) } } };
}

/** An address that is a text, an URL, or of http.url. */
function parts(url: unknown): { address: string; name: string } {
  const { url: address, name } = (typeof url === 'object' && url !== null ? url : {}) as Record<string, unknown>;
  if (typeof address === 'string' && typeof name === 'string') return { address, name };
  return { address: String(url), name: String(url) };
}

function ofBatch(request: unknown): unknown {
  if (Array.isArray(request)) {
    const [method, url, body, params] = request;
    const { to, ours } = prepared(url, params);
    return [method, to, body ?? null, ours];
  }
  if (typeof request === 'object' && request !== null && 'method' in request) {
    const { url, params, ...rest } = request as unknown as { url: unknown; params?: Params };
    const { to, ours } = prepared(url, params);
    return { ...rest, url: to, params: ours };
  }
  const { to, ours } = prepared(request, undefined);
  return ['GET', to, null, ours];
}

function there(url: string): string {
  if (now.origin !== undefined) return moved(url, now.origin, now.base);
  const origin = originOf(url);
  return now.isPreflight && origin !== undefined ? moved(url, origin, now.base) : url;
}

/** An answer's own requests go by k6's own way: they get the jar, too. */
function withForms(answer: unknown): unknown {
  const { headers, status, url } = (answer ?? {}) as {
    headers?: Record<string, string>;
    status?: number;
    url?: string;
  };
  const origin = status ? originOf(url ?? '') : undefined;
  if (origin !== undefined) now.answered[origin] = (now.answered[origin] ?? 0) + 1;
  if (!/html/.test(headers?.['Content-Type'] ?? '') || !now.jar) return answer;
  const jar = now.jar.inner;
  return new Proxy(answer as object, {
    get(target, key) {
      const value = Reflect.get(target, key);
      if (key === 'submitForm' || key === 'clickLink') {
        return (options: { params?: object } = {}) =>
          withForms(value.call(target, { ...options, params: { jar, ...options.params } }));
      }
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
