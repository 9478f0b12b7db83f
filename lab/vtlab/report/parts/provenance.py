"""Origin of the figures: the validity checks, what was rejected, what ran on what, and how to repeat it."""

from __future__ import annotations

from vtlab.model.load import ClosedLoad
from vtlab.model.manifest import NO_COMMIT, TypicalPlan
from vtlab.model.records import Instance
from vtlab.model.run import Analysis
from vtlab.report.parts.part import Table
from vtlab.report.words import block_counts, class_archives, figures
from vtlab.report.words.labels import windows
from vtlab.report.words.phrases import load_words


def check_table(analysis: Analysis) -> Table:
    """Lists what every block had to show before it counted."""
    rows = [[row.name, row.limit, row.worst, "passed" if row.passed else "FAILED"] for row in analysis.checks]
    bad = tuple(i for i, row in enumerate(analysis.checks) if not row.passed)
    head = ["validity check", "limit", "worst value", "result"]
    return Table("Worst value over the blocks that count.", head, rows, bad)


def rejection_table(analysis: Analysis) -> Table:
    """Lists the attempts that do not count, with every reason."""
    rows = [[f"{r.block}", f"{r.attempt}", "; ".join(r.reasons)] for r in analysis.rejected]
    return Table(
        "Rejected attempts stay in the raw data; no figure includes them.",
        ["block", "attempt", "reasons"],
        rows,
    )


def environment_table(analysis: Analysis) -> Table:
    """Lists what ran, and on what."""
    m, exp = analysis.run.manifest, analysis.run.experiment
    cpu = figures.cores(exp.limits.cpu) + ("" if m.cpu_limited else " (not enforced)")
    load = exp.load
    amount = f"closed: {load_words(exp)}" if isinstance(load, ClosedLoad) else f"open: {load.rate:g} arrivals/s"
    descriptions = sorted({(i.variant, _jvm(i)) for b in analysis.accepted for i in b.instances})
    rows = [
        ["started", figures.utc(m.started)],
        ["target", m.target],
        ["request" if exp.only_request else "workload", exp.workload.title],
        ["load", amount],
        *([["typical load", _typical_words(m.typical)]] if m.typical else []),
        [
            "limits",
            f"{cpu}, {exp.limits.memory}, heap {exp.limits.heap or 'chosen by the JVM'}",
        ],
        ["measured window", windows(exp)],
        *([f"{name}: JVM", jvm] for name, jvm in descriptions),
        *_warm_up_cpu(analysis),
        ["JVM flags", " ".join(m.jvm_flags) or "none"],
        *([k, v] for k, v in m.versions.items() if k != "java"),
        *([k, v] for k, v in m.machine.items()),
        *([f"setting {k}", v] for k, v in exp.settings.items()),
    ]
    return Table("As recorded before the first block.", ["what", "value"], rows)


def _typical_words(plan: TypicalPlan) -> str:
    """Says how high the typical load is, and what that comes from."""
    share = ""
    if plan.throughput:
        served = f"{plan.of}'s {figures.rate(plan.throughput)}"
        share = f" ({figures.share(plan.rate / plan.throughput)} of {served})"
    together = "at the same time" if plan.is_at_once else "in turn"
    return f"open: {plan.rate:g} arrivals/s{share}, {plan.users:,} users, {plan.window:g} s, variants {together}"


def _jvm(instance: Instance) -> str:
    """Describes the settings that a JVM chose or was given."""
    cpus = instance.processors
    heap = f", heap {figures.memory(instance.heap)}" if instance.heap else ""
    archives = class_archives.list_suffix(instance)
    return f"Java {instance.java}, {instance.gc} GC, {cpus} processor{'s' if cpus != 1 else ''}{heap}{archives}"


def _warm_up_cpu(analysis: Analysis) -> list[list[str]]:
    """Returns the row of the CPU that the first part of the warm-up had, where that was more than the limit."""
    raised = max((t.raised_cpu for b in analysis.accepted for t in b.warmup if t.raised_cpu), default=None)
    return [["first part of the warm-up", figures.cores(raised)]] if raised else []


def checks_note(analysis: Analysis) -> str:
    """Says how many blocks count, and what the checks' worst values are where none does."""
    counts = f"{block_counts.planned_blocks(analysis.verdict.n, analysis.run.manifest.blocks)}."
    rejected_only = " The worst values below come from rejected attempts."
    return counts if analysis.verdict.n else counts + rejected_only


def commands_to_repeat(analysis: Analysis) -> str:
    """Returns the commands that measure this run again: the commit, and the command with the seed that it drew."""
    m = analysis.run.manifest
    seed = "" if "--seed" in m.command else f" --seed {m.seed}"
    checkout = "" if m.commit == NO_COMMIT else f"git checkout {m.commit.removesuffix('-dirty')}\n"
    return f"{checkout}{m.command}{seed}"
