"""The variants of reproduced publications: what was published, what the laws expect, and what was measured here.

What was published, and why it came out so, is in ``lab/publications/``; the bottleneck is what the analysis names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vtlab.analysis.statistics import paired, stopping_rule
from vtlab.analysis.throughput import log_throughput
from vtlab.catalogue.resources import RESOURCES
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.publication import Publication
from vtlab.model.run import Analysis
from vtlab.report.words import bottlenecks, labels

#: Facts of a machine or a cluster that tell it from others, with their units.
_MACHINE = {"cores": " cores", "cpu": "", "memory": ""}
#: Demands from which a bound is computed by the very throughput that would stand beside it.
_DEMANDS_UNDER_LOAD = ("cpu", "pinned")


@dataclass(frozen=True)
class ReproducedVariant:
    """One variant. Throughputs in requests per second; None: not published, no law, not measured."""

    number: str
    title: str
    setting: str
    experiment: str
    variant: str
    published: str | None
    #: Only of requests of the same size.
    published_throughput: float | None
    #: By the operational laws: the experiment's, else the bound of the bottleneck, where that does not come from the
    #: very throughput beside it (as of what is consumed or in use under load, and of a single user).
    expected: float | None
    #: Over n blocks, with its confidence interval.
    throughput: float | None
    low: float | None
    high: float | None
    n: int
    bottleneck: str
    utilisation: float | None
    #: What ours ran under and on: "under 1 CPU, 768Mi".
    limits: str
    machine: str
    explanation: str


def reproduced_variants(analyses: Sequence[Analysis]) -> list[ReproducedVariant]:
    """Describes the variants of every run that reproduces a publication: by publication, in the order of the runs."""
    reproduced = [
        _reproduced_variant(analysis, publication, variant)
        for analysis in analyses
        if (publication := analysis.run.manifest.publication)
        for variant in analysis.run.experiment.variants
    ]
    return sorted(reproduced, key=lambda one: one.number)


def _reproduced_variant(analysis: Analysis, publication: Publication, variant: str) -> ReproducedVariant:
    bottleneck = analysis.verdict.variants[variant].bottleneck
    blocks = [block for block in analysis.accepted if any(trial.variant == variant for trial in block.trials)]
    # A run may end at any look: the interval of a throughput holds at all of them, too.
    end = analysis.verdict.end
    found = log_throughput(blocks, variant, end.level if end else stopping_rule.ALPHA)
    mean, low, high = (found.mean, found.low, found.high) if found else (None, None, None)
    figure = publication.figures.get(variant)
    is_comparable = publication.is_published_size(analysis.run.experiment)
    return ReproducedVariant(
        number=publication.number,
        title=publication.title,
        setting=publication.setting,
        experiment=analysis.verdict.experiment,
        variant=variant,
        published=figure.text + " (other size)" * (not is_comparable) if figure else None,
        published_throughput=figure.throughput if figure and is_comparable else None,
        expected=_expected(analysis, variant),
        throughput=None if mean is None else paired.exp(mean),
        low=None if low is None else paired.exp(low),
        high=None if high is None else paired.exp(high),
        n=len(blocks),
        bottleneck=bottlenecks.resource_names(bottleneck),
        utilisation=bottleneck.utilisation,
        limits=labels.under(analysis),
        machine=_machine_text(analysis.run.manifest.machine),
        explanation=publication.explanation,
    )


def _expected(analysis: Analysis, variant: str) -> float | None:
    """Returns the throughput that the operational laws expect; None where they have nothing but the measured one."""
    result = analysis.verdict.variants[variant]
    if result.expected is not None:
        return result.expected
    resource = RESOURCES.get(result.bottleneck.resource)
    under_load = [*_DEMANDS_UNDER_LOAD, *(["load"] if _is_single_user(analysis.run.experiment) else [])]
    return None if resource is not None and resource.demand in under_load else result.bottleneck.bound


def _is_single_user(experiment: Experiment) -> bool:
    """Checks whether the load is a single user, who sends one request after the other."""
    return isinstance(experiment.load, ClosedLoad) and experiment.load.users == 1


def _machine_text(machine: Mapping[str, object]) -> str:
    return ", ".join(f"{machine[key]}{unit}" for key, unit in _MACHINE.items() if key in machine)
