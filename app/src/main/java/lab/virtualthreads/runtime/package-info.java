/**
 * What the JVM and the control group are like: the agent's meters on the page of the actuator, and one line at start-up.
 */
package lab.virtualthreads.runtime;
