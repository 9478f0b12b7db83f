/**
 * The sample service of the lab: one package per workload, and what they share.
 */
package lab.virtualthreads;
