"""What is measured beside the trials of a block on this machine, without processes and k6. (With them: test_stub_block,
test_short_pins, test_diagnosis.)"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import recorded
from vtlab.errors import BadInput, BlockFault, VariantFailed
from vtlab.host import jcmd
from vtlab.host.process_ledger import Command
from vtlab.k6.call import Call
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Diagnosis, Failure, Trial
from vtlab.planning.load_call import AS_PLANNED, CallPacing, LightLoad, LoadCall, TypicalCall
from vtlab.prometheus.queries import NotScraped
from vtlab.targets.local import block as block_module
from vtlab.targets.local import dumps, short_pins
from vtlab.targets.local import target as target_module
from vtlab.targets.local.block import LocalBlock, LocalStart
from vtlab.targets.local.target import LocalTarget
from vtlab.targets.preflight import Preflight

TYPICAL = TypicalCall(["virtual", "platform"], 30, 60, 1100, 15_000)
DIAGNOSIS = Diagnosis(dumps=1, threads=0, places=[], idle=None)


class OfAVariant:
    """As much of a variant's process as is asked."""

    def __init__(self, variant: str, meters: Sequence[str] = ("jvm",)) -> None:
        self.variant = variant
        self.ended: str | None = None
        self.launch = SimpleNamespace(service=SimpleNamespace(meters=meters))
        identity = SimpleNamespace(alive=lambda: False)
        self.pins = False
        self.url = f"http://localhost/{variant}"
        self.probe_url = f"{self.url}/alive"
        self.process = SimpleNamespace(pid=variant, identity=identity, stop=lambda grace: None)

    def oom_kills(self) -> int:
        return 0

    def end(self) -> str | None:
        return self.ended


