/**
 * The agent: what a JVM is asked to tell without a change of its service.
 */
package vtlab.agent;
