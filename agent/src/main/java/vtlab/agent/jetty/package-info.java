/**
 * Jetty's pool of threads.
 */
package vtlab.agent.jetty;
