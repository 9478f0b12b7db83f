// Whole numbers that hold several others. As values of a Trend they come back one by one (quantiles.ts), without a tag
// and a time series for each. All are below 2^34. Pure: no k6 in here.
import { parsed, shape } from './answers.ts';
import { fnv1a } from './random.ts';

/** Classes of lengths in a decade. */
const PER_DECADE = 10;
/** Keys of an object from which on they are taken for data. */
const MOST_KEYS = 20;
const [SHAPES, LENGTHS] = [2 ** 20, 2 ** 7];
const MICROSECONDS = 2 ** 24;
/** Probes of a window whose times are told one by one. */
export const MOST_SLOTS = 500;

/** An answer's kind, the least length of its class, and the hash of its shape, empty where it is no JSON. */
export interface Form {
  kind: number;
  length: number;
  shape: string;
}

/**
 * Encodes the form of a body; of an answer without one there is none. A length is in characters: bytes, where all are
 * ASCII.
 */
export function encodeForm(kind: number, body: unknown): number | undefined {
  if (typeof body !== 'string') return undefined;
  return (kind * LENGTHS + lengthClass(body.length)) * SHAPES + shapeHash(body);
}

export function decodeForm(code: number): Form {
  const hash = code % SHAPES;
  const rest = Math.floor(code / SHAPES);
  const length = rest % LENGTHS;
  return {
    kind: Math.floor(rest / LENGTHS),
    length: length === 0 ? 0 : Math.ceil(10 ** ((length - 1) / PER_DECADE) - 1e-9),
    shape: hash === 0 ? '' : hash.toString(16).padStart(5, '0'),
  };
}

/** Encodes the place of a probe among the slots of its window, and the milliseconds that it took. */
export function encodeSlot(slot: number, ms: number): number {
  return slot * MICROSECONDS + Math.round(1000 * ms);
}

export function decodeSlot(code: number): { slot: number; seconds: number } {
  return { slot: Math.floor(code / MICROSECONDS), seconds: (code % MICROSECONDS) / 1e6 };
}

/** Returns 0 for nothing, then classes of equal width on a log axis. */
function lengthClass(length: number): number {
  return length === 0 ? 0 : Math.min(LENGTHS - 1, 1 + Math.floor(PER_DECADE * Math.log10(length) + 1e-9));
}

function shapeHash(body: string): number {
  const document = parsed(body);
  if (document === undefined) return 0;
  const hash = fnv1a(JSON.stringify(shape(document, MOST_KEYS))) >>> 0;
  // As its authors shorten it: the upper bits fold onto the lower ones.
  return Math.max(1, ((hash >>> 20) ^ hash) & (SHAPES - 1));
}
