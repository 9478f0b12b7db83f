/**
 * The workloads {@code /run}: many {@code @Async} tasks on a bounded pool or on virtual threads.
 */
package lab.virtualthreads.async;
