package lab.virtualthreads;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.boot.webflux.test.autoconfigure.WebFluxTest;
import org.springframework.context.annotation.ComponentScan.Filter;
import org.springframework.context.annotation.FilterType;

/** The workloads of the variant reactive in Spring WebFlux, without a server and without meters. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@WebFluxTest(includeFilters = @Filter(type = FilterType.REGEX, pattern = "lab\\.virtualthreads\\..*"))
public @interface ReactiveSlice {

}
