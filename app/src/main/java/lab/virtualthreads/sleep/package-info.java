/**
 * The workload {@code /thread}: a wait without CPU.
 */
package lab.virtualthreads.sleep;
