// The body of an answer: whether it is as expected, and what is taken from it. Pure: no k6 in here.
import type { Expected } from './experiment.ts';

/** Returns the value at the end of these steps from the outside to the inside; undefined where there is none. */
export function at(document: unknown, steps: string[]): unknown {
  let value = document;
  for (const step of steps) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

/** Returns the document in a body; undefined where it is none. */
export function parsed(body: unknown): unknown {
  if (typeof body !== 'string') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Returns the first of the expectations that does not hold. */
export function unmet(body: unknown, expected: Expected[]): Expected | undefined {
  if (expected.length === 0) return undefined;
  const document = parsed(body);
  return expected.find(({ steps, value }) => {
    const actual = at(document, steps);
    if (actual === undefined) return true;
    return value !== null && canonical(actual) !== canonical(JSON.parse(value));
  });
}

/**
 * Puts types in place of values: `{"id":"number","pets":[{"name":"string"}]}`; of an array its first element. Of an
 * object with more keys than `mostKeys` they are data: the first one's value stands for all.
 */
export function shape(value: unknown, mostKeys = Number.POSITIVE_INFINITY): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map((inner) => shape(inner, mostKeys));
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length > mostKeys) return { '*': shape(entries[0]?.[1], mostKeys) };
  return Object.fromEntries(entries.map(([key, inner]) => [key, shape(inner, mostKeys)]));
}

/** Returns the same text for the same value, in whatever order its keys stand. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
