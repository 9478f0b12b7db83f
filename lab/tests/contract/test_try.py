"""``vtlab try`` on a service that starts at once: a whole call, and what may be wrong with a service.

Each has a message that names it and an exit code, and leaves nothing running.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.experiments import stub_with
from tests.support.lab_call import Running, leftovers, vtlab
from tests.support.privileges import needs_root

pytestmark = [pytest.mark.timeout(600), needs_root]

REQUEST = "GET /thread?duration=20ms"


def tried(folder: Path, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A call of ``vtlab try`` with a stub that is broken so."""
    root = folder / "results"
    done = vtlab("try", stub_with(folder, **environment), REQUEST, *more, "--memory", "64Mi", "--results", root)
    assert leftovers(root) == []
    return done


@pytest.mark.parametrize(
    ("status", "fix"),
    [
        ("404", "correct the path"),
        ("401", "add a login"),
        ("302", "name the path that it redirects to"),
        ("500", "see the service's log"),
    ],
)
def test_a_wrong_answer_is_named_before_anything_is_measured(status: str, fix: str, tmp_path: Path) -> None:
    """An answer with another status than expected is named with what to do, by its status, before any load."""
    done = tried(tmp_path, STUB_STATUS=status)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"{REQUEST}: answered {status}, by every variant" in done.stderr
    assert fix in done.stderr


def test_a_service_that_answers_500_once_in_a_hundred_is_named_with_the_share(tmp_path: Path) -> None:
    """Errors of all variants end a search with their share, and with the key that allows them."""
    done = tried(tmp_path, STUB_FAIL_EVERY="50")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "answers are errors at " in done.stderr
    assert "max_errors" in done.stderr


def test_a_service_that_does_not_start_shows_the_end_of_its_log_however_long(tmp_path: Path) -> None:
    """A service that does not start: exit 3 and the last lines of its log, of which megabytes are not repeated."""
    done = tried(tmp_path, STUB_PRINTS="5", STUB_REFUSES_TO_START="no connection to the warehouse")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "no variant of the service starts: platform: it ended with exit code 1" in done.stderr
    assert "no connection to the warehouse" in done.stderr
    assert len(done.stderr) + len(done.stdout) < 5000


def test_a_service_on_a_port_of_its_own_is_named_with_the_port(tmp_path: Path) -> None:
    """A service that does not heed SERVER_PORT: exit 3, and the port on which it listens."""
    done = tried(tmp_path, STUB_ELSEWHERE="1")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "it listens on port " in done.stderr
    assert "which SERVER_PORT names" in done.stderr


def test_a_service_that_ends_at_its_first_request_is_named(tmp_path: Path) -> None:
    """A service that exits under the first requests: exit 3, with its exit code."""
    done = tried(tmp_path, STUB_DIE_AFTER="1")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "ended with exit code 9 when it got the first requests" in done.stderr


def test_a_service_that_hangs_is_named(tmp_path: Path) -> None:
    """A service that answers nothing: exit 2 after the longest time for an answer, not never."""
    done = tried(tmp_path, STUB_HANG_AFTER="1")
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"{REQUEST}: gave no answer, by every variant" in done.stderr


def test_a_slow_start_is_waited_for_and_said(tmp_path: Path) -> None:
    """A service that needs more than half a minute to start is waited for, with a line that says so."""
    done = tried(tmp_path, STUB_STARTS_AFTER="33", STUB_STATUS="404")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "not ready after 30 s, waiting" in done.stdout
    assert "answered 404" in done.stderr


def test_requests_come_by_https_where_the_service_answers_so(tmp_path: Path) -> None:
    """A service with TLS is found out, and k6 takes its certificate, whoever signed it."""
    certificate = tmp_path / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=shop.example", "-days", "1"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "certificate.pem")]
    made = subprocess.run([*command, *files], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    parts = [(tmp_path / name).read_text(encoding="utf-8") for name in ("key.pem", "certificate.pem")]
    certificate.write_text("".join(parts), encoding="utf-8")
    done = tried(tmp_path, STUB_CERTIFICATE=str(certificate), STUB_STATUS="404")
    # The answer came by TLS: the stub has no other.
    assert f"{REQUEST}: answered 404, by every variant" in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("moment", ["search: starting", "search: warm-up", "search: 1 user"])
def test_an_interrupted_search_leaves_nothing(moment: str, tmp_path: Path) -> None:
    """Ctrl-C in every step of a search: exit 130, nothing is left running, and no half run on the disk."""
    root = tmp_path / "results"
    arguments = ["try", stub_with(tmp_path), REQUEST, "--memory", "64Mi", "--results", root]
    with Running(tmp_path, *arguments) as run:
        run.until(moment)
        assert run.end(signal.SIGINT) == 130, run.text()
        assert "give the same command again" in run.text()
    assert leftovers(root) == []
    assert [path.name for path in root.iterdir() if not path.name.startswith(".")] == []