class Same:
    """The identity of a process that runs."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def alive(self) -> bool:
        return True


def of_two(folder: Path) -> LocalBlock:
    """A block in which both variants run."""
    run = recorded.run(blocks=1)
    variants: list[Any] = [OfAVariant("platform"), OfAVariant("virtual")]
    site: Any = SimpleNamespace(folder=folder, run_id="r", preflight=Preflight())
    return LocalBlock(site, LocalStart(run.experiment, 1, 1, variants, run.blocks[0].instances))


def test_a_variant_that_breaks_under_its_dumps_does_not_cost_the_next_one_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = of_two(tmp_path)
    variants, trials = block.variants, recorded.block().trials
    targets = []

    def load(variables: object, run_id: str) -> Any:
        targets.append([v.variant for v in variants if v.variant not in block._retired])
        if "platform" in targets[-1]:
            raise VariantFailed("platform", "it ended with exit code 1")
        return SimpleNamespace(trials=trials)

    def diagnose(
        running: Iterable[Any], _: Path, trial: Callable[[str], Trial], pacings: Mapping[str, CallPacing]
    ) -> dict[str, Diagnosis]:
        for variant in running:
            with contextlib.suppress(BlockFault):
                trial(variant.variant)
        return {}

    reset: list[str] = []
    monkeypatch.setattr(block, "_load", load)
    monkeypatch.setattr(block, "_reset", reset.append)
    monkeypatch.setattr(dumps, "diagnose", diagnose)
    block.diagnose(dict.fromkeys(["platform", "virtual"], AS_PLANNED))
    assert targets == [["platform", "virtual"], ["virtual"]]
    assert reset == ["platform", "virtual"], "as before any other trial"


def test_what_comes_between_trials_and_fails_costs_the_dumps_and_no_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = of_two(tmp_path)

    def reset(variant: str) -> None:
        if variant == "platform":
            raise BadInput("reset: POST /reset was answered 500")

    monkeypatch.setattr(block, "_reset", reset)
    monkeypatch.setattr(dumps, "diagnose", lambda running, *_: {v.variant: DIAGNOSIS for v in running})
    assert block.diagnose(dict.fromkeys(["platform", "virtual"], AS_PLANNED)) == {"virtual": DIAGNOSIS}


def test_at_once_each_variant_that_runs_has_a_call_of_k6_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorded.run(blocks=1)
    variants: list[Any] = [OfAVariant(name) for name in ("platform", "virtual", "gone")]
    site: Any = SimpleNamespace(folder=tmp_path, run_id="r", preflight=Preflight())
    block = LocalBlock(site, LocalStart(run.experiment, 1, 1, variants, run.blocks[0].instances))
    block.__dict__["_workload"] = SimpleNamespace(script=tmp_path / "block.ts", private=None)
    block._retired["gone"] = None
    made: list[Call] = []

    def run_calls(calls: Sequence[Call]) -> Any:
        made.extend(calls)
        return SimpleNamespace(typical=[], light=[])

    monkeypatch.setattr(block, "_run", run_calls)
    block.load(LoadCall(single_user_phase="6s", is_at_once=True))
    light = LightLoad({"platform": (0.0, 2.0), "virtual": (0.0, 8.0)})
    block.load(LoadCall(light_load=light, is_at_once=True))
    block.load(LoadCall(typical=TYPICAL, is_at_once=True))
    assert [list(call.targets) for call in made] == [["platform"], ["virtual"]] * 2 + [["virtual"], ["platform"]]
    assert [call.variables["SINGLE"] for call in made] == ["6s", "6s"] + 4 * ["0s"]
    assert [json.loads(call.variables["LIGHT"]) for call in made[2:4]] == [{"platform": [0, 2]}, {"virtual": [0, 8]}]
    assert [call.variables["TYPICAL"] for call in made] == ["", "", "", "", "virtual", "platform"]
    assert len({call.document for call in made[:2]}) == 2, "neither overwrites the other's"


def test_a_call_has_the_probes_of_the_variants_that_it_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = of_two(tmp_path)
    block.__dict__["_workload"] = SimpleNamespace(script=tmp_path / "block.ts", private=None)
    made: list[Call] = []

    def run_calls(calls: Sequence[Call]) -> Any:
        made.extend(calls)
        return SimpleNamespace(trials=recorded.block().trials, typical=[], light=[])

    def diagnose(running: Iterable[Any], _: Path, trial: Callable[[str], Trial], __: object) -> dict[str, Diagnosis]:
        for variant in running:
            trial(variant.variant)
        return {}

    monkeypatch.setattr(block, "_run", run_calls)
    monkeypatch.setattr(dumps, "diagnose", diagnose)
    block.load(LoadCall(trial_order=["platform", "virtual"]))
    block.load(LoadCall(typical=TYPICAL, is_at_once=True))
    block.drop("platform")
    block.load(LoadCall(trial_order=["virtual"]))
    urls = {name: f"http://localhost/{name}/alive" for name in ("platform", "virtual")}
    of_virtual = {"virtual": urls["virtual"]}
    probes = [json.loads(call.variables["PROBES"]) for call in made]
    assert probes == [urls, of_virtual, {"platform": urls["platform"]}, of_virtual]

    made.clear()
    block.load(LoadCall(single_user_phase="3s"))
    block.load(LoadCall(trial_order=["virtual"], with_probe=False))
    block.diagnose({"virtual": AS_PLANNED})
    assert [call.variables["PROBES"] for call in made] == ["none"] * 3


def test_typical_load_has_the_cpu_of_the_kernel_and_what_comes_between_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = of_two(tmp_path)
    said: list[str] = []
    phases = {trial.variant: trial.model_copy(update={"phase": "typical"}) for trial in recorded.block().trials}

    def load(variables: Mapping[str, str]) -> K6Document:
        said.append(f"load {variables['ORDER']}{variables['TYPICAL']}")
        nothing: dict[str, list[Trial]] = {"warmup": [], "single": [], "trials": [], "light": []}
        described = {"version": 2, "experiment": "e", "run_id": "r", "block": 1, "order": [], "agreed": True}
        return K6Document.model_validate({**described, **nothing, "typical": [phases[variables["TYPICAL"]]]})

    monkeypatch.setattr(block, "experiment", block.experiment.model_copy(update={"reset": "POST /reset"}))
    monkeypatch.setattr(block, "_load", load)
    monkeypatch.setattr(block, "_reset", lambda variant: said.append(f"reset {variant}"))
    monkeypatch.setattr(block, "_usage", lambda *_: {"cpu_cores": 0.125})
    document = block.load(LoadCall(typical=TYPICAL))
    assert said == ["reset virtual", "load virtual", "reset platform", "load platform"]
    assert [phase.variant for phase in document.typical] == ["virtual", "platform"]
    assert [phase.server["cpu_cores"] for phase in document.typical] == [0.125, 0.125]


def test_trials_of_a_further_call_keep_their_positions_where_each_has_a_call_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = of_two(tmp_path)
    positions: list[str] = []

    def load(variables: Mapping[str, str], _: str) -> K6Document:
        positions.append(f"{variables['POSITION']} {variables['ORDER']}")
        return K6Document(
            version=2, experiment="e", run_id="r", block=1, order=[], agreed=True, warmup=[], single=[], trials=[]
        )

    monkeypatch.setattr(block, "experiment", block.experiment.model_copy(update={"reset": "POST /reset"}))
    monkeypatch.setattr(block, "_load", load)
    monkeypatch.setattr(block, "_reset", lambda _: None)
    block.load(LoadCall(trial_order=["virtual", "platform"], first_position=5))
    assert positions == ["5 virtual", "6 platform"]


def test_the_largest_resident_memory_is_that_of_the_jvm_when_its_part_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = of_two(tmp_path)
    for instance, variant in zip(block.instances, block.variants, strict=True):
        monkeypatch.setattr(variant.process, "identity", Same(instance.identity))
    peaks = {"platform": 5e8, "virtual": 3e8}
    monkeypatch.setattr(block_module.usage, "resident_peak", lambda pid: peaks[pid])
    block.drop("platform")
    peaks |= {"platform": 9e9, "virtual": 4e8}
    assert [instance.resident_peak for instance in block.check_instances()] == [5e8, 4e8]
    monkeypatch.setattr(block.variants[1].process, "identity", Same("another"))
    assert block.check_instances()[1].resident_peak is None, "another process"


def test_a_variant_that_ended_just_as_k6_did_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: a JVM ended while its last cycle was annotated, and "it ended or restarted" was all that was said."""
    block = of_two(tmp_path)
    for instance, variant in zip(block.instances, block.variants, strict=True):
        monkeypatch.setattr(variant.process, "identity", Same(instance.identity))
    monkeypatch.setattr(block_module.usage, "resident_peak", lambda pid: None)
    virtual: Any = block.variants[1]
    virtual.ended = "out of heap memory (144m)"
    block.drop("virtual")
    assert [instance.ended for instance in block.check_instances()] == [None, "out of heap memory (144m)"]


