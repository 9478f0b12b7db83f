/**
 * The workload {@code /fan-out}: many tasks of one request on an executor.
 */
package lab.virtualthreads.fanout;
