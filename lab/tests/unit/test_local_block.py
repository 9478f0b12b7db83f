"""What is measured beside the trials of a block on this machine, without processes and k6. (With them: test_stub_block,
test_short_pins, test_diagnosis.)"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import builders
from vtlab.errors import BlockFault, VariantFailed
from vtlab.host import jcmd
from vtlab.model.records import Diagnosis, Trial
from vtlab.planning.load import AS_PLANNED, Pace
from vtlab.targets.local import dumps, short_pins
from vtlab.targets.local import target as target_module
from vtlab.targets.local.target import LocalBlock, LocalTarget


class OfAVariant:
    """As much of a variant's process as is asked."""

    def __init__(self, variant: str, meters: Sequence[str] = ("jvm",)) -> None:
        self.variant = variant
        self.launch = SimpleNamespace(service=SimpleNamespace(meters=meters))
        identity = SimpleNamespace(alive=lambda: False)
        self.process = SimpleNamespace(pid=variant, identity=identity, stop=lambda grace: None)

    def oom_kills(self) -> int:
        return 0


def test_a_variant_that_breaks_under_its_dumps_does_not_cost_the_next_one_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = builders.run(blocks=1)
    variants: list[Any] = [OfAVariant("platform"), OfAVariant("virtual")]
    target: Any = SimpleNamespace(folder=tmp_path, run_id="r")
    block = LocalBlock(target, run.experiment, 1, 1, variants, run.blocks[0].instances)
    targets = []

    def load(variables: object, run_id: str) -> Any:
        targets.append([v.variant for v in variants if v.variant not in block._retired])
        if "platform" in targets[-1]:
            raise VariantFailed("platform", "it ended with exit code 1")
        return SimpleNamespace(trials=run.blocks[0].trials)

    def diagnose(
        running: Iterable[Any], _: Path, trial: Callable[[str], Trial], paces: Mapping[str, Pace]
    ) -> dict[str, Diagnosis]:
        for variant in running:
            with contextlib.suppress(BlockFault):
                trial(variant.variant)
        return {}

    monkeypatch.setattr(block, "_load", load)
    monkeypatch.setattr(dumps, "diagnose", diagnose)
    block.diagnose(dict.fromkeys(["platform", "virtual"], AS_PLANNED))
    assert targets == [["platform", "virtual"], ["virtual"]]


def test_a_slow_start_is_waited_for_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda _: now.append(now.pop() + 1))
    monkeypatch.setattr(target_module, "time", clock)
    variants = [
        SimpleNamespace(variant=name, server=SimpleNamespace(ready=lambda after=after: now[0] > after))
        for name, after in (("platform", 40), ("virtual", 80))
    ]
    said: list[str] = []
    target: Any = SimpleNamespace(_running=variants, say=said.append, bound_logs=lambda: None)
    assert LocalTarget._await_ready(target) == []
    assert said == ["platform and virtual: not ready after 30 s, waiting", "virtual: not ready after 60 s, waiting"]


@pytest.mark.parametrize("answer", ["Started recording 1.", None])
def test_a_recording_is_stopped_also_where_its_start_was_not_confirmed(
    answer: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[tuple[str, str]] = []

    def order(pid: str, words: Sequence[str]) -> str | None:
        orders.append((pid, words[0]))
        return answer

    monkeypatch.setattr(jcmd, "order", order)
    variants: list[Any] = [OfAVariant("virtual"), OfAVariant("native", meters=())]
    with short_pins.counted(variants) as counting:
        assert counting == (["virtual"] if answer else [])
    assert orders == [("virtual", "JFR.start"), ("virtual", "JFR.stop")]
