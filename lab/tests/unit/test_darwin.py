"""vtlab on a Mac: it measures in clusters, and says so where it would measure on the machine itself."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.support import recorded
from tests.support.cli_call import Called
from tests.support.serving import serving
from tests.unit.test_kubernetes_job import CRON_JOB
from tests.unit.test_kubernetes_target import deployment
from vtlab import __version__
from vtlab.runs import store

Json = dict[str, Any]
Mac = Callable[..., Called]
LAB = Path(__file__).resolve().parents[2]
#: As that of macOS answers for a process that runs, and when that one began.
PS = "#!/bin/sh\necho 'S+   Mon Nov 23 15:43:56 2026    '\n"
BEGAN = 1795448636
DEPLOYMENTS = "/apis/apps/v1/namespaces/lab/deployments"
CONFIG_MAPS = "/api/v1/namespaces/lab/configmaps"


def complete(of_test: Json) -> Json:
    """A Deployment as an API server gives it: with what the client insists on."""
    return {**of_test, "spec": {**of_test["spec"], "selector": {}}}


def cron_job() -> Json:
    """One of k6, as an API server gives it."""
    k6 = copy.deepcopy(CRON_JOB)
    k6["spec"]["schedule"] = "0 0 1 1 *"
    k6["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"] = "k6:1"
    return k6


class ApiServer(BaseHTTPRequestHandler):
    """The API server of a cluster with a release, whose pods get no image. Keeps in order what it was asked."""

    asked: ClassVar[list[str]] = []
    pods: ClassVar[list[Json]] = []
    present: ClassVar[dict[str, Json]] = {
        "/version/": {
            **dict.fromkeys(("buildDate", "compiler", "gitCommit", "gitTreeState", "goVersion", "platform"), ""),
            **{"gitVersion": "v1.34.4", "major": "1", "minor": "34"},
        },
        f"{DEPLOYMENTS}/lab-platform": complete(deployment("false")),
        f"{DEPLOYMENTS}/lab-virtual": complete(deployment("true")),
        "/apis/batch/v1/namespaces/lab/cronjobs": {"items": [cron_job()]},
        "/api/v1/namespaces/lab/pods": {"items": pods},
    }

    @property
    def where(self) -> str:
        return self.path.partition("?")[0]

    def do_GET(self) -> None:
        unknown = self.where.startswith(f"{DEPLOYMENTS}/") and self.where not in self.present
        self.answer(self.present.get(self.where, {"items": []}), 404 if unknown else 200)

    def do_POST(self) -> None:
        self.answer({"spec": {}, "status": {"allowed": True}} if "review" in self.where else {})

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        variant = self.where.rpartition("-")[2]
        self.pods.append(
            {
                "metadata": {
                    "name": f"lab-{variant}-1",
                    "uid": variant,
                    "labels": {"variant": variant},
                    "annotations": body["spec"]["template"]["metadata"]["annotations"],
                },
                "status": {
                    "containerStatuses": [
                        {
                            **{"name": "app", "image": "i", "imageID": "", "ready": False, "restartCount": 0},
                            "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}},
                        }
                    ]
                },
            }
        )
        self.answer(self.present[self.where])

    def do_DELETE(self) -> None:
        self.answer({})

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, document: Json, status: int = 200) -> None:
        self.asked.append(f"{self.command} {self.where}")
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The way to a cluster that runs as long as the tests."""
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), ApiServer)) as port:
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "me", "user": {"token": "abc"}}],
        }
        file = tmp_path_factory.mktemp("cluster") / "kubeconfig"
        file.write_text(json.dumps(document), encoding="utf-8")
        yield file


