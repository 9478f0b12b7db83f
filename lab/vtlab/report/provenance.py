"""Where the figures come from: the validity checks, what was rejected, what ran on what."""

from __future__ import annotations

from vtlab.model.run import Analysis
from vtlab.report import figures, words
from vtlab.report.labels import windows
from vtlab.report.page_parts import Table


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
    seen = sorted({(i.variant, i.java, i.gc, i.processors) for b in analysis.accepted for i in b.instances})
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
        *(
            [f"{name}: JVM saw", f"Java {java}, {gc} GC, {cpus} processor{'s' if cpus != 1 else ''}"]
            for name, java, gc, cpus in seen
        ),
        ["JVM flags", " ".join(m.jvm_flags) or "none"],
        *([k, v] for k, v in m.versions.items() if k != "java"),
        *([k, v] for k, v in m.machine.items()),
        *([f"setting {k}", v] for k, v in exp.settings.items()),
    ]
    return Table("As recorded before the first block.", ["what", "value"], rows)
