// The parts of a window, and which answers in it are sampled. Pure: no k6 in here.

/** Milliseconds of a part, and how many parts a window has at most: parts of a longer one are whole numbers of these. */
const PART = 500;
const MOST_PARTS = 60;
/** Sampled answers of closed load in a part and in a window, at most. Quantiles tell 501 values exactly. */
const SAMPLED_IN_PART = 20;
const SAMPLED = 480;
/** Sampled answers of open load in a window, on average: its number of arrivals is drawn. */
const SAMPLED_ARRIVALS = 400;

/** The parts of one window. */
export interface Parts {
  count: number;
  /** Milliseconds of each; the last one may be shorter. */
  length: number;
  sampling: Sampling;
}

/**
 * The choice of answers whose body is read, before anything is known of them: of open load every n-th arrival, of closed
 * load the first requests in each part of the users whose number is a multiple of n.
 */
export type Sampling = { everyArrival: number } | { everyUser: number; requests: number };

/** `rate`: arrivals per second of an open load. */
export function partsOf(window: number, users: number, rate: number | undefined): Parts {
  const length = PART * Math.max(1, Math.ceil(window / (MOST_PARTS * PART)));
  const count = Math.ceil(window / length);
  if (rate !== undefined) {
    const everyArrival = Math.max(1, Math.ceil((rate * window) / 1000 / SAMPLED_ARRIVALS));
    return { count, length, sampling: { everyArrival } };
  }
  const most = Math.min(SAMPLED_IN_PART, Math.floor(SAMPLED / count));
  const everyUser = Math.ceil(users / most);
  return { count, length, sampling: { everyUser, requests: Math.floor(most / Math.ceil(users / everyUser)) } };
}
