"""``vtlab try`` on a service that starts at once: a short call, and what may be wrong with a service. Each has a
message that names it, and leaves nothing running. A whole search: tests/truth/test_try.py."""

from __future__ import annotations

import contextlib
import io
import json
import re
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.experiments import WITHOUT_LIGHT_LOAD, service_file, stub, stub_service
from tests.support.lab_call import Running, leftovers, only, verdict, vtlab
from tests.support.privileges import needs_root
from tests.support.runs import RunFolder
from vtlab.errors import BadInput, InvalidRun, PrerequisiteMissing
from vtlab.measuring import load_search
from vtlab.measuring.progress import Progress
from vtlab.model import experiment_files
from vtlab.model.draft import Option
from vtlab.planning.planned_runs import PlannedRun
from vtlab.planning.shipped_experiments import of_service
from vtlab.runs import store
from vtlab.runs.begin import begin_runs
from vtlab.runs.measure import measure_and_report
from vtlab.runs.options import Options
from vtlab.services import process

pytestmark = [pytest.mark.timeout(600), needs_root]

REQUEST = "GET /thread?duration=20ms"


def tried(folder: Path, *more: str, request: str = REQUEST, **environment: str) -> subprocess.CompletedProcess[str]:
    """A call of ``vtlab try`` with a stub that is broken so."""
    root = folder / "results"
    file = service_file(folder, stub_service(**environment))
    done = vtlab("try", file, request, *more, "--memory", "64Mi", "--results", root)
    assert leftovers(root) == []
    return done


