/**
 * What the JVM and the control group are like: their meters, and one line at start-up.
 */
package lab.virtualthreads.runtime;
