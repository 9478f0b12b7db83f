"""What e2e/up does, remembers and takes down. Stand-ins for kind, docker, kubectl and helm, which cannot run everywhere
the tests do."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.versions import VERSIONS

REPOSITORY = Path(__file__).resolve().parents[1]
NEEDED = ("bash", "cat", "dirname", "grep", "id", "mkdir", "od", "rm", "sed", "sleep", "sort", "tr")
#: Answers of stand-ins: what was made before is there.
KIND = '[ "$*" != "get clusters" ] || ! grep -q "^kind create cluster" "$CALLS" || echo vtlab'
HELM = '[ "$1" != status ] || grep -q "^helm upgrade --install $2 " "$CALLS"'
KUBECTL = """
case "$*" in
  "config current-context") echo "${CONTEXT:-kind-vtlab}" ;;
  *"get namespace "*) grep -q "^kubectl create namespace ${*##* }" "$CALLS" ;;
  *"get secret "*) grep -q "create secret" "$CALLS" ;;
esac
"""
IMAGE = "registry.example/lab:1"
LAB = f"virtual-threads-lab:{VERSIONS['LAB_VERSION']}"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Enough of a checkout for e2e/up; its PATH is bin/."""
    for name in ("e2e/up", "helm/Chart.yaml", "helm/kube-prometheus-stack.version"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    (tmp_path / ".tools").mkdir()
    (tmp_path / "bin").mkdir()
    for name in NEEDED:
        program = shutil.which(name)
        assert program
        (tmp_path / "bin" / name).symlink_to(program)
    return tmp_path


def up(checkout: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": str(checkout / "bin"), "CALLS": str(checkout / "calls"), **env}
    return subprocess.run([checkout / "e2e/up", *words], capture_output=True, text=True, check=False, env=env)


def stand_in(checkout: Path, name: str, answer: str = "", folder: str = "bin") -> None:
    """A program that writes down how it was called, and then does what the lines of shell in ``answer`` say."""
    program = checkout / folder / name
    program.parent.mkdir(exist_ok=True)
    # Never through a link to a program of the machine.
    program.unlink(missing_ok=True)
    program.write_text(f'#!/bin/sh\necho "{name} $*" >>"$CALLS"\n{answer}\n', encoding="utf-8")
    program.chmod(0o755)


def stand_ins(checkout: Path, kubectl: str = KUBECTL) -> None:
    """Everything that kind and the current context need."""
    stand_in(checkout, "docker")
    stand_in(checkout, "kind", KIND)
    stand_in(checkout, "kubectl", kubectl)
    stand_in(checkout, "helm", HELM)


def calls(checkout: Path) -> list[str]:
    path = checkout / "calls"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.mark.parametrize(
    ("target", "there"),
    [
        ("kind", "kind load docker-image --name vtlab virtual-threads-lab:"),
        ("minikube", "minikube image load virtual-threads-lab:"),
    ],
)
def test_the_image_on_jdk_21_is_built_and_loaded(checkout: Path, target: str, there: str) -> None:
    stand_ins(checkout)
    stand_in(checkout, "minikube")
    assert up(checkout, target, "--without-lab").returncode == 0
    done = up(checkout, "jdk21")
    assert done.returncode == 0, done.stderr
    build, load = (checkout / "calls").read_text(encoding="utf-8").splitlines()[-2:]
    assert re.fullmatch(r"docker build -q -t virtual-threads-lab:\S+-jdk21 --build-arg JAVA_VERSION=21 \.", build)
    assert load.startswith(there)
    assert load.endswith("-jdk21")


@pytest.mark.parametrize(
    ("target", "image", "there"),
    [
        ("kind", f"vtlab:{VERSIONS['LAB_VERSION']}", "kind load docker-image --name vtlab vtlab:"),
        ("current", f"registry.example/vtlab:{VERSIONS['LAB_VERSION']}", "docker push -q registry.example/vtlab:"),
    ],
)
def test_the_image_of_vtlab_is_built_of_the_wheel(checkout: Path, target: str, image: str, there: str) -> None:
    stand_ins(checkout)
    stand_in(checkout, "setup", folder="lab")
    assert up(checkout, target, "--without-lab", IMAGE=IMAGE).returncode == 0
    done = up(checkout, "runner")
    assert done.returncode == 0, done.stderr
    wheel, build, load = calls(checkout)[-3:]
    assert (wheel, build) == ("setup wheel", f"docker build -q -t {image} -f lab/Dockerfile .")
    assert load.startswith(there)
    assert f"export VTLAB_IMAGE={image}" in up(checkout, "env").stdout


@pytest.mark.parametrize("image", ["jdk21", "runner"])
def test_there_is_no_further_image_where_nothing_is_up(checkout: Path, image: str) -> None:
    done = up(checkout, image)
    assert done.returncode == 3
    assert "nothing is up" in done.stderr


@pytest.mark.parametrize("target", ["kind", "minikube", "current"])
def test_a_target_that_cannot_be_had_is_not_remembered(checkout: Path, target: str) -> None:
    done = up(checkout, target)
    assert done.returncode == 3, done.stderr
    assert "no kubectl on PATH" in done.stderr
    assert "fix: install kubectl" in done.stderr
    assert not (checkout / ".tools/up").exists(), "another target can be chosen"
    assert "nothing is up" in up(checkout, "down").stderr


def test_another_target_is_refused_while_one_is_up(checkout: Path) -> None:
    (checkout / ".tools/up").write_text("target minikube\n", encoding="utf-8")
    done = up(checkout, "kind")
    assert done.returncode == 3
    assert "the target minikube is up" in done.stderr


def test_only_a_cluster_of_its_own_is_deleted(checkout: Path) -> None:
    for name in ("kind", "kubectl", "helm"):
        stand_in(checkout, name)
    state = checkout / ".tools/up"
    state.write_text("target kind\ncontext kind-vtlab\nmade lab\n", encoding="utf-8")
    assert up(checkout, "down").returncode == 0
    assert calls(checkout) == [
        "helm uninstall lab --kube-context kind-vtlab --namespace lab --ignore-not-found",
        "kubectl --context kind-vtlab delete namespace lab --ignore-not-found",
    ]
    assert not state.exists()

    (checkout / "calls").unlink()
    state.write_text("target kind\nmade cluster\ncontext kind-vtlab\nmade lab\n", encoding="utf-8")
    assert up(checkout, "down").returncode == 0
    assert calls(checkout) == ["kind delete cluster --name vtlab"]


def changes(checkout: Path) -> list[str]:
    """The calls that change something, without what they only hand on."""
    asking = ("docker info", "kind get", "kubectl config current", "helm status", "helm get")
    changing = [call for call in calls(checkout) if not call.startswith(asking) and " get " not in call + " "]
    return [call.split(" -f ")[0].split(" --from-literal")[0].split(" --repo")[0] for call in changing]


#: Steps of kind that every call makes, also where the cluster is up.
BUILD = [
    "kubectl config use-context kind-vtlab",
    f"docker build -q -t {LAB} .",
    f"kind load docker-image --name vtlab {LAB}",
]
LABEL = "kubectl label --overwrite namespace lab pod-security.kubernetes.io/enforce=restricted"
CHART = (
    "helm upgrade --install lab helm --namespace lab --set image.repository=virtual-threads-lab"
    f" --set-string image.tag={VERSIONS['LAB_VERSION']} --wait --timeout 5m"
)


def test_kind_step_by_step(checkout: Path) -> None:
    stand_ins(checkout)
    done = up(checkout, "kind")
    assert done.returncode == 0, done.stderr
    assert changes(checkout) == [
        "kind create cluster --name vtlab --wait 120s",
        *BUILD,
        "kubectl create namespace monitoring",
        "kubectl -n monitoring create secret generic grafana-admin",
        "helm upgrade --install monitoring kube-prometheus-stack",
        "kubectl create namespace lab",
        LABEL,
        CHART,
    ]
    assert (checkout / ".tools/up").read_text(encoding="utf-8").splitlines() == [
        "target kind",
        "made cluster",
        f"image {LAB}",
        "context kind-vtlab",
        "made monitoring",
        "made lab",
    ]


def words_of(call: str) -> list[str]:
    """The words of a call, whatever their order, without how long it may wait, what it hides, and the password."""
    call = re.sub(r" --wait 120s| -q|(?<=admin-password=)\S+", "", call.replace(" -n ", " --namespace "))
    return sorted(call.split())


def test_the_commands_by_hand_are_those_of_make_up(checkout: Path) -> None:
    page = (REPOSITORY / "docs/how-to/kubernetes.md").read_text(encoding="utf-8")
    (block,) = (block for block in re.findall(r"```sh\n(.*?)```", page, re.S) if "kind create cluster" in block)
    stand_ins(checkout)
    stand_in(checkout, "openssl", "echo secret")
    env = {"PATH": str(checkout / "bin"), "CALLS": str(checkout / "calls")}
    done = subprocess.run(["bash", "-ec", block], capture_output=True, text=True, check=False, cwd=checkout, env=env)
    assert done.returncode == 0, done.stderr
    *by_hand, lab = [call for call in calls(checkout) if not call.startswith("openssl ")]
    (checkout / "calls").unlink()
    assert up(checkout, "kind").returncode == 0
    made = [words_of(call) for call in calls(checkout)]
    assert len(by_hand) == 6
    assert [call for call in by_hand if words_of(call) not in made] == []
    # The values that make up sets are the chart's own.
    assert lab == "helm install lab helm -n lab --create-namespace --wait"


def test_kind_again(checkout: Path) -> None:
    """Nothing is made twice, and the pods take the image that was built anew under the same tag."""
    stand_ins(checkout)
    assert up(checkout, "kind").returncode == 0
    before = len(changes(checkout))
    done = up(checkout, "kind")
    assert done.returncode == 0, done.stderr
    variants = "deployment -l app.kubernetes.io/instance=lab,app.kubernetes.io/component=variant"
    assert changes(checkout)[before:] == [
        *BUILD,
        "helm upgrade --install monitoring kube-prometheus-stack",
        LABEL,
        CHART,
        f"kubectl --namespace lab rollout restart {variants}",
        f"kubectl --namespace lab rollout status {variants} --timeout 5m",
    ]

    before = len(changes(checkout))
    assert up(checkout, "down").returncode == 0
    assert changes(checkout)[before:] == ["kind delete cluster --name vtlab"]


def test_without_the_lab(checkout: Path) -> None:
    """As the end-to-end tests call it: they make the namespace lab themselves, say so, and may call again."""
    stand_ins(checkout)
    assert up(checkout, "kind", "--without-lab").returncode == 0
    assert "kubectl create namespace lab" not in calls(checkout)
    with (checkout / ".tools/up").open("a", encoding="utf-8") as state:
        state.write("made lab\n")
    with (checkout / "calls").open("a", encoding="utf-8") as made:
        made.write("kubectl create namespace lab\n")
    done = up(checkout, "kind", "--without-lab")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["monitoring", "lab"])
@pytest.mark.parametrize("target", ["kind", "current"])
def test_a_namespace_of_another_user_is_left_alone(checkout: Path, target: str, name: str) -> None:
    stand_ins(checkout, f'case "$*" in *"get namespace "*) [ "${{*##* }}" = {name} ] ;; esac')
    done = up(checkout, target, IMAGE=IMAGE)
    assert done.returncode == 3, done.stderr
    assert f"the namespace {name} is there already, and make up did not make it" in done.stderr
    assert (
        "fix: another cluster; or install by hand beside what is there (docs/how-to/prometheus-operator.md)"
        in done.stderr
    )
    assert changes(checkout) == []
    assert not (checkout / ".tools/up").exists(), "make down must not touch it"


def test_a_namespace_in_a_cluster_that_was_stopped(checkout: Path) -> None:
    """It can only be asked once it runs: still before anything is installed."""
    running = 'grep -q "^docker build" "$CALLS"'
    stand_ins(checkout, f'case "$*" in *"get namespace "*) {running} ;; esac')
    done = up(checkout, "kind")
    assert done.returncode == 3, done.stderr
    assert "the namespace monitoring is there already" in done.stderr
    assert not [call for call in calls(checkout) if call.startswith("helm") or " create namespace " in call]


def from_source(checkout: Path) -> None:
    """Stand-ins of e2e/kind, whose cluster comes with its call."""
    stand_ins(checkout)
    stand_in(checkout, "kind", KIND.replace("^kind create cluster", "^up $"))
    for name in ("up", "images", "down"):
        stand_in(checkout, name, folder="e2e/kind")


def test_kind_from_source_step_by_step(checkout: Path) -> None:
    """Images that elsewhere are pulled are loaded, and Docker ends with the cluster."""
    from_source(checkout)
    done = up(checkout, "kind-from-source", "--without-lab")
    assert done.returncode == 0, done.stderr
    assert changes(checkout) == [
        *["up env"] * 2,
        "up ",
        "kubectl config use-context kind-vtlab",
        f"docker build -q -t {LAB} .",
        f"kind load docker-image --name vtlab {LAB}",
        "up load k6 mariadb prometheus prometheus-operator prometheus-config-reloader",
        "kubectl create namespace monitoring",
        "up monitoring",
    ]
    before = len(changes(checkout))
    assert up(checkout, "jdk21").returncode == 0
    assert changes(checkout)[before:] == [
        "up env",
        "images temurin-21-jre",
        f"docker build -q -t {LAB}-jdk21 --build-arg JAVA_VERSION=21 .",
        f"kind load docker-image --name vtlab {LAB}-jdk21",
    ]
    before = len(changes(checkout))
    assert up(checkout, "down").returncode == 0
    assert changes(checkout)[before:] == ["up env", "down "]


def test_kind_from_source_with_a_lab_of_another_user(checkout: Path) -> None:
    from_source(checkout)
    stand_in(checkout, "kubectl")
    done = up(checkout, "kind-from-source")
    assert done.returncode == 3, done.stderr
    assert "the namespace monitoring is there already" in done.stderr
    assert changes(checkout) == ["up env"]
    up(checkout, "down")
    assert "down " not in calls(checkout)


@pytest.mark.parametrize(
    ("docker", "own", "target"),
    [("exit 1", False, "kind-from-source"), ("exit 0", True, "kind-from-source"), ("exit 0", False, None)],
)
def test_kind_is_built_where_no_other_docker_works(checkout: Path, docker: str, own: bool, target: str | None) -> None:
    from_source(checkout)
    for name in ("kind", "kubectl"):
        (checkout / "bin" / name).unlink()
    stand_in(checkout, "docker", docker)
    stand_in(checkout, "id", "echo 0")
    stand_in(checkout, "apt-get")
    if own:
        (checkout / "docker.pid").write_text("1\n", encoding="utf-8")
    done = up(checkout, KIND_HOME=str(checkout))
    assert (f"target: {target}" if target else "no Kubernetes is available here") in done.stderr


def test_the_current_context_pulls_the_tag_anew(checkout: Path) -> None:
    stand_ins(checkout)
    done = up(checkout, "current", IMAGE=IMAGE, CONTEXT="mine")
    assert done.returncode == 0, done.stderr
    assert [f"docker build -q -t {IMAGE} .", f"docker push -q {IMAGE}"] == changes(checkout)[:2]
    assert "image.tag=1 --set image.pullPolicy=Always" in changes(checkout)[-1]

    # What is recorded as ours is ours in that context only.
    before = len(changes(checkout))
    done = up(checkout, "current", IMAGE=IMAGE, CONTEXT="another")
    assert done.returncode == 3
    assert "the context mine is up" in done.stderr
    assert len(changes(checkout)) == before

    assert up(checkout, "current", IMAGE="registry.example/lab:2", CONTEXT="mine").returncode == 0
    assert "export LAB_IMAGE=registry.example/lab:2\n" in up(checkout, "env").stdout


#: A Prometheus of another user.
PROMETHEUS = """case "$*" in
  "get prometheuses"*) echo '{fields}' ;;
  *"get namespace monitoring") ;;
  *) {others} ;;
esac"""


def other_prometheus(**changed: str) -> str:
    """Answers of kubectl where there is one. A field that is left out of its resource is empty."""
    fields = {"namespace": "obs", "version": "v3.8.0", "features": "", "replicas": "1", "writes": "true"}
    fields |= {"labels": '{"release":"stack"}', **changed}
    return PROMETHEUS.format(fields="|".join(fields.values()), others=KUBECTL.strip())


@pytest.mark.parametrize(
    ("changed", "given"),
    [
        ({}, '{"release":"stack"}'),
        ({"labels": "", "version": "", "replicas": ""}, "{}"),
        ({"version": "v3.5.0", "features": '["native-histograms"]'}, '{"release":"stack"}'),
    ],
)
def test_in_the_current_context_the_prometheus_that_is_there_is_used(
    checkout: Path, changed: dict[str, str], given: str
) -> None:
    """Although there is a namespace monitoring that make up did not make."""
    stand_ins(checkout, other_prometheus(**changed))
    done = up(checkout, "current", IMAGE=IMAGE, CONTEXT="mine")
    assert done.returncode == 0, done.stderr
    assert "uses the Prometheus in the namespace obs" in done.stderr
    (chart,) = [call for call in calls(checkout) if call.startswith("helm upgrade --install lab")]
    assert [call for call in changes(checkout) if "monitoring" in call and call not in chart] == []
    assert f"--set monitoring.namespace=obs --set-json monitoring.labels={given} " in chart
    assert "made monitoring" not in (checkout / ".tools/up").read_text(encoding="utf-8"), "make down leaves it alone"


@pytest.mark.parametrize(
    ("changed", "problem", "fix"),
    [
        ({"writes": ""}, "takes no remote writes", "enableRemoteWriteReceiver: true"),
        ({"version": "v3.7.3"}, "is 3.7.3, which refuses k6's native histograms", "version 3.8, or enableFeatures"),
        ({"replicas": "2"}, "has 2 replicas", "one replica"),
    ],
)
def test_a_prometheus_that_blocks_cannot_use_is_refused(
    checkout: Path, changed: dict[str, str], problem: str, fix: str
) -> None:
    stand_ins(checkout, other_prometheus(**changed))
    done = up(checkout, "current", IMAGE=IMAGE, CONTEXT="mine")
    assert done.returncode == 3
    assert f"the Prometheus in the namespace obs {problem}" in done.stderr
    assert f"fix: {fix}" in done.stderr
    assert changes(checkout) == []


def test_a_minikube_that_runs_is_taken_where_there_is_no_kind(checkout: Path) -> None:
    stand_ins(checkout)
    (checkout / "bin/kind").unlink()
    stand_in(checkout, "minikube")
    done = up(checkout, CONTEXT="minikube")
    assert done.returncode == 0, done.stderr
    assert "target: minikube" in done.stderr
    assert f"minikube image load {LAB}" in calls(checkout)


def test_a_failure_shows_pods_and_warnings(checkout: Path) -> None:
    fails = 'case "$*" in "upgrade --install lab "*) echo "Error: timed out" >&2; exit 1 ;; *) exit 0 ;; esac'
    stand_ins(checkout)
    stand_in(checkout, "helm", f"{HELM} || exit 1\n{fails}")
    done = up(checkout, "kind")
    assert done.returncode == 3, done.stderr
    assert "Error: timed out" in done.stderr
    assert "helm ended with exit code 1" in done.stderr
    asked = [call for call in calls(checkout) if call.startswith("kubectl -n lab get ")]
    assert asked[:2] == [
        "kubectl -n lab get pods",
        "kubectl -n lab get events --field-selector type=Warning --sort-by .metadata.creationTimestamp",
    ]


def test_new_pods_that_are_never_ready_are_shown_too(checkout: Path) -> None:
    stand_ins(checkout, f'case "$*" in *"rollout status"*) exit 1 ;; esac{KUBECTL}')
    assert up(checkout, "kind").returncode == 0, "the first time there are no older pods"
    done = up(checkout, "kind")
    assert done.returncode == 3, done.stderr
    assert "kubectl ended with exit code 1" in done.stderr
    (page,) = re.findall(r"docs/how-to/\S+\.md", done.stderr)
    assert (REPOSITORY / page).is_file()
    assert calls(checkout)[-2] == "kubectl -n lab get pods"


def test_each_step_is_said_with_its_time(checkout: Path) -> None:
    stand_ins(checkout)
    done = up(checkout, "kind")
    first_words = re.findall(r"(?m)^up: \d+ s: (\S+)", done.stderr)
    assert first_words == ["target:", "building", "loading", "monitoring", "the"]
