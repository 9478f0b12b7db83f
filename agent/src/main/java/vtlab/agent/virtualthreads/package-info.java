/**
 * Virtual threads, their scheduler, and where they are pinned.
 */
package vtlab.agent.virtualthreads;
