"""Results of earlier versions: reports read them, nothing resumes them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support import recorded as recorded_runs
from vtlab import migration, results, session
from vtlab.analysis import verdict
from vtlab.errors import BadInput

RECORDED = Path(__file__).with_name("recorded") / "0.1"
FILES = ("verdict.json", "report.html", "report.md")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RECORDED, tmp_path / "20261123T045756Z-recorded"))


def renamed(document: dict[str, Any]) -> dict[str, Any]:
    """A verdict of 0.1 with the keys and names of today, without what is judged otherwise today: a CPU that had time to
    spare has no bound without phases of light load, carriers have none where nothing is pinned, one single-user
    phase gives no interval to rely on for what comes next, p values are of the claim, and under closed load nothing but
    throughput has a ratio at unequal throughputs."""
    document["comparisons"] = [c for c in document["comparisons"] if c["metric"] == "throughput"]
    for comparison in document["comparisons"]:
        del comparison["p_t"], comparison["p_holm"], comparison["p_sign_flip"]
    for variant in document["variants"].values():
        variant["bottleneck"], variant["expected"] = variant.pop("constraint"), variant.pop("ideal")
        del variant["next"]
        variant["bounds"] = [bound for bound in variant["bounds"] if bound["resource"] not in ("cpu", "carriers")]
        for bound in variant["bounds"]:
            bound["service_demand"] = bound.pop("demand")
        for named in [variant["bottleneck"], *variant["bounds"]]:
            named["resource"] = {"users": "load"}.get(named["resource"], named["resource"])
    return {**document, "version": 2}


def assert_includes(document: Any, earlier: Any) -> None:
    """The document has all that the earlier one has, and perhaps more keys."""
    if isinstance(earlier, dict):
        for key, value in earlier.items():
            assert_includes(document[key], value)
    elif isinstance(earlier, list):
        assert len(document) == len(earlier)
        for now, before in zip(document, earlier, strict=True):
            assert_includes(now, before)
    else:
        assert document == earlier


def test_a_run_of_0_1_has_the_verdict_that_0_1_gave_it(recorded: Path) -> None:
    before = renamed(json.loads((recorded / "verdict.json").read_text(encoding="utf-8")))
    run = results.read(recorded)
    (analysis,) = verdict.analyse_all([run])
    assert_includes(json.loads(results.verdict_text(analysis.verdict)), before)
    assert (analysis.verdict.n, analysis.verdict.comparisons[0].verdict) == (2, "faster")
    assert [v.bottleneck.resource for v in analysis.verdict.variants.values()] == ["tomcat-threads", "load"]
    assert run.name == "recorded"
    assert list(run.series) == [(1, 1), (2, 1)]


def test_its_report_has_the_same_bytes_each_time(recorded: Path) -> None:
    written = []
    for _ in range(2):
        session.report(recorded, Console(quiet=True))
        written.append([(recorded / name).read_bytes() for name in FILES])
    assert written[0] == written[1]
    assert (recorded / "trials.jsonl").read_bytes() == (RECORDED / "trials.jsonl").read_bytes(), "raw data stay"


def test_it_is_not_resumed(recorded: Path) -> None:
    with pytest.raises(BadInput, match=r"measured by vtlab 0\.1\.0: this one cannot resume it") as caught:
        session.measure_and_report(recorded, recorded.parent, Console(quiet=True))
    assert caught.value.exit_code == 2
    assert f"vtlab report {recorded}" in caught.value.fix
    assert "vtlab run recorded.json --blocks 2" in caught.value.fix


def test_the_publication_of_an_experiment_is_that_of_the_manifest() -> None:
    publication = {"number": "009", "figures": {"virtual": {"said": "9/s", "throughput": 9}}}
    document = {"version": 1, "run_id": "x", "experiment": {"name": "x", "publication": publication}}
    manifest = migration.manifest(document)
    assert "publication" not in manifest["experiment"]
    assert manifest["publication"] == {"number": "009", "figures": {"virtual": {"text": "9/s", "throughput": 9}}}


@pytest.mark.parametrize("migrate", [migration.manifest, migration.block])
@pytest.mark.parametrize("version", [2, 3, None])
def test_other_versions_are_left_to_the_models(migrate: Any, version: int | None) -> None:
    document = {"version": version, "run_id": "20261123T023642Z-x"}
    assert migrate(document) == document


def test_a_newer_version_is_refused_by_name(tmp_path: Path) -> None:
    folder = results.create(tmp_path, recorded_runs.manifest(recorded_runs.experiment()))
    path = folder / "manifest.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"version": 2', '"version": 3'), encoding="utf-8")
    with pytest.raises(BadInput, match=r"manifest\.json: version: Input should be 2"):
        results.read(folder)
