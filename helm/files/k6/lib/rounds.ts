// The rounds of a closed load: how long a user takes from one request to the next. Pure: no k6 in here.
import { RAMP_UP_PER_USER } from './constants.ts';
import type { Closed } from './experiment.ts';

export class Rounds {
  private readonly load: Closed;
  private readonly rampUp: number;
  /** The round of the variant whose users wait least; where none is known, as long as the users start. */
  readonly shortest: number;

  /** `rampUp`: the experiment's, in milliseconds like everything here. */
  constructor(load: Closed, rampUp: number) {
    const known = Object.values(load.round);
    this.load = load;
    this.rampUp = rampUp;
    this.shortest = known.length > 0 ? Math.min(...known) : rampUp;
  }

  areKnown(variants: string[]): boolean {
    return variants.every((variant) => variant in this.load.round);
  }

  /**
   * Returns a whole round of a user, R + Z: where users start within one round, the first requests come evenly. An
   * unknown one is no shorter than that of the variant whose users wait least.
   */
  round(variant: string): number {
    return this.load.round[variant] ?? Math.max(this.rampUp, this.shortest);
  }

  /** Returns how long a user is served in each round: all of it, where none queues. */
  served(variant: string): number {
    const round = this.round(variant);
    return Math.min(round, this.load.service_time[variant] ?? round);
  }

  /**
   * Returns the time over which the users of a trial start: whole rounds, since in one and a quarter the first quarter
   * would have twice the users.
   */
  rampUpOf(users: number, variant: string, perUser = RAMP_UP_PER_USER): number {
    const round = this.round(variant);
    return round * Math.ceil((perUser * users) / round);
  }
}
