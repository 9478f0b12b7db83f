// The kinds of requests that are told apart. Pure: no k6 in here.

/** The most kinds of a workload, the one for all others included. */
const MOST = 20;
const OTHERS = 'others';

/** Kinds by their names, and the kind of each request or task. */
export interface Kinds {
  names: string[];
  of: number[];
}

/** Returns the share of each kind, by the weights of the requests or tasks. */
export function sharesOf(weights: number[], { names, of }: Kinds): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return names.map((_, kind) => weights.reduce((sum, weight, i) => sum + (of[i] === kind ? weight : 0), 0) / total);
}

export function kindsOf(requests: string[]): Kinds {
  const all = [...new Set(requests)];
  const names = all.length > MOST ? [...all.slice(0, MOST - 1), OTHERS] : all;
  return { names, of: requests.map((name) => Math.min(all.indexOf(name), names.length - 1)) };
}

/** The part of a request that tells its kind. */
interface Asked {
  method: string;
  path: string;
  query: Record<string, string>;
}

/**
 * Names requests by method and path, and by their query where several have these in common: one of them may take long.
 * Without the query where all names would be too many.
 */
export function namesOf(requests: Asked[]): string[] {
  const lines = requests.map(({ method, path }) => `${method} ${path}`);
  const names = requests.map(({ query }, i) => {
    const isShared = lines.indexOf(lines[i] as string) !== lines.lastIndexOf(lines[i] as string);
    const pairs = Object.entries(query).map(([name, value]) => `${name}=${value}`);
    return isShared && pairs.length > 0 ? `${lines[i]}?${pairs.join('&')}` : (lines[i] as string);
  });
  return new Set(names).size > MOST ? lines : names;
}
