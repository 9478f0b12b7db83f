package lab.virtualthreads;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.restclient.autoconfigure.RestClientAutoConfiguration;
import org.springframework.boot.webmvc.test.autoconfigure.WebMvcTest;
import org.springframework.context.annotation.ComponentScan.Filter;
import org.springframework.context.annotation.FilterType;

/** The workloads of a servlet variant in Spring MVC, without a server and without meters: one context for all tests. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@WebMvcTest(includeFilters = @Filter(type = FilterType.REGEX, pattern = "lab\\.virtualthreads\\..*"))
@ImportAutoConfiguration(RestClientAutoConfiguration.class)
public @interface ServletSlice {

}
