/**
 * Helpers of the agent's tests and of the application's.
 */
package vtlab.testing;
