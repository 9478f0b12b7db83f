"""Names of experiments, variants, limits and metrics, the same in every form of the report."""

from __future__ import annotations

from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.run import Analysis
from vtlab.report.words import figures


def limits(analysis: Analysis) -> str:
    """Writes the limits for a table: ``1 CPU, 768Mi``."""
    # Without a control group nothing enforces the memory limit either.
    if not analysis.run.manifest.cpu_limited:
        return "none"
    limits = analysis.run.experiment.limits
    return f"{figures.cores(limits.cpu)}, {limits.memory}"


def under(analysis: Analysis) -> str:
    """Writes the limits for a title: ``under 1 CPU, 768Mi``."""
    return f"under {limits(analysis)}" if analysis.run.manifest.cpu_limited else "without limits"


def header(analysis: Analysis) -> str:
    """Names the experiment and its limits: ``shop · 1 CPU · 1 GiB``."""
    if not analysis.run.manifest.cpu_limited:
        return f"{title(analysis)} · without limits"
    limits = analysis.run.experiment.limits
    memory = figures.short(figures.memory(units.size(limits.memory)))
    return f"{title(analysis)} · {figures.cores(limits.cpu)} · {memory}"


def title(analysis: Analysis) -> str:
    """Names the experiment, and where it compares several variants with the first, which of them this is."""
    name, variants = analysis.verdict.experiment, analysis.run.manifest.experiment.variants
    return name if len(variants) == 2 else f"{name}, {variant_names(analysis)[-1]}"


def variant_names(analysis: Analysis) -> list[str]:
    """Returns the variants in the experiment's order: the same place, colour and mark everywhere."""
    return list(analysis.run.experiment.variants)


def windows(exp: Experiment) -> str:
    """Says how long the measured windows are, and those of variants that have others."""
    others = [f"{name} {window}" for name, window in exp.windows.measure_by_variant.items() if name in exp.variants]
    return ", ".join([exp.windows.measure, *others])
