"""What a reader does who turns virtual threads on: the setting, the way back, and which meters lose their meaning."""

from __future__ import annotations

from dataclasses import dataclass

from vtlab.model.run import Analysis
from vtlab.report.words import next_step
from vtlab.report.words.effects import PROPERTY, Pair

#: Lines of ``application.yaml``.
YAML = "spring:\n  threads:\n    virtual:\n      enabled: true"
SOURCE = (
    "https://docs.spring.io/spring-boot/reference/features/spring-application.html"
    "#features.spring-application.virtual-threads"
)


@dataclass(frozen=True)
class TurningItOn:
    """Text for a reader who turns virtual threads on."""

    #: Lines for ``application.yaml``.
    yaml: str
    back: str
    meters: str
    watch: str
    not_measured: str
    source: str
    #: Whether the decision leaves it to the reader.
    is_open: bool
    #: Whether NEXT says how to go back.
    is_back_in_next: bool

    @property
    def title(self) -> str:
        """Begins the text: what it is about."""
        return "If you turn them on, in application.yaml:" if self.is_open else "In application.yaml:"

    @property
    def lines(self) -> list[str]:
        """The same, briefly, without what NEXT says."""
        texts = [self.not_measured, f"{self.meters} {self.watch}"]
        if not self.is_back_in_next:
            texts.insert(0, self.back)
        return [f"If you set {PROPERTY}: true in application.yaml:", *texts] if self.is_open else texts


def turning_it_on(analysis: Analysis) -> TurningItOn | None:
    """Returns the text for an analysis of one pair; None where its decision does not end with turning them on."""
    pair = Pair(analysis)
    advices = {pair.decision.advice, pair.decision.at_full}
    is_advised = bool({"turn it on", "trade-off"} & advices) and "no decision" not in advices
    if not analysis.verdict.valid or not pair.is_switch or not is_advised:
        return None
    inspection = analysis.run.manifest.inspection
    server = "jetty" if inspection and inspection.server == "jetty" else "tomcat"
    return TurningItOn(
        yaml=YAML,
        back=f"To go back, set {PROPERTY}: false and restart.",
        meters=f"{server}.threads.busy no longer counts requests: move alerts and autoscaling off it.",
        watch="Watch http.server.requests.active, hikaricp.connections.pending, the CPU and memory.",
        not_measured="The property also moves @Async, scheduled tasks and listeners to virtual threads; only HTTP was"
        " measured.",
        source=SOURCE,
        is_open="trade-off" in advices,
        is_back_in_next=next_step.sentence(analysis) == next_step.SWITCH,
    )
