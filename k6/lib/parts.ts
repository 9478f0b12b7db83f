// The parts of a window, and whose answers in them are sampled. Pure: no k6 in here.

/** Milliseconds of a part, and how many parts a window has at most: parts of a longer one are whole numbers of these. */
const PART = 500;
const MOST_PARTS = 60;
/** Answers of which a sample keeps length and shape: in a part, and in a window. Quantiles tell 501 values exactly. */
const SAMPLED_IN_PART = 20;
const SAMPLED = 480;

/** The parts of one window. */
export interface Parts {
  count: number;
  /** Milliseconds of each; the last one may be shorter. */
  length: number;
  /** Users whose number is a multiple of this are sampled. */
  every: number;
  /** The first requests of such a user in each part. */
  sampled: number;
}

export function partsOf(window: number, users: number): Parts {
  const length = PART * Math.max(1, Math.ceil(window / (MOST_PARTS * PART)));
  const count = Math.ceil(window / length);
  const most = Math.min(SAMPLED_IN_PART, Math.floor(SAMPLED / count));
  const every = Math.ceil(users / most);
  return { count, length, every, sampled: Math.floor(most / Math.ceil(users / every)) };
}
