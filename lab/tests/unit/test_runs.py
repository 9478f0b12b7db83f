"""A call of vtlab, without measuring anything."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.support import jars, outcomes, recorded
from vtlab.analysis import verdict
from vtlab.analysis.statistics import stopping_rule
from vtlab.errors import AssertionFailed, BadInput, InvalidRun, LabError, PrerequisiteMissing
from vtlab.host import ports, tools
from vtlab.measuring.progress import Progress
from vtlab.model import objective, units
from vtlab.model.experiment_files import load
from vtlab.model.inspection import Inspection
from vtlab.model.run import Run
from vtlab.planning import light_load, planned_runs, typical_load
from vtlab.planning.shipped_experiments import EXPERIMENTS
from vtlab.report.words import hints
from vtlab.runs import measure, store
from vtlab.runs.create import create_runs
from vtlab.runs.measure import measure_and_report
from vtlab.runs.options import Options
from vtlab.runs.report import describe_noise, refuse_invalid
from vtlab.services.companions import mariadb, mariadb_server

pytestmark = pytest.mark.usefixtures("invented_tools")


def test_the_root_is_where_the_ledger_is(tmp_path: Path) -> None:
    run = tmp_path / "results" / "20261120T000000Z-a+b" / "a"
    run.mkdir(parents=True)
    (tmp_path / "results" / ".processes").mkdir()
    assert store.root_of(run) == tmp_path / "results"
    assert store.root_of(run.parent) == tmp_path / "results"
    assert store.root_of(tmp_path / "elsewhere" / "run") == tmp_path / "elsewhere", "none: the parent"


def test_one_run_lies_in_the_folder_itself_and_several_in_folders_of_their_own(tmp_path: Path) -> None:
    blocking, cpu = (load(name, EXPERIMENTS) for name in ("blocking", "cpu"))
    options = Options(blocks=3, seed=7, root=tmp_path, no_cpu_limit=False)
    single = create_runs(planned_runs.runs([blocking], []), options, "single")
    assert [p.name for p in store.runs_in(single)] == [single.name]
    several = create_runs(planned_runs.runs([blocking, cpu], [0.5]), options, "several")
    runs = [store.read(folder) for folder in store.runs_in(several)]
    assert [r.name for r in runs] == ["blocking@0.5cpu", "cpu@0.5cpu"]
    assert [r.experiment.limits.cpu for r in runs] == [0.5, 0.5]
    assert [(r.manifest.seed, r.manifest.blocks) for r in runs] == [(7, 3), (7, 3)]
    assert runs[0].manifest.jvm_flags[0] == "-XX:+UseSerialGC"


def test_a_run_without_a_number_of_blocks_has_a_rule_of_its_own_and_others_keep_their_number(tmp_path: Path) -> None:
    options = Options(blocks=None, seed=7, root=tmp_path, no_cpu_limit=False, precision=0.1, within=480.0)
    planned = planned_runs.runs([load(name, EXPERIMENTS) for name in ("blocking", "cpu", "fan-out")], [])
    planned[1] = replace(planned[1], blocks=2)
    folder = create_runs(planned, options, "x")
    runs = {run.name: run.manifest for run in map(store.read, store.runs_in(folder))}
    # blocking: capacity at full load, median and tail at typical load. fan-out: capacity of two further variants.
    rules = {claims: stopping_rule.sequential_rule(claims, precision=0.1, within=480.0) for claims in (2, 3)}
    assert [runs[name].rule for name in ("blocking", "cpu", "fan-out")] == [rules[3], None, rules[2]]
    assert [runs[name].blocks for name in ("blocking", "cpu", "fan-out")] == [12, 2, 12]
    assert [runs[name].max_rejected for name in ("blocking", "cpu", "fan-out")] == [6, 2, 6]


def test_the_seed_of_a_run_is_random_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = planned_runs.runs([load(name, EXPERIMENTS) for name in ("blocking", "cpu")], [])
    options = Options(blocks=3, seed=None, root=tmp_path, no_cpu_limit=False)
    monkeypatch.setattr("secrets.randbelow", lambda limit: limit - 1)
    folder = create_runs(planned, options, "x")
    assert [store.read(place).manifest.seed for place in store.runs_in(folder)] == [2**31 - 1] * 2


def test_the_manifest_has_the_publication_that_the_experiment_reproduces(tmp_path: Path) -> None:
    options = Options(blocks=3, seed=7, root=tmp_path, no_cpu_limit=False)
    planned = planned_runs.runs([load(name, EXPERIMENTS) for name in ("blocking-5s", "cpu")], [])
    runs = [store.read(folder) for folder in store.runs_in(create_runs(planned, options, "x"))]
    assert [r.manifest.publication.number if r.manifest.publication else None for r in runs] == ["000", None]


def test_the_manifest_has_the_look_into_the_services_jar(tmp_path: Path, invented_tools: Path) -> None:
    options = Options(blocks=1, seed=1, root=tmp_path / "results", no_cpu_limit=True)

    def look(label: str) -> Inspection | None:
        folder = create_runs(planned_runs.runs([load("blocking", EXPERIMENTS)], []), options, label)
        return store.read(folder).manifest.inspection

    assert look("no-jar") is None, "what vtlab cannot tell something of is measured all the same"
    jars.service(invented_tools, {"com.zaxxer:HikariCP": "7.0.2"}, packaging="extracted")
    seen = look("jar")
    assert seen is not None
    assert (seen.boot, seen.library("com.zaxxer:HikariCP") is not None) == ("3.5.0", True)


def test_a_limit_above_the_machine_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    options = Options(blocks=1, seed=1, root=tmp_path / "results", no_cpu_limit=False)
    with pytest.raises(BadInput, match="exceeds this machine's"):
        create_runs(planned_runs.runs([load("cpu", EXPERIMENTS)], [4096]), options, "x")
    assert not (tmp_path / "results").exists()


def test_what_an_experiment_needs_is_looked_for_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(blocks=1, seed=1, root=tmp_path / "results", no_cpu_limit=False)
    needy, calling, on_21 = (
        planned_runs.runs([recorded.experiment().model_copy(update={"needs": [need]})], [])
        for need in ("database", "downstream", "jdk21")
    )
    monkeypatch.setenv("VTLAB_DATABASE_URL", "jdbc:postgresql://h/lab")
    with pytest.raises(BadInput, match="VTLAB_DATABASE_URL is not of the form jdbc:mysql"):
        create_runs(needy, options, "x")
    (port,) = ports.free(1)
    monkeypatch.setenv("VTLAB_DOWNSTREAM_URL", f"http://127.0.0.1:{port}")
    with pytest.raises(PrerequisiteMissing, match="the downstream of VTLAB_DOWNSTREAM_URL does not answer"):
        create_runs(calling, options, "x")
    find = tools.find_java
    monkeypatch.setattr(tools, "find_java", lambda wanted=None: find(wanted, [] if wanted == "21" else None))
    with pytest.raises(PrerequisiteMissing, match="no JDK 21"):
        create_runs(on_21, options, "x")
    assert not (tmp_path / "results").exists()


def test_the_manifest_has_the_versions_of_what_is_needed_and_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("VTLAB_DATABASE_URL", "VTLAB_DOWNSTREAM_URL"):
        monkeypatch.delenv(name, raising=False)
    java = tools.Java(tmp_path / "java", "21.0.8", "a vendor")
    find = tools.find_java
    monkeypatch.setattr(tools, "find_java", lambda wanted=None: java if wanted == "21" else find(wanted))
    monkeypatch.setattr(mariadb, "can_be_fetched", lambda: False)
    monkeypatch.setattr(tools, "find_mariadb", lambda: tools.Tool(tmp_path, "11.4.5-MariaDB"))
    options = Options(blocks=1, seed=1, root=tmp_path / "results", no_cpu_limit=False)
    experiment = recorded.experiment().model_copy(update={"needs": ["database", "downstream", "jdk21"]})
    versions = store.read(create_runs(planned_runs.runs([experiment], []), options, "own")).manifest.versions
    assert versions["database"] == "11.4.5-MariaDB"
    assert versions["jdk21"] == "21.0.8 (a vendor)"
    assert "downstream" not in versions, "it is the app"
    without = store.read(create_runs(planned_runs.runs([recorded.experiment()], []), options, "none")).manifest.versions
    assert not {"database", "jdk21"} & without.keys()

    monkeypatch.setenv("VTLAB_DATABASE_URL", "jdbc:mysql://db.example/lab")
    monkeypatch.setenv("VTLAB_DATABASE_USER", "me")
    monkeypatch.setenv("VTLAB_DATABASE_PASSWORD", "secret-word")
    monkeypatch.setattr(mariadb_server, "version", lambda host, port: f"8.4.3 of {host}:{port}")
    folder = create_runs(planned_runs.runs([experiment], []), options, "theirs")
    assert store.read(folder).manifest.versions["database"] == "8.4.3 of db.example:3306"
    assert [path for path in folder.rglob("*") if path.is_file() and b"secret-word" in path.read_bytes()] == []


def test_noise_of_an_aa_run_is_the_sd_of_its_blocks() -> None:
    (analysis,) = verdict.analyse_all([recorded.run(blocks=6)])
    logs = analysis.verdict.outcomes[0].log_ratios
    mean = sum(logs) / 6
    sd = math.sqrt(sum((x - mean) ** 2 for x in logs) / 5)
    assert describe_noise(analysis).startswith(f"per-block SD of capacity: {sd:.2%}, 95 % interval ")


@pytest.mark.parametrize(
    ("run", "noise"),
    [
        (recorded.run(blocks=1), "no per-block SD of capacity: at least two blocks are needed"),
        (recorded.run(failing={2: "oom"}), "no per-block SD of capacity: virtual failed in 1 of 6 blocks"),
        (recorded.run(blocks=0, planned=2), "no per-block SD of capacity: at least two blocks are needed"),
    ],
)
def test_an_aa_run_without_two_blocks_says_why_it_has_no_sd(run: Run, noise: str) -> None:
    (analysis,) = verdict.analyse_all([run])
    assert describe_noise(analysis) == noise


def test_an_assertion_that_nothing_answers_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    options = Options(blocks=1, seed=1, root=tmp_path / "results", no_cpu_limit=False, asserts=["speed(a/b) > 1"])
    with pytest.raises(BadInput, match="no criterion 'speed'"):
        create_runs(planned_runs.runs([load("cpu", EXPERIMENTS)], []), options, "x")
    assert not (tmp_path / "results").exists()


def test_a_resumed_run_still_owes_its_assertions_and_its_objective(tmp_path: Path) -> None:
    demand = "capacity(virtual/platform) >= 99"
    slo = objective.parse("p99=200ms")
    options = Options(blocks=1, seed=1, root=tmp_path, no_cpu_limit=False, asserts=[demand], slo=slo)
    folder = create_runs(planned_runs.runs([recorded.experiment()], []), options, "x")
    assert (store.read(folder).manifest.asserts, store.read(folder).manifest.slo) == ([demand], slo)
    # Nothing is left to measure: a resumed run is reported, then checked.
    for block in recorded.run(blocks=1).blocks:
        store.append_block(folder, block)
    with pytest.raises(AssertionFailed, match="does not hold"):
        measure_and_report(folder, tmp_path, Progress(Console(quiet=True)))


@pytest.mark.parametrize(("experiment", "amount"), [("blocking", "about"), ("blocking-open", "at least")])
def test_the_time_of_a_run_has_what_its_first_block_has_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, experiment: str, amount: str
) -> None:
    planned = load(experiment, EXPERIMENTS)
    options = Options(blocks=3, seed=1, root=tmp_path, no_cpu_limit=False)
    folder = create_runs(planned_runs.runs([planned], []), options, "x")
    text = io.StringIO()

    def stop(*_: object, **__: object) -> None:
        raise LabError("enough", "")

    monkeypatch.setattr(measure, "open_target", stop)
    with pytest.raises(LabError, match="enough"):
        measure_and_report(folder, tmp_path, Progress(Console(file=text, width=200)))
    # A block takes a minute, by the invented k6.
    seconds = 3 * (60 + typical_load.expected_seconds(planned, None))
    seconds += light_load.extra_phase_seconds(planned, True, True)
    assert f"3 blocks to measure, {amount} {hints.time_in_words(seconds)}, until" in text.getvalue()
    assert seconds > 3 * 60 + light_load.SEQUENTIAL_SECONDS + units.seconds(planned.windows.measure)


def test_a_run_with_looks_takes_at_least_as_long_as_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(blocks=None, seed=1, root=tmp_path, no_cpu_limit=False)
    folder = create_runs(planned_runs.runs([recorded.experiment()], []), options, "x")
    text = io.StringIO()

    def stop(*_: object, **__: object) -> None:
        raise LabError("enough", "")

    monkeypatch.setattr(measure, "open_target", stop)
    with pytest.raises(LabError, match="enough"):
        measure_and_report(folder, tmp_path, Progress(Console(file=text, width=200)))
    assert "2 blocks to measure, at least " in text.getvalue()


def test_a_run_that_failing_has_ended_is_a_verdict_and_needs_no_further_block(tmp_path: Path) -> None:
    options = Options(blocks=6, seed=1, root=tmp_path, no_cpu_limit=False)
    folder = create_runs(planned_runs.runs([recorded.experiment()], []), options, "x")
    for block in recorded.run(blocks=3, failing=dict.fromkeys((1, 2, 3), "oom")).blocks:
        store.append_block(folder, block)
    (analysis,) = measure_and_report(folder, tmp_path, Progress(Console(quiet=True)))
    assert (analysis.verdict.valid, analysis.verdict.outcomes[0].fails) == (True, ["virtual"])
    refuse_invalid(folder, [analysis])
    assert len(store.read(folder).blocks) == 3


def test_a_run_without_a_decision_is_valid() -> None:
    wide = {"judgement": "undecided", "low": 0.8, "high": 1.5}
    claims = [outcomes.outcome(name, 1.1, **wide) for name in ("capacity", "median", "tail")]
    for analysis in (outcomes.concluded(*claims), outcomes.concluded(*claims, outcomes.outcome("tail.full", 2.3))):
        assert [decision.advice for decision in analysis.verdict.decisions] == ["no decision"]
        refuse_invalid(Path("results"), [analysis])


def test_a_report_of_a_run_with_too_many_rejected_blocks_is_an_invalid_run(tmp_path: Path) -> None:
    run = recorded.run(blocks=1)
    lost = [block.model_copy(update={"faults": ["boom"], "attempt": n}) for n, block in enumerate(run.blocks * 3, 1)]
    (analysis,) = verdict.analyse_all([replace(run, blocks=lost)])
    with pytest.raises(InvalidRun, match="3 blocks were rejected, 0 of 1 count"):
        refuse_invalid(tmp_path, [analysis])
    (fine,) = verdict.analyse_all([run])
    refuse_invalid(tmp_path, [fine])
