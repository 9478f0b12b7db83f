/**
 * The workload {@code /compute}: hashes for a time.
 */
package lab.virtualthreads.compute;
