"""Load that limits both variants, in words: what would limit them with more of it."""

from __future__ import annotations

from vtlab.catalogue import resources
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.run import Analysis
from vtlab.model.verdict import VariantResult
from vtlab.report.words import bottlenecks, figures

#: A variant is near a bound at this share of it or above.
_NEAR = 0.8


def limited_by_load(analysis: Analysis, names: tuple[str, str]) -> str | None:
    """Says that the load limits both variants, and which load would tell them apart; None where something else limits
    one."""
    experiment = analysis.run.experiment
    results = {name: analysis.verdict.variants[name] for name in names}
    if not all(result.keeps_up for result in results.values()):
        return None
    if any(_largest_share(result, experiment) is None for result in results.values()):
        return "the load limits both"
    if max(_largest_share(result, experiment) or 0.0 for result in results.values()) >= _NEAR:
        return "the load limits both, but at least one is close to another limit"
    starts = {name: bottlenecks.binds_from(result, experiment) for name, result in results.items()}
    known_starts = {name: start for name, start in starts.items() if start is not None}
    # What has no meter may limit sooner, unless more load was tried.
    went_further = [bottlenecks.went_further(analysis, name, bound) for name, (bound, _) in known_starts.items()]
    is_tried = len(went_further) == len(names) and all(went_further)
    text = f"the load limits both; neither is near {'another' if is_tried else 'a metered'} limit"
    if not known_starts:
        return text
    first = min(known_starts, key=lambda name: known_starts[name][1])
    bound, most = known_starts[first]
    resource = resources.without_article(resources.bottleneck_words(bound.resource))
    unit = "users" if isinstance(experiment.load, ClosedLoad) else "arrivals per second"
    load = f"about {figures.significant(most, 2)} {unit}"
    if is_tried:
        return f"{text}: {first}'s {resource} would limit it from {load}"
    comes = "comes" if bound.resource == "cpu" else "come"
    return f"{text}: of what is metered, {first}'s {resource} {comes} first, from {load}"


def _largest_share(result: VariantResult, experiment: Experiment) -> float | None:
    """Returns the largest share of a bound that a variant reaches, the CPU among them; None where that is unknown."""
    if result.cpu_per_request is None:
        return None
    used = result.cpu_per_request * result.throughput / experiment.limits.cpu
    return max([used, *(bound.utilisation for bound in bottlenecks.other_bounds(result))])
