/**
 * The workloads {@code /pinned} and {@code /locked-out}: waits that hold a lock.
 */
package lab.virtualthreads.pinned;
