/**
 * Tomcat, by its MBeans.
 */
package vtlab.agent.tomcat;
