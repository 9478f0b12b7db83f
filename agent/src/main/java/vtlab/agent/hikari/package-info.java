/**
 * HikariCP's pools, by their MBeans.
 */
package vtlab.agent.hikari;
