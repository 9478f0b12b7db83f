/**
 * The control group of the process.
 */
package vtlab.agent.cgroup;