def short_call(folder: Path, monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    """A whole call in this process, with short windows and a search of one level; what it prints."""
    monkeypatch.setattr(load_search, "WITHIN", 1.0)
    given = [Option("REQUEST", "requests", [REQUEST]), Option("--memory", "limits.memory", "64Mi")]
    file = service_file(folder, stub_service(**environment), load={"typical": "none"})
    experiment = of_service(file, given)
    short = experiment.model_copy(update={"windows": stub(windows=WITHOUT_LIGHT_LOAD).windows})
    options = Options(blocks=1, seed=1, root=folder / "results", no_cpu_limit=False, max_rejected=0)
    output = io.StringIO()
    progress = Progress(Console(file=output, width=200))
    try:
        # A block that the machine disturbed is reported as well.
        with contextlib.suppress(InvalidRun):
            folder_of_run = begin_runs([PlannedRun("stub", short)], options, progress)
            measure_and_report(folder_of_run, options.root, progress)
    finally:
        assert leftovers(folder / "results") == []
    return output.getvalue()


def test_a_short_search_and_the_block_that_it_chose_are_one_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that may measure one level only ends there, and the block of what it chose is measured and reported in
    the same call, with an experiment that can be repeated."""
    printed = short_call(tmp_path, monkeypatch)
    assert "searching load: 1 user" in printed
    folder = only(tmp_path / "results")
    run = store.read(folder)
    assert run.manifest.curve is not None
    # Where the machine stalled, that ended the search.
    assert run.manifest.curve.ended in ("time", "load generator")
    assert [point.users for point in run.manifest.curve.points] == [1, 1]
    assert run.experiment.load.users == run.manifest.curve.chosen
    assert experiment_files.load(str(folder / "experiment.json"), tmp_path).load == run.experiment.load
    # A level with few answers, as where the machine stalled, is measured again.
    levels = Counter(
        (trial["variant"], trial["users"])
        for trial in map(json.loads, (folder / "search.jsonl").read_text(encoding="utf-8").splitlines())
    )
    assert levels.keys() == {("platform", 1), ("virtual", 1)}
    assert set(levels.values()) in ({1}, {2})
    assert [block.block for block in run.blocks] == [1]
    assert verdict(folder)["experiment"] == run.experiment.name
    assert (folder / "report.html").is_file()


def test_a_service_that_answers_500_once_in_ten_is_named_with_the_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors of all variants end a search with their share, and with the key that allows them."""
    with pytest.raises(BadInput, match=r"answers are errors at \d+ users: [\d.]+ % by \w+") as refused:
        short_call(tmp_path, monkeypatch, STUB_FAIL_EVERY="10")
    assert "max_errors" in refused.value.fix


def test_a_wrong_answer_is_named_before_anything_is_measured(tmp_path: Path) -> None:
    """An answer with another status than expected is named with what to do, by its status, before any load."""
    done = tried(tmp_path, STUB_STATUS="404")
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"{REQUEST}: every variant answered 404" in done.stderr
    assert "correct the path" in done.stderr


def test_a_service_that_does_not_start_shows_the_end_of_its_log_however_long(tmp_path: Path) -> None:
    """A service that does not start: exit 3 and the last lines of its log, of which megabytes are neither repeated nor
    kept."""
    done = tried(tmp_path, STUB_PRINTS="5", STUB_REFUSES_TO_START="no connection to the warehouse")
    assert done.returncode == 3, done.stdout + done.stderr
    # Whichever ends first.
    assert re.search("no variant of the service starts: (platform|virtual): it ended with exit code 1", done.stderr)
    assert "no connection to the warehouse" in done.stderr
    assert len(done.stderr) + len(done.stdout) < 5000
    assert ".log has over 4 MiB" in done.stdout
    sizes = [log.stat().st_size for log in (tmp_path / "results").glob("*/logs/*-platform.log")]
    assert sizes
    assert max(sizes) < 3 * 1024**2


def test_a_service_on_a_port_of_its_own_is_named_with_the_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that does not heed SERVER_PORT is refused with the port on which it listens."""
    monkeypatch.setattr(process, "ELSEWHERE_WITHIN", 0.5)
    with pytest.raises(PrerequisiteMissing, match=r"it listens on port \d+ .*not on \d+ from SERVER_PORT"):
        started(tmp_path, STUB_ELSEWHERE="1")


def test_a_service_that_ends_at_its_first_request_is_named(tmp_path: Path) -> None:
    """A service that exits under the first requests: exit 3, with its exit code."""
    done = tried(tmp_path, STUB_DIE_AFTER="1")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "ended with exit code 9 when it got the first requests" in done.stderr


def test_a_service_that_hangs_is_named(tmp_path: Path) -> None:
    """A service that answers nothing is refused after the longest time for an answer, not never."""
    with pytest.raises(BadInput, match=f"^{re.escape(REQUEST)}: every variant gave no answer"):
        started(tmp_path, STUB_HANG_AFTER="1")


def test_requests_come_by_https_where_the_service_answers_so(tmp_path: Path) -> None:
    """A service with TLS is found out, and k6 takes its certificate from any issuer."""
    certificate = tmp_path / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=shop.example", "-days", "1"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "certificate.pem")]
    made = subprocess.run([*command, *files], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    parts = [(tmp_path / name).read_text(encoding="utf-8") for name in ("key.pem", "certificate.pem")]
    certificate.write_text("".join(parts), encoding="utf-8")
    done = tried(tmp_path, STUB_CERTIFICATE=str(certificate), STUB_STATUS="404")
    # The answer came by TLS: the stub has no other.
    assert f"{REQUEST}: every variant answered 404" in done.stderr, done.stdout + done.stderr


def started(folder: Path, **environment: str) -> None:
    """Starts a pair of such a stub as a call does, and ends it: the pre-flight sends the request."""
    planned = stub(requests=[REQUEST], service=stub_service(**environment), max_response="100ms")
    run = RunFolder(folder, planned)
    try:
        with run.target(with_preflight=True) as target:
            target.start(run.planned, 1, 1)
    finally:
        assert leftovers(folder) == []


@pytest.mark.parametrize("moment", ["starting platform", "searching load: warm-up", "searching load: 1 user"])
def test_an_interrupted_search_leaves_nothing(moment: str, tmp_path: Path) -> None:
    """Ctrl-C in every step of a search: exit 130, nothing is left running, and no half run on the disk."""
    root = tmp_path / "results"
    arguments = ["try", service_file(tmp_path, stub_service()), REQUEST, "--memory", "64Mi", "--results", root]
    with Running(tmp_path, *arguments) as run:
        run.until(moment)
        assert run.end(signal.SIGINT) == 130, run.text()
        assert "give the same command again" in run.text()
    assert leftovers(root) == []
    assert [path.name for path in root.iterdir() if not path.name.startswith(".")] == []
