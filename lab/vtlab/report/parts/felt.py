"""What users feel under each load: how latency is distributed, percentiles by kind of request, and the probes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vtlab.analysis.latency_over_windows import latency_figures
from vtlab.analysis.validity import failing
from vtlab.model.histogram import merged
from vtlab.model.records import Histogram, Kind, Latency, Probe, Trial, typical_trials
from vtlab.model.run import Analysis
from vtlab.report.charts import probes
from vtlab.report.charts.latency_distribution import LEAST_BEYOND, distribution, ends_of
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import figures, phrases
from vtlab.report.words.labels import variant_names

TITLE = "What users feel"
_FIGURES = ("mean", "p50", "p90", "p95", "p99", "max")


@dataclass(frozen=True)
class Load:
    """One load, with the windows of each variant that has not failed in their block."""

    #: In a title: ``typical load``.
    title: str
    #: How much it is: ``20 users``, ``29.3/s``.
    amount: str
    windows: Mapping[str, list[Trial]]
    #: Variants whose latency belongs to them: no other has one here.
    with_latency: Sequence[str]

    @property
    def heading(self) -> str:
        """Title of what is about this load alone."""
        return f"{self.title} ({self.amount})"

    def histograms(self) -> list[tuple[str, Histogram]]:
        """Merges the windows of each variant."""
        return [(name, self._merged(name)) for name in self.windows]

    def _merged(self, name: str) -> Histogram:
        trials = self.windows[name] if name in self.with_latency else []
        # A latency that was not steady has no count.
        return merged([t.answers.histogram for t in trials if t.answers and t.user_latency.count])

    def latencies(self) -> list[list[Latency]]:
        """Lists the latencies of the windows of each variant."""
        return [
            [trial.user_latency for trial in trials if name in self.with_latency]
            for name, trials in self.windows.items()
        ]

    def probes(self) -> list[tuple[str, list[Probe]]]:
        """Lists the probes of the windows of each variant."""
        return [(name, [t.probe for t in trials if t.probe]) for name, trials in self.windows.items()]


def loads(analysis: Analysis) -> list[Load]:
    """Lists the loads of a run that tell what users feel: typical load first. None of a run that was recorded before
    vtlab asked for it."""
    full, typical = _windows(analysis, is_typical=False), _windows(analysis, is_typical=True)
    experiment, names = analysis.run.experiment, variant_names(analysis)
    results = analysis.verdict.variants
    with_latency = [name for name in names if name in results and results[name].has_latency]
    rate = next((t.rate for trials in typical.values() for t in trials if t.rate), None)
    found = [
        Load("typical load", figures.rate(rate), typical, names if experiment.has_full_load else with_latency),
    ]
    if experiment.has_full_load:
        found.append(Load("full load", phrases.load_words(experiment), full, with_latency))
    told = [t for load in found for trials in load.windows.values() for t in trials]
    is_told = any(t.answers or t.probe or t.phase == "typical" for t in told)
    return [load for load in found if is_told and any(load.windows.values())]


def _windows(analysis: Analysis, *, is_typical: bool) -> dict[str, list[Trial]]:
    experiment = analysis.run.experiment
    windows: dict[str, list[Trial]] = {}
    for name in variant_names(analysis):
        blocks = failing.sound_blocks(analysis.accepted, experiment, name)
        trials = [t for b in blocks for t in (typical_trials(b, experiment) if is_typical else b.trials)]
        windows[name] = [t for t in trials if t.variant == name]
    return windows


def _of_answers(trial: Trial) -> Trial:
    """Returns the trial with the latency of its answers: of a script that of its HTTP answers."""
    return trial.model_copy(update={"latency": trial.user_latency})


def _count(trial: Trial) -> int:
    """Counts the OK answers of a window."""
    return sum(trial.answers.histogram.counts) if trial.answers else trial.latency.count


#: Says what the charts show.
NOTE = (
    "Latency: each line shows the share of the answers that took no longer; it ends where"
    f" {LEAST_BEYOND} answers lie beyond. Marks are the percentiles of single windows. Probes: the probes of all"
    " windows, laid over each other; a mark at 15 s had no answer."
)


def latency_panels(shown: Sequence[Load]) -> list[Panel]:
    """Draws for each load how latency is distributed, on one scale."""
    lines = [load.histograms() for load in shown]
    ends = ends_of([histogram for load in lines for _, histogram in load])
    panels = []
    for load, histograms in zip(shown, lines, strict=True):
        if ends and ends_of([histogram for _, histogram in histograms]):
            title = f"Latency at {load.heading}"
            panels.append(Panel(title, distribution(title, histograms, load.latencies(), ends)))
    return panels


def probe_panels(shown: Sequence[Load]) -> list[Panel]:
    """Draws the probes of each load, on one scale."""
    by_load = [(f"Probes at {load.heading}", load.probes()) for load in shown]
    ends = probes.ends_of([probe for _, groups in by_load for _, found in groups for probe in found])
    return [Panel(title, probes.probe_dots(title, groups, ends)) for title, groups in by_load if ends and _any(groups)]


def _any(groups: Sequence[tuple[str, list[Probe]]]) -> bool:
    return any(probe.times for _, found in groups for probe in found)


def latency_table(shown: Sequence[Load]) -> Table:
    """Lists the latency of each variant under each load."""
    rows = [
        [name, load.amount, f"{sum(map(_count, windows)):,}", *_durations(windows if is_known else [])]
        for load in shown
        for name, windows in load.windows.items()
        for is_known in [name in load.with_latency]
        if windows
    ]
    caption = (
        "Latency of OK answers, as the client sees it: from when a request was due (arrivals) or sent (users); of a"
        " script, of each of its HTTP requests. Means over windows; max is the longest of all. – means: a window has"
        f" fewer than {LEAST_BEYOND} answers beyond the percentile, or latency was not steady."
    )
    head = ["variant", "load", "answers", *_FIGURES]
    return Table(caption, head, rows, numeric=tuple(range(2, len(head))))


def _durations(trials: Sequence[Trial]) -> list[str]:
    known = latency_figures([_of_answers(t) for t in trials])
    return [figures.duration(known[name]) for name in _FIGURES]


def kind_table(shown: Sequence[Load]) -> Table:
    """Lists latency by kind of request: variants and loads side by side, where there are several kinds."""
    rows = [
        _kind_row(kind, name, load, found)
        for kind in _kinds(shown)
        for load in shown
        for name, windows in load.windows.items()
        if (found := [(k, t) for t in windows if t.answers for k in t.answers.kinds if k.name == kind])
    ]
    caption = (
        "Each kind of request alone. At equal throughput one kind can gain what another loses. Means over windows, as"
        " above; kinds beyond the twentieth are together."
    )
    head = ["kind of request", "variant", "load", "answers", "failed", *_FIGURES]
    return Table(caption, head, rows, numeric=tuple(range(3, len(head))))


def _kinds(shown: Sequence[Load]) -> Iterator[str]:
    """Yields the names of the kinds, each once, in the order of the workload."""
    windows = [t for load in shown for trials in load.windows.values() for t in trials]
    yield from dict.fromkeys(kind.name for t in windows if t.answers for kind in t.answers.kinds)


def _kind_row(kind: str, name: str, load: Load, found: Sequence[tuple[Kind, Trial]]) -> list[str]:
    answers, failed = sum(k.latency.count for k, _ in found), sum(k.failed for k, _ in found)
    is_known = name in load.with_latency
    alone = [t.model_copy(update={"latency": k.latency, "answers": None}) for k, t in found if is_known]
    return [kind, name, load.amount, f"{answers:,}", f"{failed:,}", *_durations(alone)]


def probe_table(shown: Sequence[Load]) -> Table:
    """Lists what became of the probes."""
    rows = [_probe_row(name, load.amount, found) for load in shown for name, found in load.probes() if found]
    caption = (
        "Every 200 ms a GET of the liveness path beside the load, on a new connection, as a kubelet's probe. No answer:"
        " timed out after 15 s, refused, cut, or given up after more than 1 s. Skipped: due while 20 were unanswered."
        " Healthy: answered 200 to 299. A service without any has no liveness endpoint there, or was down."
    )
    head = ["variant", "load", "sent", "over 1 s", "share", "longest", "no answer", "skipped", "healthy"]
    return Table(caption, head, rows, numeric=tuple(range(2, len(head))))


def _probe_row(name: str, amount: str, found: Sequence[Probe]) -> list[str]:
    sent, slow = sum(p.sent for p in found), sum(p.over_second for p in found)
    longest = max((p.longest for p in found if p.longest is not None), default=None)
    others = [sum(p.unanswered for p in found), sum(p.skipped for p in found), sum(p.healthy for p in found)]
    share = figures.share(slow / sent if sent else None)
    return [name, amount, f"{sent:,}", f"{slow:,}", share, figures.duration(longest), *(f"{n:,}" for n in others)]