@pytest.fixture(scope="module")
def mac(kubeconfig: Path) -> Iterator[Mac]:
    """mac("doctor", …): how the call ends there. One process for all: to import vtlab takes longer than most calls."""
    ps = kubeconfig.parent / "ps"
    ps.write_text(PS, encoding="utf-8")
    ps.chmod(0o755)
    environment = {
        **os.environ,
        **{"PATH": f"{ps.parent}:{os.environ['PATH']}", "KUBECONFIG": str(kubeconfig)},
        **{"TZ": "UTC", "TERM": "dumb", "COLUMNS": "200", "VTLAB_DEBUG": "1"},
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.darwin"],
        **{"cwd": LAB, "env": environment, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True},
    )
    with process:
        assert process.stdin
        assert process.stdout
        calls, answers = process.stdin, process.stdout

        def call(*arguments: str | Path) -> Called:
            print(json.dumps([str(argument) for argument in arguments]), file=calls, flush=True)
            answer = answers.readline()
            assert answer, "it ended: its traceback is on stderr"
            return Called(**json.loads(answer))

        yield call


def test_experiments_and_reports_are_read(mac: Mac, tmp_path: Path) -> None:
    assert "--target" in mac("run", "--help").out
    assert "blocking-open" in mac("experiments").out
    refused = mac("run", "blocking", "--target", "moon")
    assert (refused.code, refused.err.splitlines()[0]) == (2, "vtlab: --target moon: unknown target")
    run = recorded.run(blocks=2)
    folder = store.create(tmp_path / "run", run.manifest)
    for block in run.blocks:
        store.append_block(folder, block)
    assert mac("report", folder).code == 0
    assert (folder / "report.html").is_file()


@pytest.mark.parametrize("command", [("run", "blocking"), ("try", "app.jar", "GET /")], ids=lambda c: c[0])
def test_what_would_run_on_the_machine_is_refused(mac: Mac, tmp_path: Path, command: tuple[str, ...]) -> None:
    refused = mac(*command, "--results", tmp_path)
    assert (refused.code, refused.out) == (3, "")
    assert "only if that is Linux" in refused.err
    assert "--target kubernetes" in refused.err


def test_a_run_of_another_machine_is_not_resumed(mac: Mac, tmp_path: Path) -> None:
    folder = store.create(tmp_path / "run", recorded.run(blocks=1).manifest)
    refused = mac("resume", folder)
    assert refused.code == 3
    assert "only if that is Linux" in refused.err


def test_doctor_looks_at_a_cluster(mac: Mac) -> None:
    done = mac("doctor", "--target", "kubernetes")
    assert done.code == 0, done
    assert "v1.34.4" in done.out
    assert "every right that a run needs in namespace lab" in done.out


def test_a_run_in_a_cluster_replaces_pods_and_leaves_nothing(mac: Mac, tmp_path: Path) -> None:
    done = mac("run", "blocking", "--target", "kubernetes", "--blocks", "1", "--results", tmp_path)
    assert done.code == 3, done
    assert "ImagePullBackOff" in done.err
    assert f"PATCH {DEPLOYMENTS}/lab-virtual" in ApiServer.asked
    made = [line for line in ApiServer.asked if line == f"POST {CONFIG_MAPS}"]
    removed = [line for line in ApiServer.asked if line.startswith(f"DELETE {CONFIG_MAPS}/")]
    assert len(made) == len(removed) == 1
    assert list((tmp_path / ".processes").iterdir()) == []
    (folder,) = tmp_path.glob("*-blocking")
    assert store.read(folder).manifest.versions["vtlab"] == __version__


def test_a_folder_in_which_another_vtlab_measures_is_refused(mac: Mac, tmp_path: Path) -> None:
    ledger = tmp_path / ".processes" / f"{os.getpid()}-{BEGAN}.jsonl"
    ledger.parent.mkdir()
    ledger.write_text('{"boot": ""}\n', encoding="utf-8")
    refused = mac("run", "blocking", "--target", "kubernetes", "--blocks", "1", "--results", tmp_path)
    assert refused.code == 3
    assert f"another vtlab is measuring into {tmp_path} (pid {os.getpid()})" in refused.err
