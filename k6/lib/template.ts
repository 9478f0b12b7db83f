// Texts with names in braces: `/owners/{id}`, `Bearer {token}`, `{env.KEY}`. Pure: no k6 in here.

/** Returns the value of a name. */
export type Lookup = (name: string) => string;
export type Template = (value: Lookup) => string;

/** A name in braces, as vtlab reads it (`lab/vtlab/model/workload.py`). */
const NAME = /\{((?:env\.)?[A-Za-z_][A-Za-z0-9_-]*)\}/;

/** Makes a template of a text; `literal` and `value` escape what stands in it and the values. */
export function template(text: string, literal = asItIs, value = asItIs): Template {
  // With its one group, split gives texts and names in turn.
  const parts = text.split(new RegExp(NAME, 'g')).map((part, i) => (i % 2 === 0 ? literal(part) : part));
  if (parts.length === 1) {
    const [whole] = parts as [string];
    return () => whole;
  }
  return (lookup) => parts.map((part, i) => (i % 2 === 0 ? part : value(lookup(part)))).join('');
}

/** Makes a template of a path with its query; the path may have one of its own. */
export function target(path: string, query: Record<string, string>): Template {
  const before = template(path, asItIs, encodeURIComponent);
  const pairs = Object.entries(query).map(
    ([key, value]) => [encodeURIComponent(key), template(value, encodeURIComponent, encodeURIComponent)] as const,
  );
  if (pairs.length === 0) return before;
  const separator = path.includes('?') ? '&' : '?';
  return (lookup) => before(lookup) + separator + pairs.map(([key, value]) => `${key}=${value(lookup)}`).join('&');
}

/** Makes a template of a body; in JSON the values are within its strings, where they must not end them. */
export function body(text: string, isJson: boolean): Template {
  return template(text, asItIs, isJson ? inJson : asItIs);
}

function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

function asItIs(text: string): string {
  return text;
}
