"""The PostgreSQL beside the variants: a real one, what it lets in, what goes wrong with it."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.experiments import stub, stub_service
from tests.support.lab_call import alive, leftovers
from tests.support.postgres_client import Refused, query
from tests.support.privileges import needs_root
from tests.support.runs import RunFolder, environment_of
from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.host import ports, process_ledger, tools
from vtlab.host.process_ledger import Ledger
from vtlab.host.tools import Tool
from vtlab.host.wait import wait_until
from vtlab.services.companions import postgres
from vtlab.services.companions.database import Access
from vtlab.services.companions.own_server import OwnServer
from vtlab.services.companions.postgres_server import Postgres

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(not tools.has_databases_for_machine(), reason="no PostgreSQL for this machine"),
]
#: One that this machine has installed.
INSTALLED = tools.find_postgres()
NAMES = ("lab_platform", "lab_platform_1000")


@pytest.fixture(autouse=True)
def _fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The PostgreSQL of the set-up, also where this machine has another."""
    monkeypatch.setattr(tools, "find_postgres", lambda: None)


def started(folder: Path, ledger: Ledger, names: Sequence[str] = NAMES, tool: Tool | None = None) -> Postgres:
    made = Postgres(tool or postgres.find_or_fetch(), folder / "database", ledger, folder / "logs" / "database.log")
    made.start(names)
    return made


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path) as opened:
        yield opened


@pytest.fixture
def served(tmp_path: Path, ledger: Ledger) -> Iterator[Postgres]:
    made = started(tmp_path, ledger)
    yield made
    made.close()


def pid_of(made: Postgres) -> int:
    pid = ports.listening_pid(made.access.address[1])
    assert pid is not None
    return pid


def test_it_serves_one_user_and_keeps_the_password_to_itself(served: Postgres, tmp_path: Path) -> None:
    """The PostgreSQL lets in one user with a random password, which no file, process list or environment shows."""
    access, pid = served.access, pid_of(served)
    assert access.url == f"jdbc:postgresql://127.0.0.1:{access.address[1]}/lab"
    assert query(access, "SELECT current_user, current_setting('is_superuser')") == ["lab\toff"]
    for name in NAMES:
        assert served.address(name) == f"//127.0.0.1:{access.address[1]}/{name}"
        query(access, "CREATE TABLE t (n int)", name)
        query(access, "INSERT INTO t VALUES (7)", name)
        assert query(access, "SELECT n, 'Straße' FROM t", name) == ["7\tStraße"]
    settings = ("max_connections", "shared_buffers", "fsync", "listen_addresses", "server_encoding")
    shown = [query(access, f"SHOW {name}")[0] for name in settings]
    assert shown == ["600", "64MB", "off", "127.0.0.1", "UTF8"]
    for user, password in (("lab", "x"), ("postgres", ""), ("postgres", access.password)):
        with pytest.raises(Refused, match=r"password authentication failed|no pg_hba\.conf entry"):
            query(Access(access.url, user, password), "SELECT 1")
    with pytest.raises(Refused, match=r"no pg_hba\.conf entry"):
        query(access, "SELECT 1", "postgres")
    assert len(access.password) >= 24
    assert access.password not in repr(access)
    secret = access.password.encode()
    for file in (Path(f"/proc/{pid}/cmdline"), Path(f"/proc/{pid}/environ")):
        assert secret not in file.read_bytes()
    log = tmp_path / "logs" / "database.log"
    data = data_of(pid)
    files = [path for folder in (tmp_path, data) for path in folder.rglob("*") if path.is_file()]
    assert {log, data / "pg_hba.conf"} <= set(files)
    assert [path for path in files if secret in path.read_bytes()] == []


@pytest.mark.skipif(INSTALLED is None, reason="no PostgreSQL on this machine: apt-get install postgresql")
def test_one_that_the_machine_has_serves_as_well(tmp_path: Path, ledger: Ledger) -> None:
    """An installed PostgreSQL of 13 or newer serves as the fetched one does."""
    made = started(tmp_path, ledger, tool=INSTALLED)
    (version,) = query(made.access, "SHOW server_version", NAMES[0])
    assert INSTALLED is not None
    assert version.startswith(INSTALLED.version)
    made.close()


@needs_root
def test_under_root_it_is_another_user_in_a_folder_that_is_closed_to_others(served: Postgres) -> None:
    """Where vtlab is root the PostgreSQL runs as nobody, whose data nobody else can read."""
    pid, nobody = pid_of(served), pwd.getpwnam("nobody")
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    assert f"\nUid:\t{nobody.pw_uid}\t{nobody.pw_uid}\t" in status
    (groups,) = [line.split()[1:] for line in status.splitlines() if line.startswith("Groups:")]
    assert groups == []
    folder = data_of(pid).parent
    assert (folder.stat().st_uid, folder.stat().st_mode & 0o777) == (nobody.pw_uid, 0o700)


