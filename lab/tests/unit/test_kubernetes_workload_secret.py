"""The parts of a workload that only k6 reads in a cluster, and the pre-flight of copies."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.test_kubernetes_copies import MESSAGES, SHOPS, Namespace, measuring, namespace, started
from tests.unit.test_kubernetes_job import log_of
from tests.unit.test_kubernetes_manifests import EXPERIMENT
from vtlab.errors import BadInput, BlockFault, VariantFailed
from vtlab.k6 import user_script
from vtlab.model import workload_files
from vtlab.model.experiment import Experiment
from vtlab.model.records import Instance
from vtlab.model.workload import Workload
from vtlab.prometheus.queries import Prometheus
from vtlab.runs.create import resolve_cluster_ref
from vtlab.runs.options import Options
from vtlab.services.resolve import resolve_service
from vtlab.targets.kubernetes import job, target
from vtlab.targets.kubernetes.api import labels
from vtlab.targets.kubernetes.block import ClusterStart, KubernetesBlock
from vtlab.targets.kubernetes.copies import workload_secret
from vtlab.targets.kubernetes.target import KubernetesTarget, StartedPod

__all__ = ["namespace", "started"]

Json = dict[str, Any]

LAB = Path("/k6")
LOADED = user_script.Script(
    Path("/home/me/load.ts"),
    ["k6/http"],
    {
        "/home/me/load.ts": b"import http from 'k6/http'; http.get(__ENV.BASE_URL + __ENV.PATH_OF);",
        "/home/me/a.csv": b"1",
    },
    "/home/me/load.ts",
)


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "s3cret")
    monkeypatch.setenv("PATH_OF", "/orders")


@pytest.fixture
def with_login(tmp_path: Path) -> Experiment:
    """Data of 40 rows, a login and a variable of the environment."""
    (tmp_path / "orders.csv").write_text("id,key\n" + "".join(f"{n},row-{n}\n" for n in range(40)), encoding="utf-8")
    document = {
        "requests": ["GET /orders/{id}"],
        "data": "orders.csv",
        "login": {"POST": "/login", "body": {"password": "{env.PASSWORD}"}, "capture": {"token": "$.token"}},
    }
    source = tmp_path / "shop.yaml"
    source.write_text(json.dumps(document), encoding="utf-8")
    return asking(workload_files.with_absolute_paths(Workload.model_validate(document), source))


def asking(of: Workload) -> Experiment:
    """The experiment of the shop with another workload."""
    return EXPERIMENT.model_copy(update={key: getattr(of, key) for key in Workload.model_fields})


@pytest.fixture
def with_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    monkeypatch.setattr(workload_secret.tools, "find_k6", lambda: LOADED)
    monkeypatch.setattr(workload_secret.user_script, "read", lambda *_: LOADED)
    (tmp_path / "load.ts").write_text("", encoding="utf-8")
    return asking(Workload(k6=str(tmp_path / "load.ts")))


def secret_of(namespace: Namespace) -> Json:
    (secret,) = (body for body in namespace.made if body["kind"] == "Secret")
    return secret


def volume_of(pod: Json) -> Json:
    (volume,) = (volume["secret"] for volume in pod["volumes"] if volume["name"] == "workload")
    of_secret: Json = volume
    return of_secret


def decoded(secret: Json) -> dict[str, str]:
    return {key: base64.b64decode(text).decode() for key, text in secret["data"].items()}


def begin(running: KubernetesTarget, experiment: Experiment) -> None:
    with pytest.raises(BlockFault, match="no further"):
        running.start(experiment, 1, 1)


@pytest.mark.usefixtures("started")
def test_rows_login_and_variables_are_in_a_secret_that_goes_with_the_run(
    namespace: Namespace, with_login: Experiment, tmp_path: Path
) -> None:
    with measuring(tmp_path) as running:
        begin(running, with_login)
        assert running.site.copies is not None
        body = job.manifest(running.site.copies.template(), "j", {}, {}, running.site.objects.name)
        name = running.site.objects.name
    secret = secret_of(namespace)
    assert secret["metadata"]["name"] == name
    assert secret["metadata"]["ownerReferences"][0]["uid"] == "42"
    assert secret["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "vtlab"
    (content,) = map(json.loads, decoded(secret).values())
    assert content["rows"][39] == ["39", "row-39"]
    assert content["values"] == {"env.PASSWORD": "s3cret"}
    assert content["login"]["path"] == "/login"
    (k6,) = body["spec"]["template"]["spec"]["containers"]
    assert {"name": "PRIVATE", "value": "/workload/private.json"} in k6["env"]
    assert {"name": "workload", "mountPath": "/workload", "readOnly": True} in k6["volumeMounts"]
    volume = volume_of(body["spec"]["template"]["spec"])
    assert volume["secretName"] == name
    assert [item["path"] for item in volume["items"]] == ["private.json"]
    elsewhere = json.dumps([body, namespace.listed_config_maps, [made for made in namespace.made if made != secret]])
    assert "s3cret" not in elsewhere
    assert "row-39" not in elsewhere


@pytest.mark.usefixtures("started")
def test_a_script_is_what_k6_starts_with_a_copy_for_each_variant(
    namespace: Namespace, with_script: Experiment, tmp_path: Path
) -> None:
    with measuring(tmp_path) as running:
        begin(running, with_script)
        assert running.site.copies is not None
        template = running.site.copies.template()
        quiet = running.site.copies.template(preflight_within=90.5)
    pod = template["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (k6,) = pod["containers"]
    assert k6["command"][-1] == "/workload/script/main.js"
    (of_quiet,) = quiet["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert set(k6["command"]) - set(of_quiet["command"]) == {"-o", "experimental-prometheus-rw"}
    of_pod = quiet["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert (pod["activeDeadlineSeconds"], of_pod["activeDeadlineSeconds"]) == (3600, 271), "bounded, after its image"
    secret = secret_of(namespace)
    keys: dict[str, list[str]] = {}
    for item in volume_of(pod)["items"]:
        keys.setdefault(item["key"], []).append(item["path"])
    assert set(keys) == set(secret["data"])
    assert ["script/0/home/me/load.ts", "script/1/home/me/load.ts"] in keys.values(), "once, for both"
    content = {path: decoded(secret)[key] for key, paths in keys.items() for path in paths}
    assert 'from "/k6/block.ts"' in content["script/main.js"]
    assert "/workload/script/1/home/me/load.ts" in content["script/register.js"]
    assert "/workload/private.json" in content["script/environment-0.js"]
    assert json.loads(content["private.json"]) == {"environment": {"PATH_OF": "/orders"}}


def test_a_workload_of_requests_alone_needs_no_secret() -> None:
    assert workload_secret.files(EXPERIMENT, LAB) == workload_secret.Files()
    assert workload_secret.Files().start("/k6/block.ts") == "/k6/block.ts"


@pytest.mark.usefixtures("started")
def test_more_than_a_secret_holds_is_refused_and_nothing_made(namespace: Namespace, tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("id\n" + ("x" * 99 + "\n") * 12_000, encoding="utf-8")
    large = asking(Workload(requests=["GET /orders/{id}"], data=str(tmp_path / "orders.csv")))
    with measuring(tmp_path) as running, pytest.raises(BadInput, match=r"have 1\.\d MiB, but a Secret holds 1 MiB"):
        running.start(large, 1, 1)
    assert namespace.made == []
    assert namespace.done == []


def test_a_release_takes_no_script_and_says_what_does(with_login: Experiment, tmp_path: Path) -> None:
    options = Options(1, None, tmp_path, False, cluster=SHOPS)
    of_sample = with_login.model_copy(update={"service": "sample"})
    with pytest.raises(BadInput, match="a release of the lab supports no data, login") as refused:
        resolve_cluster_ref(of_sample, options)
    assert "deployment or image" in refused.value.fix
    assert resolve_cluster_ref(with_login, options) is not None


class Asked:
    """Pre-flights by Jobs, of which each leaves the next document."""

    def __init__(self, documents: list[Json], exit_code: int = 0) -> None:
        self.documents, self.exit_code = documents, exit_code
        self.calls: list[tuple[dict[str, str], str | None, bool]] = []

    def run(self, _: KubernetesBlock, variables: dict[str, str], origin: str | None, is_preflight: bool) -> Any:
        self.calls.append((variables, origin, is_preflight))
        terminated = {"state": {"terminated": {"exitCode": self.exit_code}}}
        pod = {"status": {"containerStatuses": [{"name": labels.K6_CONTAINER, **terminated}]}}
        if self.exit_code:
            return pod, '2026-11-26T08:00:00Z time="" level=error msg="TypeError: x is not a function"\n'
        return pod, log_of(json.dumps({"preflight": self.documents.pop(0)}), 2)


def answer_of(status: int = 200, reason: str | None = None, **more: Any) -> Json:
    answer = {"request": "GET /orders/17", "status": status, "reason": reason, "shape": {"id": "number"}}
    counts = {"passed": 1, "failed": 0}
    base = {"answers": [answer], "asked": {}, "answered": {}, "error": None, "checks": counts, "requests": counts}
    return base | more


def block_of(running: KubernetesTarget, experiment: Experiment) -> KubernetesBlock:
    pods = {name: {"metadata": {"name": name}} for name in experiment.variants}
    return KubernetesBlock(running.site, ClusterStart(resolve_service(experiment), experiment, 1, 1, pods, []))


def preflight(
    asked: Asked, experiment: Experiment, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str | None, list[str]]:
    """The origin that stands for the variant, and what differs."""

    def run(block: KubernetesBlock, variables: dict[str, str], origin: str | None, is_preflight: bool) -> Any:
        return asked.run(block, variables, origin, is_preflight)

    monkeypatch.setattr(KubernetesBlock, "_run", run)
    with measuring(folder) as running:
        block = block_of(running, experiment)
        return block.preflight(), block.differences


def test_a_copy_that_answers_differently_is_a_difference_of_the_block(
    namespace: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked([{"platform": answer_of(), "virtual": answer_of(503, "status-503")}] * 2)
    _, differences = preflight(asked, EXPERIMENT, tmp_path, monkeypatch)
    assert differences == ["virtual answered 503 to GET /orders/17"]
    assert [f"{EXPERIMENT.name}: virtual answered 503 to GET /orders/17"] == MESSAGES
    assert asked.calls == [({"PREFLIGHT": "true", "ORDER": "platform,virtual"}, None, True)] * 2, "asked twice"


def test_copies_that_no_pod_of_k6_reaches_are_asked_three_times(
    namespace: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network policy may admit a new pod late."""
    silent = {name: answer_of(0, "timeout") for name in ("platform", "virtual")}
    healthy = {name: answer_of() for name in ("platform", "virtual")}
    asked = Asked([silent, silent, healthy])
    assert preflight(asked, EXPERIMENT, tmp_path, monkeypatch) == (None, [])
    asked = Asked([silent] * 4)
    with pytest.raises(BadInput, match="GET /orders/17: every variant gave no answer"):
        preflight(asked, EXPERIMENT, tmp_path, monkeypatch)
    assert len(asked.calls) == 3


