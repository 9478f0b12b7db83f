/**
 * The check of queries and the problem documents of all workloads.
 */
package lab.virtualthreads.web;
