"""The database beside the variants: a real MariaDB, what it lets in, what goes wrong with it."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.experiments import stub
from tests.support.lab_call import alive, leftovers
from tests.support.privileges import MakeDisk
from tests.support.runs import RunFolder
from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.host import cgroup_hierarchies, ports, process_ledger, processes, tools
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.tools import Tool
from vtlab.services.companions import mariadb_server
from vtlab.services.companions.database import Access
from vtlab.services.companions.mariadb_server import MariaDb

real = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        (platform.system(), platform.machine()) != ("Linux", "x86_64"), reason="no MariaDB for this machine"
    ),
]


def started(
    folder: Path, ledger: Ledger, tool: Tool | None = None, names: Sequence[str] = (), version: str | None = None
) -> MariaDb:
    made = MariaDb(tool or tools.find_mariadb(), folder / "database", ledger, folder / "logs" / "database.log")
    made.start(names, version)
    return made


def query(folder: Path, access: Access, statement: str) -> subprocess.CompletedProcess[str]:
    """By the client of the same package, which gets the password from a file."""
    host, port = access.address
    secret = folder / "client.cnf"
    secret.write_text(f"[client]\nuser={access.user}\npassword={access.password}\n", encoding="utf-8")
    client = tools.find_mariadb().path.with_name("mariadb")
    try:
        return subprocess.run(
            [client, f"--defaults-file={secret}", "--skip-ssl", f"--host={host}", f"--port={port}", "-Ne", statement],
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        secret.unlink()


def answer(folder: Path, access: Access, statement: str) -> list[str]:
    done = query(folder, access, statement)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def pid_of(made: MariaDb) -> int:
    pid = ports.listening_pid(made.access.address[1])
    assert pid is not None
    return pid


class TestOneThatVtlabStarts:
    pytestmark = real

    def test_it_serves_one_user_and_keeps_the_password_to_itself(self, tmp_path: Path) -> None:
        """The database lets in one user with a random password, which no file, process list or environment shows."""
        with Ledger(tmp_path) as ledger:
            made = started(tmp_path, ledger)
            access, pid = made.access, pid_of(made)
            version = tools.find_mariadb().version
            assert mariadb_server.version(*access.address) == version
            assert answer(tmp_path, access, "SELECT current_user(), version()") == [f"lab@127.0.0.1\t{version}"]
            assert answer(tmp_path, access, "SHOW DATABASES") == ["information_schema", "lab"]
            assert answer(
                tmp_path,
                access,
                "CREATE TABLE lab.t (n INT) ENGINE=InnoDB; INSERT INTO lab.t VALUES (7); SELECT n FROM lab.t",
            ) == ["7"]
            assert answer(
                tmp_path,
                access,
                "SELECT @@max_connections, @@innodb_buffer_pool_size / 1048576, @@log_bin, @@have_ssl, @@bind_address",
            ) == ["600\t64.0000\t0\tDISABLED\t127.0.0.1"]
            for user, password in (("lab", "x"), ("lab", ""), ("root", ""), ("", "")):
                refused = query(tmp_path, Access(access.url, user, password), "SELECT 1")
                assert refused.returncode != 0
                assert "Access denied" in refused.stderr

            assert cgroup_hierarchies.limit_of(pid).cpu is None
            assert (tmp_path / "database").stat().st_mode & 0o777 == 0o700
            assert len(access.password) >= 24
            secret = access.password.encode()
            for file in (Path(f"/proc/{pid}/cmdline"), Path(f"/proc/{pid}/environ")):
                assert secret not in file.read_bytes()
            files = [path for path in tmp_path.rglob("*") if path.is_file()]
            assert tmp_path / "logs" / "database.log" in files
            assert ledger.path in files
            assert [path for path in files if secret in path.read_bytes()] == []
            assert access.password not in repr(access)
        assert not alive(pid)

    def test_to_the_driver_of_mysql_it_is_old_enough(self, tmp_path: Path) -> None:
        """The database says of itself the version that a service's driver needs, and has a database for each name."""
        with Ledger(tmp_path) as ledger:
            made = started(tmp_path, ledger, names=["lab_platform", "lab_virtual"], version=mariadb_server.FOR_MYSQL)
            assert mariadb_server.version(*made.access.address) == "8.0.10-MariaDB"
            assert answer(tmp_path, made.access, "SHOW DATABASES LIKE 'lab\\_%'") == ["lab_platform", "lab_virtual"]

    def test_a_killed_one_is_told_and_comes_back_empty(self, tmp_path: Path) -> None:
        """A killed database is named, and starts again empty with another password."""
        with Ledger(tmp_path) as ledger:
            made = started(tmp_path, ledger)
            first, pid = made.access, pid_of(made)
            answer(tmp_path, first, "CREATE TABLE lab.t (n INT)")
            made.start()
            assert pid_of(made) == pid, "it runs already"
            assert made.exit_description() is None
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            assert made.exit_description() == "the database ended with exit code 137 (killed)"
            made.start()
            assert made.exit_description() is None
            assert pid_of(made) != pid
            assert made.access.password != first.password
            assert answer(tmp_path, made.access, "SHOW TABLES FROM lab") == []

    def test_a_lost_race_for_the_port_is_run_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A database that finds its port taken starts on another."""
        free = ports.free
        with socket.socket() as held, Ledger(tmp_path) as ledger:
            held.bind((ports.HOST, 0))
            held.listen()
            taken = held.getsockname()[1]
            first = iter([[taken]])
            monkeypatch.setattr(ports, "free", lambda count: next(first, None) or free(count))
            made = started(tmp_path, ledger)
            assert made.access.address[1] != taken
            assert answer(tmp_path, made.access, "SELECT 1") == ["1"]
            assert "already in use" in (tmp_path / "logs" / "database.log").read_text(encoding="utf-8")

    def test_one_that_does_not_start_is_a_fault_with_its_words(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A database that cannot be made or does not start is a fault with the last lines of its log."""
        tool = tools.find_mariadb()
        broken = tmp_path / "mariadb"
        shutil.copytree(tool.path.parent.parent / "share", broken / "share")
        (broken / "bin").mkdir()
        (broken / "bin" / "mariadbd").symlink_to(tool.path)
        with (broken / "share" / "mariadb_performance_tables.sql").open("a", encoding="utf-8") as file:
            file.write("\nCREATE NONSENSE;\n")
        with Ledger(tmp_path) as ledger:
            with pytest.raises(BlockFault, match=r"could not be created \(exit code 1\): .*syntax.*NONSENSE"):
                started(tmp_path, ledger, Tool(broken / "bin" / "mariadbd", tool.version))
            # Made, but not served.
            monkeypatch.setattr(MariaDb, "_spawn", lambda made, port: _spawned(made, ledger, tmp_path))
            with pytest.raises(BlockFault, match=r"the database ended with exit code \d+ while it started: .*nonsense"):
                started(tmp_path, ledger)
        assert leftovers(tmp_path) == []

    def test_a_full_disk_is_told_from_a_fault(self, make_disk: MakeDisk, tmp_path: Path) -> None:
        """A database that cannot be made for lack of disk space is a missing prerequisite, not a fault."""
        small_disk = make_disk("24m")
        with Ledger(tmp_path) as ledger:
            with pytest.raises(OSError, match=r"No space left|error 28") as error:
                started(small_disk, ledger)
            assert error.value.errno == errno.ENOSPC
        shutil.rmtree(small_disk / "database")
        run = RunFolder(small_disk, stub(needs=["database"]))
        with run.target() as target, pytest.raises(PrerequisiteMissing, match="no space left on the disk of"):
            target.start(run.planned, 1, 1)
        assert leftovers(tmp_path) == []

    @pytest.mark.parametrize("when", ["served", "made"])
    def test_one_of_a_killed_vtlab_is_ended(self, when: str, tmp_path: Path) -> None:
        """The database of a killed vtlab is ended, also one that is still being made."""
        script = f"""
import os, signal, sys, time
from pathlib import Path
from tests.contract.test_database import started
from vtlab.host import process_ledger
root = Path({str(tmp_path)!r})
ledger = process_ledger.open_exclusive(root)
def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if {when == "made"}:
    time.sleep = kill
started(root / "run", ledger)
kill()
"""
        done = subprocess.run([sys.executable, "-c", script], timeout=180, cwd=Path(__file__).parents[2], check=False)
        assert done.returncode == -signal.SIGKILL
        if when == "served":
            assert len(leftovers(tmp_path)) == 1
        ended = process_ledger.end_orphans(tmp_path)
        if when == "served":
            assert [line.partition(" (pid")[0] for line in ended] == ["database"]
        assert leftovers(tmp_path) == []


def _spawned(made: MariaDb, ledger: Ledger, folder: Path) -> processes.Process:
    return ledger.start(
        Command([*made._words(0), "--nonsense=1"], role="database", log=folder / "logs" / "database.log", folder=folder)
    )
