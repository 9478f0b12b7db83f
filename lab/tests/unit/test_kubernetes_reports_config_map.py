"""The reports of a run in a ConfigMap."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.cli_call import call
from vtlab.commands import run
from vtlab.errors import AssertionFailed, PrerequisiteMissing
from vtlab.targets.kubernetes.api.connection import NotFound
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.release import reports_config_map

RELEASE = ReleaseRef(None, "ns", "lab")
Patches = list[tuple[str, dict[str, str | None]]]
CLEARED = dict.fromkeys(reports_config_map.FILES)


@pytest.fixture
def patches(monkeypatch: pytest.MonkeyPatch) -> Patches:
    """What the cluster was told to write, in order."""
    patches: Patches = []

    class Cluster:
        def __init__(self, ref: ReleaseRef) -> None:
            assert ref.name == "lab"

        def fill_config_map(self, name: str, texts: Mapping[str, str | None]) -> None:
            if name == "none":
                raise NotFound("no such object")
            patches.append((name, dict(texts)))

        def close(self) -> None:
            pass

    monkeypatch.setattr(reports_config_map, "Cluster", Cluster)
    return patches


def test_what_has_room_is_written(patches: Patches, tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("Turn it on: 5 times", encoding="utf-8")
    (tmp_path / "verdict.json").write_text("{}", encoding="utf-8")
    (tmp_path / "report.html").write_text("x" * reports_config_map.ROOM, encoding="utf-8")
    (tmp_path / "trials.jsonl").write_text("{}", encoding="utf-8")
    reports_config_map.fill(RELEASE, "lab-verdict", tmp_path)
    assert patches == [("lab-verdict", {"report.md": "Turn it on: 5 times", "verdict.json": "{}"})]


def test_a_run_without_a_report_writes_nothing(patches: Patches, tmp_path: Path) -> None:
    reports_config_map.fill(RELEASE, "lab-verdict", tmp_path)
    assert patches == []


def test_a_missing_one_is_said_before_the_run(patches: Patches) -> None:
    with pytest.raises(PrerequisiteMissing, match="no ConfigMap none in namespace ns") as missing:
        reports_config_map.clear(RELEASE, "none")
    assert missing.value.fix == "kubectl -n ns create configmap none"


@pytest.mark.parametrize("error", [None, AssertionFailed("it does not hold")])
def test_a_run_clears_it_and_fills_it_however_it_ends(
    patches: Patches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: AssertionFailed | None
) -> None:
    def created(*_: object) -> Path:
        assert patches == [("v", CLEARED)], "nothing of an earlier run stays beside a run that fails"
        return tmp_path

    def measured(folder: Path, *_: object) -> None:
        (folder / "report.md").write_text("the verdict", encoding="utf-8")
        if error:
            raise error

    monkeypatch.setattr(run, "begin_runs", created)
    monkeypatch.setattr(run, "measure_and_report", measured)
    done = call("run", "blocking", "--target", "kubernetes", "--config-map", "v", "--results", tmp_path)
    assert done.code == (1 if error else 0)
    assert patches == [("v", CLEARED), ("v", {"report.md": "the verdict"})]


def test_it_is_for_a_cluster() -> None:
    assert call("run", "blocking", "--config-map", "v").code == 2