def test_each_block_gets_empty_databases_and_the_end_removes_all(served: Postgres, tmp_path: Path) -> None:
    """Databases of variants are empty in each block, and no data outlive the run."""
    query(served.access, "CREATE TABLE t (n int)", NAMES[0])
    first, pid = served.access, pid_of(served)
    data = data_of(pid)
    served.start()
    assert pid_of(served) == pid, "it runs already"
    served.start(NAMES)
    assert not alive(pid)
    assert served.access.password != first.password
    assert query(served.access, "SELECT count(*) FROM pg_tables WHERE tablename = 't'", NAMES[0]) == ["0"]
    last = pid_of(served)
    served.close()
    assert not alive(last)
    assert not data.exists()
    assert not data.parent.exists()
    assert_none_left(tmp_path)


def test_a_killed_one_is_told(served: Postgres) -> None:
    """A killed PostgreSQL is named, and starts again."""
    pid = pid_of(served)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert served.exit_description() == "the database ended with exit code 137 (killed)"
    served.start()
    assert query(served.access, "SELECT 1") == ["1"]


def test_one_that_cannot_be_made_is_a_fault_with_its_words(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A PostgreSQL that cannot be made is a fault with the last lines of its log."""
    monkeypatch.setattr(Postgres, "_creation", lambda made, names: "CREATE NONSENSE\n")
    made = Postgres(postgres.find_or_fetch(), tmp_path / "database", ledger, tmp_path / "logs" / "database.log")
    with pytest.raises(BlockFault, match=r'could not be created \(exit code 1\): .*syntax error at or near "NONSENSE"'):
        made.start(NAMES)
    made.close()


def test_one_of_a_killed_vtlab_is_ended(tmp_path: Path) -> None:
    """The PostgreSQL of a killed vtlab is ended by the next."""
    script = f"""
import os, signal
from pathlib import Path
from tests.contract.test_postgres import started
from vtlab.host import process_ledger
root = Path({str(tmp_path)!r})
made = started(root / "run", process_ledger.open_exclusive(root))
print(made.access.address[1], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], timeout=180, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, check=False
    )
    assert done.returncode == -signal.SIGKILL
    pid = ports.listening_pid(int(done.stdout))
    data = data_of(pid or 0)
    ended = process_ledger.end_orphans(tmp_path)
    shutil.rmtree(data.parent.parent if os.geteuid() == 0 else data.parent)
    assert ended == [f"database (pid {pid})"]
    assert_none_left(tmp_path)


def test_each_variant_has_its_own_and_no_data_stay(tmp_path: Path) -> None:
    """Each variant gets a separate database in PostgreSQL, and the run leaves neither process nor data."""
    variables = {"URL": "jdbc:postgresql:{address}", "USER": "{user}", "PASSWORD": "{password}"}
    service = {**stub_service(), "companions": {"postgres": variables}}
    run = RunFolder(tmp_path, stub(service=service, needs=["postgres"]))
    with run.target() as target:
        target.start(run.planned, 1, 1)
        pids = dict(run.look())
        first, second = (environment_of(pids[f"service {name}"]) for name in ("platform", "virtual"))
        data = data_of(pids["database"])
        for name, environment in (("lab_platform", first), ("lab_virtual", second)):
            access = Access(environment["URL"], environment["USER"], environment["PASSWORD"])
            assert environment["URL"].endswith(f"/{name}")
            assert query(access, "SELECT current_database()", name) == [name]
        os.kill(pids["database"], signal.SIGKILL)
        target.start(run.planned, 1, 2)
        assert run.look()["database"] != pids["database"]
        assert alive(run.pids["database"])
    run.nothing_left("service platform", "service virtual", "database")
    assert not data.exists()
    assert not (run.folder / "database").exists()


@pytest.mark.skipif(shutil.which("psql") is None, reason="no psql: apt-get install postgresql-client")
def test_databases_on_a_server_of_the_users_are_made_and_dropped(
    served: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the user's own PostgreSQL each variant gets an empty database, if the account may create one."""
    named = "SELECT datname FROM pg_database WHERE datname LIKE 'vtlab%'"
    server = OwnServer(served.access)
    assert re.match(r"\d+\.\d", server.version())
    with pytest.raises(PrerequisiteMissing, match="permission denied to create database") as refused:
        server.create(["virtual"])
    assert "CREATEDB" in refused.value.fix
    assert served.access.password not in refused.value.message

    creation = Postgres._creation
    monkeypatch.setattr(
        Postgres, "_creation", lambda made, names: creation(made, names).replace(" LOGIN ", " LOGIN CREATEDB ")
    )
    served.start(NAMES)
    server = OwnServer(served.access)
    addresses = server.create(["virtual"])
    assert [f"//127.0.0.1:{served.access.address[1]}/{name}" for name in query(served.access, named)] == list(
        addresses.values()
    )
    server.close()
    assert query(served.access, named) == []


def data_of(pid: int) -> Path:
    """The folder of a server's data, in which it runs."""
    return Path(f"/proc/{pid}/cwd").readlink()


def assert_none_left(folder: Path) -> None:
    # The children of a killed server end by themselves, a moment later.
    wait_until("a process of the server is left", lambda: leftovers(folder) == [], 60)
