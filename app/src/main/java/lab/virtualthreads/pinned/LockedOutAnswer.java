package lab.virtualthreads.pinned;

/**
 * The answer whether the threads of a {@link LockedOut} got their lock.
 *
 * @param finished whether all of them did, in time
 * @param threads how many wanted it
 * @param acquired how many had it in time
 * @param waiting how many waited for it when its owner was told to release it
 * @param carriers how many had to, for no carrier to be free if each of them keeps one
 */
record LockedOutAnswer(boolean finished, int threads, int acquired, int waiting, int carriers) {

}
