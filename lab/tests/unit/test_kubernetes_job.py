"""A call of k6 as a Job: its manifest, and what its log holds."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support import recorded
from vtlab.errors import BlockFault
from vtlab.host import machine
from vtlab.model.k6_documents import K6Document
from vtlab.targets.kubernetes import job

CRON_JOB: dict[str, Any] = {
    "metadata": {"name": "lab-cpu", "uid": "42", "labels": {"experiment": "cpu"}},
    "spec": {
        "jobTemplate": {
            "metadata": {"labels": {"experiment": "cpu"}},
            "spec": {
                "backoffLimit": 0,
                "template": {
                    "spec": {
                        "containers": [
                            {
                                "name": "k6",
                                "command": ["k6", "run"],
                                "args": ["/k6/block.ts"],
                                "env": [
                                    {"name": "EXPERIMENT", "value": "cpu"},
                                    {"name": "RUN_ID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                                    {"name": "K6_PROMETHEUS_RW_SERVER_URL", "value": "http://p.m:9090/api/v1/write"},
                                ],
                            }
                        ]
                    }
                },
            },
        }
    },
}


def test_the_job_is_the_cron_jobs_with_the_runs_own_settings() -> None:
    body = job.manifest(CRON_JOB, "lab-vtlab-1", {"a": "b"}, {"RUN_ID": "r", "BLOCK": "3"}, "config")
    assert body["metadata"]["labels"] == {"experiment": "cpu", "a": "b"}
    assert body["metadata"]["ownerReferences"][0]["uid"] == "42"
    assert body["spec"]["backoffLimit"] == 0
    spec = body["spec"]["template"]["spec"]
    (k6,) = spec["containers"]
    env = {variable["name"]: variable for variable in k6["env"]}
    assert len(env) == len(k6["env"]), "no name twice"
    assert env["RUN_ID"] == {"name": "RUN_ID", "value": "r"}
    assert env["EXPERIMENT"]["value"] == "/experiment/plan.json"
    assert k6["command"][:2] == ["/bin/sh", "-c"]
    assert k6["command"][2].replace("$$", "$") == job.SAMPLER, "as the kubelet hands it on"
    assert k6["command"][-3:] == ["k6", "run", "/k6/block.ts"]
    assert spec["volumes"] == [{"name": "experiment", "configMap": {"name": "config"}}]
    assert "valueFrom" in CRON_JOB["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["env"][1], "kept"


def test_the_template_is_the_experiments_own_or_any() -> None:
    other = {"metadata": {"name": "lab-blocking"}}
    assert job.template([other, CRON_JOB], "cpu") is CRON_JOB
    assert job.template([other, CRON_JOB], "tiny") is other
    assert job.template([], "tiny") is None


def test_where_k6_pushes_to_is_read_from_it() -> None:
    assert job.remote_write(CRON_JOB) == "http://p.m:9090/api/v1/write"


def line(at: str, text: str) -> str:
    return f"2026-11-20T10:00:{at}Z {text}"


def document() -> K6Document:
    block = recorded.run(blocks=1).blocks[0]
    return K6Document(
        version=2,
        experiment="e",
        run_id="r",
        block=1,
        order=block.order,
        agreed=True,
        warmup=[],
        single=[],
        trials=[trial.model_copy(update={"server": {}, "machine": {}}) for trial in block.trials],
    )


def log_of(text: str, parts: int) -> str:
    size = len(text) // parts + 1
    pieces = [text[i * size : (i + 1) * size] for i in range(parts)]
    lines = [line(f"0{i}.5", f"@@vtlab {i + 1}/{parts} {piece}") for i, piece in enumerate(pieces)]
    return "\n".join([line("00.1", "a table"), *lines, line("09.0", "@@node 1 0;cpu 1 2 3 4 5 6 7 8;")])


def test_the_document_is_put_together_from_its_parts() -> None:
    wanted = document()
    assert job.document(log_of(wanted.model_dump_json(), 4)) == wanted


def test_a_document_that_is_not_whole_is_a_fault_with_the_last_words() -> None:
    log = log_of(document().model_dump_json(), 4)
    cut = "\n".join(text for text in log.splitlines() if "@@vtlab 3/4" not in text)
    with pytest.raises(BlockFault, match=r"only 3 of 4 parts.*a table"):
        job.document(cut)
    rotated = "\n".join(log.splitlines()[2:])
    with pytest.raises(BlockFault, match=r"only 3 of 4 parts of its document \(the kubelet cuts logs"):
        job.document(rotated)
    with pytest.raises(BlockFault, match=r"no document.*boom"):
        job.document(line("00.1", "boom"))
    with pytest.raises(BlockFault, match="cannot be read"):
        job.document(line("00.1", "@@vtlab 1/1 {}"))


def test_of_a_log_that_was_cut_only_what_it_tells_is_known() -> None:
    """A kubelet keeps the last 10 MiB: the document is at the end; the figures of the machine before are unknown."""
    ticks = [
        line(f"{second:02}.0", f"@@node 1 0;cpu {10 * second} 0 0 {90 * second} 0 0 0 0;7 {second}000000 0 {second},")
        for second in range(10, 20)
    ]
    wanted = document()
    end = log_of(wanted.model_dump_json(), 1).splitlines()[1:2]
    log = "\n".join([*ticks, *end])
    assert job.document(log) == wanted
    samples = job.samples(log)
    begin = samples[0].at
    assert machine.difference(samples, begin - 5000, begin + 5000)["idle_cores"] is None
    assert machine.difference(samples, begin, begin + 5000)["idle_cores"] == pytest.approx(0.9)


def test_the_log_of_the_longest_job_is_kept_whole() -> None:
    """The samples of an hour with 12 threads take less than the 10 MiB that a kubelet keeps by default."""
    task = " 1234567 123456789012 12345678901 1234567,"
    longest = line("00.0", "@@node 123456 12345;cpu " + "123456789 " * 10 + ";" + 12 * task) + 40 * " "
    assert 2 * 3600 * len(longest) < 0.9 * 10 * 1024**2


def test_the_log_is_kept_as_a_person_wants_it() -> None:
    assert job.shown(log_of("{}", 1)) == "a table\n"


def test_samples_give_the_generators_figures() -> None:
    log = "\n".join(
        [
            line("00.000000001", "@@node 10 1;cpu 100 0 0 100 0 0 0 0 0 0; 1 1000000000 0 10, 7 0 0 0,"),
            line("02.0", "@@node 30 6;cpu 150 0 0 250 0 0 0 0 0 0; 1 2000000000 1000000000 20, 7 1000000000 0 10,"),
            line("02.1", "@@node 30 6;cpu 150 0"),
        ]
    )
    samples = job.samples(log)
    assert [sample.at % 100_000 for sample in samples] == [samples[0].at % 100_000, samples[0].at % 100_000 + 2000]
    usage = machine.difference(samples, samples[0].at, samples[1].at)
    assert usage["idle_cores"] == pytest.approx(150 / 200)
    assert usage["generator_throttled"] == pytest.approx(5 / 20)
    assert usage["generator_cpu"] == pytest.approx(1.0), "2 s of CPU in 2 s"
    assert usage["generator_wait"] == pytest.approx(1 / 20)


def test_without_a_quota_there_is_no_throttled_share() -> None:
    log = "\n".join(line(f"0{i}.0", f"@@node ;cpu {i} 0 0 9 0 0 0 0 0 0;") for i in range(2))
    samples = job.samples(log)
    assert [sample.periods for sample in samples] == [None, None]
    assert [sample.generator for sample in samples] == [None, None]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("shell", [["sh"], ["bash", "--posix"]])
def test_the_sampler_runs_beside_the_command_and_becomes_it(shell: list[str], tmp_path: Path) -> None:
    with subprocess.Popen(
        [*shell, "-c", job.SAMPLER, "sh", "sh", "-c", "read -r _; echo done; exit 7"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=tmp_path,
    ) as running:
        assert running.stdin
        assert running.stdout
        assert running.stderr
        # The command continues once there are two samples; the output ends with the sampler.
        lines = [running.stdout.readline() for _ in range(2)]
        running.stdin.write("go\n")
        running.stdin.close()
        lines += running.stdout.readlines()
        assert running.stderr.read() == ""
    assert running.returncode == 7
    assert "done\n" in lines
    log = "\n".join(line(f"{i:02}.0", text.rstrip()) for i, text in enumerate(lines))
    assert len(job.samples(log)) == len(lines) - 1 >= 2, lines