def test_calls_at_once_have_all_begun_before_any_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded.run(blocks=1)
    site: Any = SimpleNamespace(root=tmp_path, prometheus=SimpleNamespace(url="http://localhost:1"))
    block = LocalBlock(site, LocalStart(run.experiment, 1, 1, [], run.blocks[0].instances))
    said: list[str] = []

    def start(call: Call) -> Any:
        said.append(f"start {call.block}")
        return SimpleNamespace(pid=os.getpid(), stop=lambda grace: said.append(f"stop {call.block}"))

    def watch(generators: Sequence[Any]) -> None:
        said.append(f"watch {len(generators)}")
        raise BlockFault("Prometheus ended")

    monkeypatch.setattr(block, "_start_k6", start)
    monkeypatch.setattr(block, "_watch", watch)
    calls = [Call(tmp_path, tmp_path, {}, {}, "r", number, tmp_path / f"{number}.json") for number in (1, 2)]
    with pytest.raises(BlockFault, match="Prometheus ended"):
        block._run(calls)
    assert said == ["start 1", "start 2", "watch 2", "stop 2", "stop 1"]


def test_a_k6_that_fails_ends_those_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded.run(blocks=1)
    running = SimpleNamespace(exit_description=lambda: None)
    site: Any = SimpleNamespace(
        root=tmp_path,
        prometheus=SimpleNamespace(url="http://localhost:1", exit_description=lambda: None),
        companions=running,
        bound_logs=lambda: None,
    )
    block = LocalBlock(site, LocalStart(run.experiment, 1, 1, [], run.blocks[0].instances))
    stopped: list[int] = []
    codes = {1: None, 2: 107}

    def start(call: Call) -> Any:
        code = codes[call.block]
        return SimpleNamespace(
            pid=os.getpid(),
            stop=lambda grace: stopped.append(call.block),
            exit_description=lambda: None if code is None else f"exit code {code}",
            returncode=lambda: code,
            last_lines=lambda: "no such option",
        )

    monkeypatch.setattr(block, "_start_k6", start)
    calls = [Call(tmp_path, tmp_path, {}, {}, "r", number, tmp_path / f"{number}.json") for number in codes]
    with pytest.raises(BlockFault, match="k6 ended with exit code 107: no such option"):
        block._run(calls)
    assert stopped == [2, 1]


