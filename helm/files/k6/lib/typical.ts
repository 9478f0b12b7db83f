// The typical load of a block by hand, whose users and window no plan of vtlab says. Pure: no k6 in here.

/** Milliseconds from a phase's beginning to its window: the time of many an answer. */
export const SETTLE = 1500;

/** Users answer one arrival each at a time: enough for answers of 3 s. */
export function usersAt(rate: number): number {
  return Math.min(1000, Math.max(20, Math.ceil(3 * rate)));
}

/** Returns the milliseconds in which 3,000 arrivals are expected, within bounds. */
export function windowAt(rate: number): number {
  return Math.min(15_000, Math.max(5000, Math.ceil(3_000_000 / rate)));
}
