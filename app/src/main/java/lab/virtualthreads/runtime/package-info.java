/**
 * The state of the JVM and of the control group: the agent's meters on the page of the actuator, and one line at
 * start-up.
 */
package lab.virtualthreads.runtime;
