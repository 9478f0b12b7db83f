"""The JMH benchmark as a Job: the manifest, and the results in the log. `make e2e` runs a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from vtlab.errors import LabError
from vtlab.targets.kubernetes import benchmark
from vtlab.targets.kubernetes.cluster import Json, Where

CRON_JOB = {
    "metadata": {"name": "lab-jmh", "uid": "u-1"},
    "spec": {
        "suspend": True,
        "jobTemplate": {
            "metadata": {"labels": {"app.kubernetes.io/component": "jmh"}},
            "spec": {
                "backoffLimit": 0,
                "template": {
                    "spec": {
                        "containers": [
                            {
                                "name": "jmh",
                                "env": [{"name": "A", "value": "1"}, {"name": "JMH_OPTIONS", "value": "-p x"}],
                            }
                        ]
                    }
                },
            },
        },
    },
}


def test_the_job_is_that_of_the_cron_job_with_other_words() -> None:
    made = benchmark.manifest(CRON_JOB, "lab-jmh-1", {"who": "vtlab"}, ["-wi", "1"])
    assert made["metadata"]["name"] == "lab-jmh-1"
    assert made["metadata"]["labels"] == {"app.kubernetes.io/component": "jmh", "who": "vtlab"}
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    assert made["spec"]["backoffLimit"] == 0
    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "A", "value": "1"}, {"name": "JMH_OPTIONS", "value": "-wi 1"}]
    (theirs,) = CRON_JOB["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]  # type: ignore[index]
    assert theirs["env"][1]["value"] == "-p x"


def test_results_are_the_last_thing_in_the_log() -> None:
    log = '# JMH version: 1.37\n[not these]\nBenchmark  Score\n[\n    {\n        "a": [\n1\n]\n    }\n]\n'
    assert benchmark.results(log) == '[\n    {\n        "a": [\n1\n]\n    }\n]\n'


@pytest.mark.parametrize("log", ["", "# JMH version: 1.37\n", "[\n    {\n"])
def test_a_log_without_results_is_an_error(log: str) -> None:
    with pytest.raises(LabError, match="no results in its log"):
        benchmark.results(log)


class Cluster:
    """One whose Job's pod runs, and then somebody deletes it."""

    where = Where(None, "lab", "lab")

    def __init__(self, _: Where) -> None:
        self.made: list[str] = []
        self.deleted: list[str] = []
        self.looked = 0

    def cron_jobs(self, selector: str) -> list[Json]:
        return [CRON_JOB] if selector.endswith("=jmh") else []

    def create_job(self, body: Json) -> None:
        self.made.append(body["metadata"]["name"])

    def delete_job(self, name: str) -> None:
        self.deleted.append(name)

    def pods(self, selector: str) -> list[Json]:
        if not selector.endswith("=jmh"):
            return []
        self.looked += 1
        labels = {"batch.kubernetes.io/job-name": self.made[0]}
        return [{"metadata": {"name": "p", "labels": labels}, "status": {}}] if self.looked == 1 else []

    def close(self) -> None:
        pass


def test_a_pod_that_goes_away_is_an_error_and_leaves_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(Cluster.where)
    monkeypatch.setattr(benchmark, "Cluster", lambda _: cluster)
    monkeypatch.setattr(benchmark.time, "sleep", lambda _: None)
    with pytest.raises(LabError, match="has no pod any more"):
        benchmark.run(tmp_path / "run", tmp_path, Cluster.where, [])
    assert cluster.deleted == cluster.made
