/**
 * The workload {@code /downstream}: a call to another service.
 */
package lab.virtualthreads.downstream;
