/**
 * The page that is served, and what metrics are made of.
 */
package vtlab.agent.page;
