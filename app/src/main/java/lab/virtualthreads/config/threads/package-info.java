/**
 * Which kind of thread serves requests and {@code @Async} methods.
 */
package lab.virtualthreads.config.threads;
