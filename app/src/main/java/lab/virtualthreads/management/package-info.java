/**
 * The management port, on separate threads; Spring Boot alone applies it, no component scan.
 */
package lab.virtualthreads.management;