def test_k6_has_a_heap_by_its_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded.run(blocks=1)
    commands: list[Command] = []
    site: Any = SimpleNamespace(
        folder=tmp_path,
        k6=SimpleNamespace(path=tmp_path / "k6"),
        k6_prefix=[],
        ledger=SimpleNamespace(start=commands.append),
        prometheus=SimpleNamespace(url="http://localhost:1", remote_write="http://localhost:1/api/v1/write"),
    )
    monkeypatch.setattr(block_module.machine, "available_memory", lambda: 16 * 1024**3)
    block = LocalBlock(site, LocalStart(run.experiment, 1, 1, [], run.blocks[0].instances))
    block._start_k6(Call(tmp_path, tmp_path, {}, {"TYPICAL_USERS": "1000"}, "r", 1, tmp_path / "1.json"))
    (environment,) = (command.environment or {} for command in commands)
    assert (environment["GOGC"], environment["GOMEMLIMIT"]) == ("off", "5512MiB")


def test_a_slow_start_is_waited_for_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda _: now.append(now.pop() + 1))
    monkeypatch.setattr(target_module, "time", clock)
    variants = [
        SimpleNamespace(variant=name, server=SimpleNamespace(ready=lambda after=after: now[0] > after))
        for name, after in (("platform", 40), ("virtual", 80))
    ]
    said: list[str] = []
    site = SimpleNamespace(say=said.append, bound_logs=lambda: None)
    target: Any = SimpleNamespace(_running=variants, site=site)
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


def ready_of(scraped: Sequence[str], failures: list[Failure], stopped: list[str]) -> list[Any]:
    """Verifies two variants, of which only some are scraped; returns those that are ready."""
    variants = [OfAVariant("platform"), OfAVariant("virtual")]
    for variant in variants:
        variant.process.stop = lambda _, name=variant.variant: stopped.append(name)

    def verified(_: object, variant: OfAVariant) -> str:
        if variant.variant not in scraped:
            raise NotScraped(f"{variant.variant}: Prometheus has not scraped it after 30 s")
        return variant.variant

    site = SimpleNamespace(prometheus=SimpleNamespace(url="http://localhost:1"))
    target: Any = SimpleNamespace(_running=variants, site=site, _verified=verified)
    return list(LocalTarget._verify_ready(target, failures))


def test_a_variant_whose_metrics_do_not_come_fails_where_those_of_another_do() -> None:
    """A heap may be too small for an idle JVM to answer Prometheus, at each attempt."""
    failures: list[Failure] = []
    stopped: list[str] = []
    assert ready_of(["platform"], failures, stopped) == ["platform"]
    assert [(f.variant, f.reason, f.moment) for f in failures] == [
        ("virtual", "its metrics did not come within 30 s", "while it started")
    ]
    assert stopped == ["virtual"], "it takes no CPU from the other"


def test_where_no_metrics_come_no_variant_fails() -> None:
    failures: list[Failure] = []
    with pytest.raises(NotScraped, match="platform: Prometheus has not scraped it"):
        ready_of([], failures, [])
    assert failures == []
