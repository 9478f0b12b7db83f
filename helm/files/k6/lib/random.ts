// Random numbers from a seed: the same seed draws the same again. Pure: no k6 in here.

/** Draws the next number of [0, 1). */
export type Random = () => number;

/** Returns numbers for one purpose, and for one of several (a user, a trial): each pair has numbers of its own. */
export function random(seed: string, purpose: string, which = 0): Random {
  return sfc32(fnv1a(seed), fnv1a(purpose), which);
}

/** Draws from the exponential distribution with mean 1. */
export function exponential(draw: Random): number {
  return -Math.log(1 - draw());
}

/**
 * Returns Chris Doty-Humphrey's Small Fast Counting generator of 32 bits, from PractRand
 * (https://pracrand.sourceforge.net), seeded as there: the counter begins with 1, and the first 15 numbers are passed
 * over.
 */
function sfc32(first: number, second: number, third: number): Random {
  let [a, b, c, counter] = [first | 0, second | 0, third | 0, 1];
  function next(): number {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }
  for (let i = 0; i < 15; i++) next();
  return next;
}

/** Returns the hash FNV-1a of 32 bits (http://www.isthe.com/chongo/tech/comp/fnv/), over UTF-16 units. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}
