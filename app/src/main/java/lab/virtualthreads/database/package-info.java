/**
 * The workloads {@code /stress}: queries over a pool of connections.
 */
package lab.virtualthreads.database;
