"""The call of k6 and its document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vtlab.errors import BlockFault
from vtlab.k6 import call as k6
from vtlab.model.workload import Workload
from vtlab.planning.load_call import CallPacing, LightLoad, LoadCall, TypicalCall


def call(**changes: object) -> k6.Call:
    values: dict[str, object] = {
        "script": Path("/lab/k6/block.ts"),
        "experiment": Path("/run/plan.json"),
        "targets": {"platform": "http://127.0.0.1:1", "virtual": "http://127.0.0.1:2"},
        "variables": k6.phase_variables(LoadCall(trial_order=["platform", "virtual"])),
        "run_id": "r",
        "block": 3,
        "document": Path("/run/k6/d.json"),
    }
    return k6.Call(**{**values, **changes})  # type: ignore[arg-type]


def variables_of(command: list[str]) -> dict[str, str]:
    pairs = [command[i + 1] for i, word in enumerate(command) if word == "-e"]
    return dict(pair.split("=", 1) for pair in pairs)


def test_the_command_says_everything() -> None:
    planned = LoadCall(trial_order=["platform", "virtual"], single_user_phase="5s")
    command = k6.command(Path("/bin/k6"), call(variables=k6.phase_variables(planned)))
    assert command[:2] == ["/bin/k6", "run"]
    assert command[-1] == "/lab/k6/block.ts"
    assert command[command.index("-o") + 1] == "experimental-prometheus-rw"
    assert variables_of(command) == {
        "EXPERIMENT": "/run/plan.json",
        "TARGETS": '{"platform":"http://127.0.0.1:1","virtual":"http://127.0.0.1:2"}',
        "ORDER": "platform,virtual",
        "WARMUP_CYCLES": "0",
        "OWN_CYCLES": "0",
        "SINGLE": "5s",
        "POSITION": "1",
        "WAIT_FOR_ANSWERS": "true",
        "TYPICAL": "",
        "RUN_ID": "r",
        "BLOCK": "3",
        "DOCUMENT": "/run/k6/d.json",
    }


def test_what_is_private_comes_by_a_file_that_only_this_user_reads(tmp_path: Path) -> None:
    (tmp_path / "owners.csv").write_text("id,password\n1,a-secret-word\n", encoding="utf-8")
    workload = Workload.model_validate({"requests": ["GET /owners/{id}"], "data": str(tmp_path / "owners.csv")})
    private = k6.write_private(workload, tmp_path)
    assert private is not None
    assert private.stat().st_mode & 0o777 == 0o600
    assert json.loads(private.read_text(encoding="utf-8"))["rows"] == [["1", "a-secret-word"]]
    # Again, for the next call.
    assert k6.write_private(workload, tmp_path) == private
    command = k6.command(Path("/bin/k6"), call(private=private))
    assert variables_of(command)["PRIVATE"] == str(private)
    assert "secret" not in " ".join(command)
    assert k6.write_private(Workload.model_validate({"requests": ["GET /"]}), tmp_path) is None


def test_a_last_trial_has_its_number_and_gives_up_what_is_unanswered() -> None:
    values = k6.phase_variables(LoadCall(trial_order=["virtual"], first_position=2, wait_for_answers=False))
    assert (values["ORDER"], values["POSITION"], values["WAIT_FOR_ANSWERS"]) == ("virtual", "2", "false")


def test_warm_up_alone_has_an_empty_order_and_no_single_phase() -> None:
    values = k6.phase_variables(LoadCall(warmup_cycles=2, trial_load_cycles=3))
    assert values["ORDER"] == ""
    assert (values["WARMUP_CYCLES"], values["OWN_CYCLES"], values["SINGLE"]) == ("2", "3", "0s")


def test_typical_load_has_its_variants_rate_users_and_times() -> None:
    typical = TypicalCall(["virtual", "platform"], rate=29.3, users=176, settle=1200, measure=15_000)
    assert {
        "ORDER": "",
        "TYPICAL": "virtual,platform",
        "RATE": "29.3",
        "TYPICAL_USERS": "176",
        "TYPICAL_SETTLE": "1200ms",
        "TYPICAL_MEASURE": "15000ms",
    }.items() <= k6.phase_variables(LoadCall(typical=typical)).items()
    assert k6.phase_variables(LoadCall(trial_order=["platform"]))["TYPICAL"] == ""


def test_probes_go_beside_warm_up_trials_and_typical_load_alone() -> None:
    typical = TypicalCall(["platform"], rate=3, users=20, settle=1000, measure=15_000)
    warm_up = (LoadCall(warmup_cycles=1), LoadCall(trial_load_cycles=1))
    for probed in (*warm_up, LoadCall(trial_order=["platform"]), LoadCall(typical=typical)):
        assert "PROBES" not in k6.phase_variables(probed)
    for silent in (
        LoadCall(single_user_phase="3s"),
        LoadCall(light_load=LightLoad({"platform": [0]})),
        LoadCall(trial_order=["platform"], with_probe=False),
    ):
        assert k6.phase_variables(silent)["PROBES"] == "none"


def test_light_load_and_what_the_warm_up_showed_are_told() -> None:
    light = LightLoad({"platform": [0, 12.5]}, settle=1500, measure=2500)
    values = k6.phase_variables(LoadCall(light_load=light, pacing=CallPacing(seed=7, settle=2000, measure=17_321)))
    assert json.loads(values["LIGHT"]) == {"platform": [0, 12.5]}
    assert (values["LIGHT_SETTLE"], values["LIGHT_MEASURE"]) == ("1500ms", "2500ms")
    assert (values["SEED"], values["SETTLE"], values["MEASURE"]) == ("7", "2000ms", "17321ms")
    closed = k6.phase_variables(LoadCall(trial_order=["platform"], pacing=CallPacing(rounds={"platform": 5000})))
    assert json.loads(closed["ROUNDS"]) == {"platform": "5000ms"}
    # A closed load has no time to settle, and what is not told is the experiment's.
    assert not {"LIGHT", "SEED", "SETTLE", "MEASURE", "ROUNDS"} & k6.phase_variables(LoadCall(warmup_cycles=1)).keys()


def test_the_length_of_a_block_is_what_the_plan_of_k6_says(tmp_path: Path) -> None:
    inspected = json.dumps({"scenarios": {"users": {"env": {"BLOCK_SECONDS": "93"}}}})
    tool = tmp_path / "k6"
    for output, seconds in ((inspected, 93.0), ("{}", None), ("level=error", None)):
        tool.write_text(f"#!/bin/sh\n[ $1 = inspect ] && cat <<'EOF'\n{output}\nEOF\n", encoding="utf-8")
        tool.chmod(0o755)
        assert k6.block_seconds(tool, Path("block.ts"), Path("plan.json"), ["platform"]) == seconds


def test_the_environment_sends_native_histograms_and_nothing_home() -> None:
    values = k6.environment("http://127.0.0.1:9/api/v1/write", Path("/run/k6"))
    assert values["K6_PROMETHEUS_RW_SERVER_URL"] == "http://127.0.0.1:9/api/v1/write"
    assert values["K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM"] == "true"
    assert values["K6_NO_USAGE_REPORT"] == "true"
    assert values["HOME"] == "/run/k6"


def test_a_document_that_is_missing_or_wrong_is_a_fault_with_the_log(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    with pytest.raises(BlockFault, match="no document: level=error"):
        k6.read_document(path, "level=error")
    path.write_text('{"version": 1,', encoding="utf-8")
    with pytest.raises(BlockFault, match="cannot be read"):
        k6.read_document(path, "")
    good = {"version": 2, "experiment": "e", "run_id": "r", "block": 1, "order": [], "agreed": True}
    good |= {"warmup": [], "single": [], "trials": []}
    path.write_text(json.dumps(good | {"extra": 1}), encoding="utf-8")
    with pytest.raises(BlockFault, match="extra"):
        k6.read_document(path, "")
    path.write_text(json.dumps(good), encoding="utf-8")
    assert k6.read_document(path, "").block == 1
