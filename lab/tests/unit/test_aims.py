"""The table of aims, of invented calls of vtlab."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import aims
from benchmarks.aims import Call
from tests.support import recorded
from vtlab import shipped
from vtlab.analysis.statistics import paired
from vtlab.errors import LabError
from vtlab.runs import store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results of a call: three blocks, of 60, 50 and 40 s."""
    run = recorded.run(blocks=3)
    made = store.create(tmp_path / "run", run.manifest)
    for block, seconds in zip(run.blocks, (60.0, 50.0, 40.0), strict=True):
        store.append_block(made, block.model_copy(update={"seconds": seconds}))
    return made


def test_what_rows_show_comes_from_the_results(folder: Path) -> None:
    calls = [Call(130.0, folder), Call(100.0, folder), Call(110.4, folder)]
    name, n = recorded.run(blocks=3).name, 3
    listed = ", ".join([f"{name} {n}"] * 3)
    assert aims.verdicts(calls) == f"110 s (of 130, 100, 110); 3 of 3 settled (blocks: {listed})"
    assert aims.minutes(calls[:1]) == "2.2 min"
    assert aims.block(calls[:1]) == "50 s (of 60, 50, 40)"
    (analysis,) = calls[0].analyses
    sd = aims.spread(calls[:1])
    capacity, *_ = analysis.verdict.outcomes
    assert sd.startswith(f"{paired.spread(capacity.log_ratios).sd:.2%}, 95 % interval ")
    assert sd.endswith("(blocks: 3)")
    shares = {name: result.fidelity for name, result in analysis.verdict.variants.items()}
    assert all(f"{name} {share:.4f}" in aims.over_law(calls[:1]) for name, share in shares.items() if share)


def vtlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    program = tmp_path / "vtlab"
    program.write_text(
        f"#!{sys.executable}\nimport sys, pathlib\nroot = pathlib.Path(sys.argv[-1])\n{script}\n", encoding="utf-8"
    )
    program.chmod(0o755)
    monkeypatch.setattr(aims, "VTLAB", program)
    return tmp_path / "results"


def test_a_call_has_the_folder_that_it_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = vtlab(
        tmp_path, monkeypatch, "(root / sys.argv[2]).mkdir(parents=True); (root / '.vtlab').mkdir(exist_ok=True)"
    )
    assert aims.call_vtlab(["run", "a"], root).folder == root / "a"
    assert aims.call_vtlab(["run", "b"], root).folder == root / "b"


def test_a_call_that_fails_is_a_failed_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = vtlab(tmp_path, monkeypatch, "sys.exit(4)")
    with pytest.raises(LabError, match="vtlab run a ended with exit code 4"):
        aims.call_vtlab(["run", "a"], root)
    assert aims.main(["--results", str(root), "--calls", "2", "law"]) == 1
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith("| throughput over the law, `blocking-5s` | 1.000 | ≥ 0.999 | FAILED: vtlab run blocking-5s")
    assert "| 2 |" in row


def test_a_row_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        aims.main(["--calls", "0", "law"])
    with pytest.raises(SystemExit):
        aims.main(["nonsense"])
    assert "no such row: nonsense; there is compare, blocking" in capsys.readouterr().err
    assert aims.main(["--list"]) == 0
    assert "cpu-aa" in capsys.readouterr().out


def test_the_jar_of_a_row_goes_into_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    jars = aims.known_jars(["petclinic=some/app.jar"], ["petclinic"])
    assert aims.with_jar("petclinic", jars).command == ["try", "some/app.jar", "GET /owners/1"]
    for wrong, message in (
        (["petclinic"], "petclinic needs a jar: --jar petclinic=PATH"),
        (["--jar", "law=app.jar"], "--jar law=app.jar: NAME=PATH is expected"),
        (["--jar", "petclinic"], "--jar petclinic: NAME=PATH is expected"),
    ):
        with pytest.raises(SystemExit):
            aims.main(wrong)
        assert message in capsys.readouterr().err


def test_the_rows_have_the_aims_of_a_decision_and_the_page_has_the_same() -> None:
    rows = ("compare", "blocking", "petclinic", "hikaricp", "petclinic-rest", "reproduce", "quick", "cluster")
    asked = {name: (aims.ROWS[name].aim, aims.ROWS[name].calls) for name in rows}
    assert asked == {
        "compare": ("≤ 360 s, both decided", 3),
        "blocking": ("≤ 140 s", 3),
        "petclinic": ("decided within 8 min, 3 of 3", 3),
        "hikaricp": ("decided within 8 min, 3 of 3", 3),
        "petclinic-rest": ("decided within 10 min, 2 of 3", 3),
        "reproduce": ("≤ 45 min", 1),
        "quick": ("≤ 20 min", 1),
        "cluster": ("≤ 105 s", 1),
    }
    assert aims.ROWS["petclinic-rest"].command == ["try", aims.JAR, "--max-time", "10m"]
    page = (shipped.ROOT / "docs/evidence/timings.md").read_text(encoding="utf-8")
    assert [aim for aim, _ in asked.values() if f"| {aim.removeprefix('decided ')}" not in page] == []
