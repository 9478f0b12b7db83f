package lab.virtualthreads.web;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

import jakarta.validation.ConstraintValidator;
import jakarta.validation.ConstraintValidatorContext;
import org.hibernate.validator.constraints.time.DurationMax;
import org.jspecify.annotations.Nullable;

import org.springframework.util.Assert;

/**
 * A wait that a request asks for: always the same ({@code 5s}), or drawn anew ({@code exp(5s)}) from an exponential
 * distribution. What is drawn is cut at the longest wait that the workload accepts.
 *
 * @param mean the wait, or the mean of the distribution; not negative
 * @param isDrawn whether it is drawn
 */
public record Wait(Duration mean, boolean isDrawn) {

	/** The longest wait that a request may ask for, in seconds, where its workload says nothing else. */
	public static final int MOST_SECONDS = 60;

	public Wait {
		Assert.isTrue(!mean.isNegative(), "A wait cannot be negative");
	}

	/** Returns a wait that is always the same. */
	public static Wait of(Duration duration) {
		return new Wait(duration, false);
	}

	/**
	 * Returns how long to wait this time.
	 * @param mostSeconds the longest wait, to which longer ones are cut
	 */
	public Duration next(int mostSeconds) {
		Duration next = this.isDrawn ? draw() : this.mean;
		Duration most = Duration.ofSeconds(mostSeconds);
		return (next.compareTo(most) > 0) ? most : next;
	}

	private Duration draw() {
		// A cast cuts what does not fit into a long.
		return Duration.ofNanos((long) (this.mean.toNanos() * ThreadLocalRandom.current().nextExponential()));
	}

	/** Returns the wait as requests write it. */
	@Override
	public String toString() {
		return this.isDrawn ? "exp(" + this.mean + ")" : this.mean.toString();
	}

	/** The validator by which {@link DurationMax} bounds the mean. */
	public static final class MaxValidator implements ConstraintValidator<DurationMax, Wait> {

		private Duration most = Duration.ZERO;

		@Override
		public void initialize(DurationMax max) {
			this.most = Duration.ofDays(max.days())
				.plusHours(max.hours())
				.plusMinutes(max.minutes())
				.plusSeconds(max.seconds())
				.plusMillis(max.millis())
				.plusNanos(max.nanos());
		}

		@Override
		public boolean isValid(@Nullable Wait wait, ConstraintValidatorContext context) {
			return wait == null || wait.mean().compareTo(this.most) <= 0;
		}

	}

}
