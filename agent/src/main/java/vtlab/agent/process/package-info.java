/**
 * The process, as its operating system sees it.
 */
package vtlab.agent.process;
