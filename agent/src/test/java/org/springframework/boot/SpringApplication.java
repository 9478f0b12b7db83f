package org.springframework.boot;

/** Makes the test programs' JVMs look like a service: the agent looks for its class file alone. */
public class SpringApplication {

}
