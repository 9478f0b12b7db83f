// When the arrivals of an open load are due, and whose they are. Pure: no k6 in here.
import { exponential, type Random } from './random.ts';

/** Returns when the i-th arrival of a load is due, in milliseconds from the phase's beginning; NaN beyond the last. */
export type Due = (i: number) => number;

/**
 * Draws the times of arrivals, on average one in each unit of time, until one comes at `until` or later. Gaps are
 * exponential, so the numbers of arrivals in two spans of time are independent: as of many users who know nothing of
 * each other.
 */
export function arrivals(draw: Random, until: number): number[] {
  const times: number[] = [];
  for (let time = 0; time < until; ) {
    time += exponential(draw);
    times.push(time);
  }
  return times;
}

/** Scales a sequence of arrivals to a rate per second. */
export function inSequence(sequence: ArrayLike<number>, rate: number): Due {
  return (i) => (1000 * (sequence[i] ?? Number.NaN)) / rate;
}

export function evenly(rate: number): Due {
  return (i) => (1000 * i) / rate;
}

/**
 * Deals the arrivals of one load to its users in turn: draws the next one of this user. (Sequences of their own would
 * have a user that is free once in `gap` seconds drop 1 - e^(-R/gap) of its arrivals, in a service that keeps up.)
 */
export function dealt(due: Due, user: number, users: number): () => number {
  let i = user - users;
  return () => {
    i += users;
    return due(i);
  };
}

/** Returns the part of a request's time, from being sent to its answer, that lies in a window [start, end). */
export function partIn(start: number, end: number, from: number, to: number): number {
  if (to <= from) return from >= start && from < end ? 1 : 0;
  return timeIn(start, end, from, to) / (to - from);
}

/** Returns how much of the time between two moments lies in a window. */
export function timeIn(start: number, end: number, from: number, to: number): number {
  return Math.max(0, Math.min(to, end) - Math.max(from, start));
}

/** Tells whether a request was in flight at that time: due or sent before, answered then or later. */
export function inFlightAt(time: number, from: number, to: number): boolean {
  return from < time && to >= time;
}
