package lab.virtualthreads.database;

import java.time.Duration;
import java.util.Optional;

import jakarta.servlet.http.HttpServletRequest;
import lab.virtualthreads.web.Parameter;
import lab.virtualthreads.web.Parameters;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.dao.DataAccessException;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/**
 * The database workloads: {@code GET /stress/nosleep?id=1} selects a member, {@code GET /stress/sleep?id=1&duration=1s}
 * the same with a wait inside the query. The id goes from 1 (the default) to the number of members, the duration (1s by
 * default) from 0 to {@code lab.database.max-duration}. Without a database, without a connection in time and when the
 * database fails, the answer is 503.
 */
@RestController
@RequestMapping(path = "/stress", produces = MediaType.APPLICATION_JSON_VALUE)
@ConditionalOnWebApplication(type = Type.SERVLET)
class StressController {

	private final @Nullable MemberMapper members;

	private final Parameter<Long> id;

	private final Parameter<Duration> duration;

	StressController(ObjectProvider<MemberMapper> members, DatabaseProperties properties) {
		this.members = members.getIfAvailable();
		long count = (this.members != null) ? this.members.count() : Long.MAX_VALUE;
		this.id = Parameter.wholeNumber("id", 1, count).orElse(1L);
		this.duration = Parameter.duration("duration", Duration.ZERO, properties.maxDuration())
			.orElse(Duration.ofSeconds(1));
	}

	@GetMapping("/nosleep")
	Member noSleep(HttpServletRequest request) {
		Parameters parameters = Parameters.read(request, this.id);
		MemberMapper members = members();
		return found(members.find(parameters.get(this.id)));
	}

	@GetMapping("/sleep")
	Member sleep(HttpServletRequest request) {
		Parameters parameters = Parameters.read(request, this.id, this.duration);
		MemberMapper members = members();
		double seconds = parameters.get(this.duration).toNanos() / 1e9;
		return found(members.findSlowly(parameters.get(this.id), seconds));
	}

	private MemberMapper members() {
		if (this.members == null) {
			throw new ResponseStatusException(HttpStatus.SERVICE_UNAVAILABLE,
					"There is no database: set SPRING_DATASOURCE_URL (jdbc:mysql://host:port/name), "
							+ "SPRING_DATASOURCE_USERNAME and SPRING_DATASOURCE_PASSWORD");
		}
		return this.members;
	}

	/** A table that somebody else changed may have gaps. */
	private static Member found(Optional<Member> member) {
		return member.orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND, "No member has that id"));
	}

	@ExceptionHandler
	ProblemDetail handle(DataAccessException ex) {
		return ProblemDetail.forStatusAndDetail(HttpStatus.SERVICE_UNAVAILABLE,
				"The database did not answer: " + NestedExceptionUtils.getMostSpecificCause(ex).getMessage());
	}

}