def test_a_request_that_every_copy_fails_is_refused_before_any_block(
    namespace: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked([{"platform": answer_of(404, "status-404"), "virtual": answer_of(404, "status-404")}])
    with pytest.raises(BadInput, match="GET /orders/17: every variant answered 404"):
        preflight(asked, EXPERIMENT, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        (107, BadInput, "k6 cannot run the workload: TypeError: x is not a function"),
        # k6's set-up took too long; the image has no such program; the kernel, or the kubelet, ended it.
        (100, BlockFault, "k6 ended with exit code 100: "),
        (127, BlockFault, "k6 ended with exit code 127: "),
        (137, BlockFault, "k6 ended with exit code 137: "),
    ],
)
def test_a_workload_that_k6_cannot_run_is_told_from_a_k6_that_does_not_run(
    namespace: Namespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    kind: type[Exception],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        preflight(Asked([], exit_code=code), EXPERIMENT, tmp_path, monkeypatch)


def test_the_fixed_origin_of_a_script_is_the_copies(
    namespace: Namespace, with_script: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second pre-flight proves it, by the URLs of the copies' Services."""

    def of(name: str, answered: Json) -> Json:
        return answer_of(answers=[], asked={"https://shop.example": 1}, answered=answered)

    class Answering(Asked):
        def run(self, block: KubernetesBlock, *arguments: Any, **options: Any) -> Any:
            urls = block._urls
            self.documents = [{name: of(name, {urls[name]: 1}) for name in urls}]
            return super().run(block, *arguments, **options)

    asked = Answering([])
    origin, _ = preflight(asked, with_script, tmp_path, monkeypatch)
    assert origin == "https://shop.example"
    assert [origin for _, origin, _ in asked.calls] == [None, "https://shop.example"]
    assert "the script has the fixed address https://shop.example" in "\n".join(MESSAGES)


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both copies are ready, as far as the cluster and Prometheus tell."""
    loaded = {name: {"metadata": {"name": name, "uid": name}} for name in EXPERIMENT.variants}

    def instance(_: KubernetesTarget, started: StartedPod, __: int) -> Instance:
        name = started.variant
        return Instance(variant=name, identity=name, java="25", gc="G1", processors=1, cpu_limit=1.0, started_in=1.0)

    monkeypatch.setattr(target.watch, "wait_for_pods", lambda *_: (dict(loaded), {}))
    monkeypatch.setattr(target.KubernetesTarget, "_scraped", lambda *_: 1)
    monkeypatch.setattr(target.KubernetesTarget, "_verified", instance)
    monkeypatch.setattr(Prometheus, "refuse_old", lambda _: None)
    monkeypatch.setattr(Prometheus, "now", lambda _: 1)


@pytest.mark.usefixtures("namespace", "ready")
def test_copies_are_asked_once_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def preflight_of(block: KubernetesBlock) -> str:
        made.append(block.start.number)
        return "https://shop.example"

    monkeypatch.setattr(KubernetesBlock, "preflight", preflight_of)
    with measuring(tmp_path) as running:
        for number in (1, 2):
            assert running.start(EXPERIMENT, number, 1).failures == []
        assert running.site.preflight.origin == "https://shop.example"
    assert made == [1]


@pytest.mark.usefixtures("namespace", "ready")
@pytest.mark.parametrize("broken", [["virtual"], ["virtual", "platform"]])
def test_a_copy_that_breaks_with_the_first_requests_has_failed_and_the_other_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: list[str]
) -> None:
    """It is a result, and no reason to measure again. Where none is left the next block is checked anew."""
    asked: list[list[str]] = []

    def preflight_of(block: KubernetesBlock) -> None:
        asked.append(list(block._urls))
        for name in broken:
            if name in block._urls:
                raise VariantFailed(name, "it ended with exit code 1")

    monkeypatch.setattr(KubernetesBlock, "preflight", preflight_of)
    left = [name for name in EXPERIMENT.variants if name not in broken]
    with measuring(tmp_path) as running:
        block = running.start(EXPERIMENT, 1, 1)
        assert [(f.variant, f.reason, f.moment) for f in block.failures] == [
            (name, "it ended with exit code 1", "in the pre-flight") for name in broken
        ]
        assert [instance.variant for instance in block.instances] == left
        assert list(block._urls) == left
        running.start(EXPERIMENT, 2, 1)
    of_second = [EXPERIMENT.variants] if not left else []
    assert asked[:2] == [EXPERIMENT.variants, ["platform"]]
    assert asked[2:3] == of_second
