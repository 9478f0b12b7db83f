"""Where the figures come from: the validity checks, what was rejected, what ran on what."""

from __future__ import annotations

from vtlab.model.records import Instance
from vtlab.model.run import Analysis
from vtlab.report.parts.part import Table
from vtlab.report.words import class_archives, figures
from vtlab.report.words import headline as words
from vtlab.report.words.labels import windows


def checks(analysis: Analysis) -> Table:
    """What every block had to show before it counted."""
    rows = [[row.name, row.limit, row.worst, "passed" if row.passed else "FAILED"] for row in analysis.checks]
    bad = tuple(i for i, row in enumerate(analysis.checks) if not row.passed)
    head = ["validity check", "limit", "worst value", "result"]
    return Table("Worst value over the blocks that count.", head, rows, bad)


def rejected(analysis: Analysis) -> Table:
    """Attempts that do not count, with every reason."""
    rows = [[f"{r.block}", f"{r.attempt}", "; ".join(r.reasons)] for r in analysis.rejected]
    return Table(
        "They stay in the raw data and count for nothing else.",
        ["block", "attempt", "why it was rejected"],
        rows,
    )


def environment(analysis: Analysis) -> Table:
    """What ran, on what."""
    m, exp = analysis.run.manifest, analysis.run.experiment
    cpu = figures.cores(exp.limits.cpu) + ("" if m.cpu_limited else " (not enforced)")
    load = exp.load
    amount = f"closed: {words.load_words(exp)}" if load.model == "closed" else f"open: {load.rate:g} arrivals/s"
    seen = sorted({(i.variant, _jvm(i)) for b in analysis.accepted for i in b.instances})
    rows = [
        ["started", figures.utc(m.started)],
        ["target", m.target],
        ["request" if exp.only_request else "workload", exp.workload.title],
        ["load", amount],
        [
            "limits",
            f"{cpu}, {exp.limits.memory}, heap {exp.limits.heap or 'as the JVM chooses'}",
        ],
        ["measured window", windows(exp)],
        *([f"{name}: JVM saw", jvm] for name, jvm in seen),
        *_raised(analysis),
        ["JVM flags", " ".join(m.jvm_flags) or "none"],
        *([k, v] for k, v in m.versions.items() if k != "java"),
        *([k, v] for k, v in m.machine.items()),
        *([f"setting {k}", v] for k, v in exp.settings.items()),
    ]
    return Table("As recorded before the first block.", ["what", "value"], rows)


def _jvm(instance: Instance) -> str:
    """What a JVM chose, or was told."""
    cpus = instance.processors
    heap = f", a heap of {figures.memory(instance.heap)}" if instance.heap else ""
    archives = class_archives.beside(instance)
    return f"Java {instance.java}, {instance.gc} GC, {cpus} processor{'s' if cpus != 1 else ''}{heap}{archives}"


def _raised(analysis: Analysis) -> list[list[str]]:
    """The row that says how much CPU the first part of the warm-up had, where that was more than the limit."""
    raised = max((t.raised_cpu for b in analysis.accepted for t in b.warmup if t.raised_cpu), default=None)
    return [["first part of the warm-up", figures.cores(raised)]] if raised else []
