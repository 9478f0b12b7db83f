/**
 * The management port, on threads of its own; Spring Boot alone applies it, no component scan.
 */
package lab.virtualthreads.management;
