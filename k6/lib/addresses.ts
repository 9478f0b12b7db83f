// The addresses that a user's script asks, and which of them stand for the variant. Pure: no k6 in here.

/** Returns scheme, host and port of an address; undefined where it has none, as a path. */
export function originOf(url: string): string | undefined {
  return /^https?:\/\/[^/?#]+/i.exec(url)?.[0];
}

/** Returns the same address at another origin. */
export function moved(url: string, from: string, to: string): string {
  return originOf(url) === from ? to + url.slice(from.length) : url;
}

/** Changes a cookie's options from a script's origin to a variant's: its domain, and whether it needs TLS. */
export function movedCookie(options: Record<string, unknown>, from: string, to: string): Record<string, unknown> {
  const isOfOrigin = typeof options.domain === 'string' && hostOf(from) === options.domain.replace(/^\./, '');
  const isPlain = from.startsWith('https:') && to.startsWith('http:');
  return {
    ...options,
    ...(isOfOrigin ? { domain: hostOf(to) } : {}),
    ...(isPlain ? { secure: false } : {}),
  };
}

function hostOf(origin: string): string {
  return origin.replace(/^https?:\/\//, '').replace(/:\d+$/, '');
}
