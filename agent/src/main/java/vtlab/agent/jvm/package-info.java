/**
 * Heap, garbage collector, compiler and platform threads.
 */
package vtlab.agent.jvm;
