/**
 * The kind of thread that serves requests and {@code @Async} methods.
 */
package lab.virtualthreads.config.threads;
