/**
 * The agent: what a JVM tells without a change to its service.
 */
package vtlab.agent;
