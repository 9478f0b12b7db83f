/**
 * The workload {@code /cpu}: a chain of hashes.
 */
package lab.virtualthreads.cpu;
