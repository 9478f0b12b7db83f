/**
 * The workload {@code /mixed}: a wait, then a little CPU.
 */
package lab.virtualthreads.mixed;
