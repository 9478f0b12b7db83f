package lab.virtualthreads.database;

import java.util.Optional;

import lab.virtualthreads.web.Wait;
import org.hibernate.validator.constraints.Range;
import org.hibernate.validator.constraints.time.DurationMax;
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
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/**
 * The database workloads: {@code GET /stress/nosleep?id=1} selects a member, {@code GET /stress/sleep?id=1&duration=1s}
 * the same with a wait inside the query. Without a database, without a connection in time and when the database fails,
 * the answer is 503.
 */
@RestController
@RequestMapping(path = "/stress", produces = MediaType.APPLICATION_JSON_VALUE)
@ConditionalOnWebApplication(type = Type.SERVLET)
class StressController {

	private final @Nullable MemberMapper members;

	StressController(ObjectProvider<MemberMapper> members) {
		this.members = members.getIfAvailable();
	}

	@GetMapping("/nosleep")
	Member noSleep(@RequestParam(defaultValue = "1") @Range(min = 1, max = Member.COUNT) long id) {
		return orNotFound(members().find(id));
	}

	@GetMapping("/sleep")
	Member sleep(@RequestParam(defaultValue = "1") @Range(min = 1, max = Member.COUNT) long id,
			@RequestParam(defaultValue = "1s") @DurationMax(seconds = Wait.MOST_SECONDS) Wait duration) {
		return orNotFound(members().findSlowly(id, duration.next(Wait.MOST_SECONDS).toNanos() / 1e9));
	}

	private MemberMapper members() {
		if (this.members == null) {
			throw new ResponseStatusException(HttpStatus.SERVICE_UNAVAILABLE,
					"There is no database: set SPRING_DATASOURCE_URL (jdbc:mysql://host:port/name), "
							+ "SPRING_DATASOURCE_USERNAME and SPRING_DATASOURCE_PASSWORD");
		}
		return this.members;
	}

	/** Returns the member, or answers 404: a table that another program changed may have gaps. */
	private static Member orNotFound(Optional<Member> member) {
		return member.orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND, "No member has that id"));
	}

	@ExceptionHandler
	ProblemDetail handle(DataAccessException ex) {
		return ProblemDetail.forStatusAndDetail(HttpStatus.SERVICE_UNAVAILABLE,
				"The database did not answer: " + NestedExceptionUtils.getMostSpecificCause(ex).getMessage());
	}

}
