// The numbers that pace a block, one a line. vtlab's copies for its estimates are in lab/vtlab/planning/k6_timing.py;
// test_k6_timing.py compares them. Pure: no k6 in here.

/** Milliseconds by which a request may exceed `max_response` before its user gives it up. */
export const GRACE = 5000;
/**
 * Milliseconds for each user to begin in, at least: a thousand new connections in a second would come in bunches. Users
 * who are connected have less to do.
 */
export const RAMP_UP_PER_USER = 5;
export const RAMP_UP_PER_CONNECTED_USER = 1;
/** Milliseconds for which a server keeps a connection without a request, at least: Jetty 30 s, Tomcat 60 s. */
export const CONNECTION_KEPT = 15000;
/** Milliseconds of the longest ramp-up of a warm-up cycle. */
export const LONGEST_WARM_UP_RAMP_UP = 1000;
/** The longest warm-up cycle of so many requests: this many times `warmup_load`, and these milliseconds in any case. */
export const WARM_UP_PATIENCE = 3;
export const LEAST_WARM_UP_PATIENCE = 10000;
/** The most users of a phase of light load. */
export const MOST_LIGHT_USERS = 2000;
/** The most milliseconds of an idle phase before its window, in which no answer is awaited. */
export const IDLE_SETTLE = 300;
/** Buckets of a histogram of latency in a decade, as in `vtlab/model/histogram.py`. */
export const BUCKETS_PER_DECADE = 100;
/** Milliseconds between two probes, for which one waits at most, and beyond which it is slow; the most unanswered. */
export const PROBE_INTERVAL = 200;
export const PROBE_TIMEOUT = 15000;
export const SLOW_PROBE = 1000;
export const MOST_UNANSWERED_PROBES = 20;
/** Milliseconds of a warm-up cycle that ends with its requests in which probes are sent. */
export const WARM_UP_PROBES = 1000;
/** Milliseconds between two phases, about: users end and begin on a grid of the wall clock. */
export const BETWEEN_PHASES = 1000;
/**
 * Milliseconds of that grid for few users, and how many these are. All users wake at once: more of them need longer.
 */
export const FINE_GRID = 250;
export const FINE_GRID_USERS = 100;
/** Milliseconds by which the grid is coarser for each further number of users. */
export const GRID_STEP = 500;
export const GRID_STEP_USERS = 500;
