"""A variant as a copy of a pod template: what is kept, what is changed, and what cannot be copied."""

from __future__ import annotations

import copy
import shlex
from typing import Any

import pytest
import yaml

from vtlab import shipped
from vtlab.errors import BadInput
from vtlab.model.experiment import Experiment, Limits, Properties
from vtlab.model.experiment_files import load
from vtlab.model.service import Service
from vtlab.planning.shipped_experiments import EXPERIMENTS
from vtlab.services import processors
from vtlab.targets.kubernetes.api import pods
from vtlab.targets.kubernetes.copies import liveness, manifests
from vtlab.targets.kubernetes.copies.environment import has_unseen_options, shown_flags
from vtlab.targets.kubernetes.copies.manifests import CopiedVariant
from vtlab.targets.kubernetes.copies.original import Original, from_deployment, from_image

Json = dict[str, Any]

SHOP = Service(name="shop", deployment="shop")
EXPERIMENT = load("blocking", EXPERIMENTS).model_copy(
    update={"service": SHOP, "limits": Limits(cpu=0.5, memory="640Mi", heap=None)}
)
#: A Deployment as a team writes it: a sidecar, an init container, secrets, probes, JVM flags, a node port.
DEPLOYMENT: Json = {
    "metadata": {"name": "shop", "labels": {"app": "shop"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "shop"}},
        "template": {
            "metadata": {
                "labels": {"app": "shop", "tier": "web"},
                "annotations": {"vault/inject": "true", "kubectl.kubernetes.io/default-container": "web"},
            },
            "spec": {
                "serviceAccountName": "shop",
                "securityContext": {"runAsNonRoot": True, "runAsUser": 1002, "fsGroup": 1002},
                "initContainers": [{"name": "schema", "image": "flyway:11"}],
                "containers": [
                    {"name": "proxy", "image": "envoy:1", "ports": [{"containerPort": 15001, "hostPort": 15001}]},
                    {
                        "name": "web",
                        "image": "registry.example/shop:1.4",
                        "ports": [
                            {"name": "http", "containerPort": 8081},
                            {"name": "management", "containerPort": 9404},
                        ],
                        "env": [
                            {"name": "HOST", "value": "db"},
                            {"name": "URL", "value": "jdbc:mysql://$(HOST)/shop"},
                            {"name": "JAVA_TOOL_OPTIONS", "value": "-XX:MaxRAMPercentage=60 -Dfile.encoding=UTF-8"},
                            {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "shop-db", "key": "p"}}},
                            {"name": "SPRING_THREADS_VIRTUAL_ENABLED", "value": "true"},
                        ],
                        "resources": {
                            "requests": {"cpu": "2", "memory": "2Gi", "ephemeral-storage": "1Gi"},
                            "limits": {"cpu": "4", "memory": "2Gi", "ephemeral-storage": "2Gi"},
                        },
                        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                        "livenessProbe": {"httpGet": {"path": "/alive", "port": "http"}, "failureThreshold": 1},
                        "startupProbe": {"httpGet": {"path": "/alive", "port": "http"}},
                        "readinessProbe": {
                            "httpGet": {"path": "/ready", "port": "management"},
                            "initialDelaySeconds": 60,
                            "periodSeconds": 30,
                        },
                        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
                    },
                ],
                "volumes": [{"name": "tmp", "emptyDir": {}}],
            },
        },
    },
}
LABELS = {
    "app.kubernetes.io/managed-by": "vtlab",
    "app.kubernetes.io/instance": "vtlab-shop-a1b2",
    "app.kubernetes.io/component": "variant",
    "variant": "platform",
}


def changed(**of_web: Any) -> Json:
    """The Deployment with other keys of its service's container."""
    deployment = copy.deepcopy(DEPLOYMENT)
    deployment["spec"]["template"]["spec"]["containers"][1].update(of_web)
    return deployment


def copied(
    original: Original, variant: str = "platform", experiment: Experiment = EXPERIMENT, image: str = "agent:1"
) -> Json:
    metadata = {"name": f"vtlab-shop-a1b2-{variant}", "labels": {**LABELS, "variant": variant}}
    return manifests.deployment(CopiedVariant(original, experiment, variant), metadata, {"vtlab/block": "1"}, image)


def shop(deployment: Json = DEPLOYMENT, service: Service = SHOP) -> Original:
    return from_deployment(service, deployment)


def pod(deployment: Json) -> Json:
    template: Json = deployment["spec"]["template"]
    return template


def web(deployment: Json) -> Json:
    return next(c for c in pod(deployment)["spec"]["containers"] if c["name"] in ("web", "app"))


def environment(deployment: Json) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in web(deployment)["env"] if "value" in variable}


def test_no_label_of_the_original_is_kept() -> None:
    made = copied(shop())
    assert pod(made)["metadata"]["labels"] == LABELS
    assert made["metadata"]["labels"] == LABELS
    selector = made["spec"]["selector"]["matchLabels"]
    assert selector.items() <= LABELS.items()
    assert selector["app.kubernetes.io/instance"] == "vtlab-shop-a1b2"


def test_a_copy_is_one_pod_and_never_two() -> None:
    made = copied(shop())
    assert made["spec"]["replicas"] == 1
    assert made["spec"]["strategy"] == {"type": "Recreate"}


def test_what_a_team_wrote_is_kept() -> None:
    spec, original = pod(copied(shop()))["spec"], pod(DEPLOYMENT)["spec"]
    assert spec["serviceAccountName"] == "shop"
    assert spec["securityContext"] == original["securityContext"]
    assert [container["name"] for container in spec["initContainers"]] == ["vtlab-agent", "schema"]
    assert spec["containers"][0]["image"] == "envoy:1"
    assert web(copied(shop()))["securityContext"] == original["containers"][1]["securityContext"]
    assert pod(copied(shop()))["metadata"]["annotations"]["vault/inject"] == "true"
    assert pod(copied(shop()))["metadata"]["annotations"]["vtlab/block"] == "1"


def test_no_autoscaler_moves_a_copy() -> None:
    values = yaml.safe_load((shipped.ROOT / "helm" / "values.yaml").read_text(encoding="utf-8"))
    of_chart = {key: value for key, value in values["podAnnotations"].items() if "linkerd" not in key}
    assert len(of_chart) == 2, "a mesh stays as it is: it is part of the service"
    assert of_chart.items() <= pod(copied(shop()))["metadata"]["annotations"].items()


def test_copies_prefer_one_node() -> None:
    def terms(deployment: Json) -> list[Json]:
        preferred: list[Json] = pod(copied(shop(deployment)))["spec"]["affinity"]["podAffinity"][manifests.PREFERRED]
        return preferred

    (term,) = terms(DEPLOYMENT)
    selector = term["podAffinityTerm"]["labelSelector"]["matchLabels"]
    assert selector == {name: LABELS[name] for name in ("app.kubernetes.io/instance", "app.kubernetes.io/component")}
    # Beside what a team wrote.
    own = copy.deepcopy(DEPLOYMENT)
    near_cache = {"weight": 50, "podAffinityTerm": {"topologyKey": "zone"}}
    pod(own)["spec"]["affinity"] = {"nodeAffinity": {"a": 1}, "podAffinity": {manifests.PREFERRED: [near_cache]}}
    assert terms(own) == [near_cache, term]
    assert pod(copied(shop(own)))["spec"]["affinity"]["nodeAffinity"] == {"a": 1}
    assert pod(own)["spec"]["affinity"]["podAffinity"][manifests.PREFERRED] == [near_cache]


def test_the_original_is_not_changed() -> None:
    before = copy.deepcopy(DEPLOYMENT)
    copied(shop())
    assert before == DEPLOYMENT


def test_two_copies_on_a_node_have_no_port_of_it() -> None:
    (port,) = pod(copied(shop()))["spec"]["containers"][0]["ports"]
    assert port == {"containerPort": 15001}
    networked = copy.deepcopy(DEPLOYMENT)
    pod(networked)["spec"]["hostNetwork"] = True
    with pytest.raises(BadInput, match="uses the network of its node"):
        shop(networked)


def test_a_copy_ends_soon_as_no_client_must_go_elsewhere() -> None:
    hooks = {"preStop": {"sleep": {"seconds": 30}}, "postStart": {"exec": {"command": ["warm"]}}}
    patient = changed(lifecycle=hooks)
    pod(patient)["spec"]["terminationGracePeriodSeconds"] = 300
    made = copied(shop(patient))
    assert web(made)["lifecycle"] == {"postStart": hooks["postStart"]}
    assert pod(made)["spec"]["terminationGracePeriodSeconds"] == 10

    pod(patient)["spec"]["terminationGracePeriodSeconds"] = 2
    assert pod(copied(shop(patient)))["spec"]["terminationGracePeriodSeconds"] == 2


def test_variants_differ_in_their_threads_alone() -> None:
    platform, virtual = (environment(copied(shop(), variant)) for variant in ("platform", "virtual"))
    assert platform.pop("SPRING_THREADS_VIRTUAL_ENABLED") == "false"
    assert virtual.pop("SPRING_THREADS_VIRTUAL_ENABLED") == "true"
    assert platform == virtual


def test_the_environment_keeps_its_order_and_what_comes_from_elsewhere() -> None:
    variables = web(copied(shop()))["env"]
    names = [variable["name"] for variable in variables]
    assert names[:5] == ["HOST", "URL", "JAVA_TOOL_OPTIONS", "PASSWORD", "SPRING_THREADS_VIRTUAL_ENABLED"]
    assert len(set(names)) == len(names)
    assert variables[3] == {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "shop-db", "key": "p"}}}
    assert environment(copied(shop()))["SERVER_TOMCAT_MBEANREGISTRY_ENABLED"] == "true"


def test_the_agent_comes_after_the_flags_of_production() -> None:
    service = SHOP.model_copy(update={"jvm_flags": ["-XX:+UseG1GC"]})
    properties = {"virtual": Properties.model_validate({"threads": "virtual", "jvm_flags": ["-Dx=1"]})}
    experiment = EXPERIMENT.model_copy(update={"properties": properties})
    options = environment(copied(shop(service=service), "virtual", experiment))["JAVA_TOOL_OPTIONS"]
    assert shlex.split(options) == [
        "-XX:MaxRAMPercentage=60",
        "-Dfile.encoding=UTF-8",
        "-XX:+UseG1GC",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:ActiveProcessorCount=1",
        "-Dx=1",
        "-javaagent:/vtlab/vtlab-agent.jar=port=19404,host=0.0.0.0",
    ]
    heap = EXPERIMENT.model_copy(update={"limits": Limits(cpu=1, memory="1Gi", heap="300m")})
    assert "-Xms300m -Xmx300m" in environment(copied(shop(), experiment=heap))["JAVA_TOOL_OPTIONS"]


def test_a_copy_may_have_more_cpu_for_a_while_and_stays_the_same_jvm() -> None:
    """It counts the processors of its limit, or what the flags of production say, and is not restarted."""
    assert web(copied(shop()))["resizePolicy"] == [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    memory = {"resourceName": "memory", "restartPolicy": "NotRequired"}
    theirs = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}, memory]
    altered = changed(
        resizePolicy=theirs, env=[{"name": "JAVA_TOOL_OPTIONS", "value": "-XX:ActiveProcessorCount=4 -Xss512k"}]
    )
    copy_ = copied(shop(altered))
    assert web(copy_)["resizePolicy"] == [memory, {"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    of_pod = pod(copy_)
    assert pods.app(of_pod)["name"] == "web", "not the proxy, which comes first"
    assert processors.counted(pods.jvm_flags(of_pod), 0.5) == 4
    assert processors.counted(pods.jvm_flags(pod(copied(shop()))), 0.5) == 1
    two = EXPERIMENT.model_copy(update={"limits": Limits(cpu=1.5, memory="1Gi", heap=None)})
    assert processors.counted(pods.jvm_flags(pod(copied(shop(), experiment=two))), 1.5) == 2


def test_flags_from_elsewhere_are_refused_unless_an_experiment_gives_them() -> None:
    variable = {"name": "JAVA_TOOL_OPTIONS", "valueFrom": {"configMapKeyRef": {"name": "jvm", "key": "flags"}}}
    elsewhere = shop(changed(env=[variable]))
    with pytest.raises(BadInput, match=r"container web takes JAVA_TOOL_OPTIONS from elsewhere") as refused:
        copied(elsewhere)
    assert "settings" in refused.value.fix
    altered = EXPERIMENT.model_copy(update={"settings": {"JAVA_TOOL_OPTIONS": "-Xss512k"}})
    assert environment(copied(elsewhere, experiment=altered))["JAVA_TOOL_OPTIONS"].startswith("-Xss512k ")


def test_a_record_has_no_value_that_may_be_secret() -> None:
    flags = ["-Xmx1g", "-XX:MaxRAMPercentage=60", "-Dkey=top secret", "secret", "-javaagent:/a.jar=token", "-Dset"]
    kept = ["-Xmx1g", "-XX:MaxRAMPercentage=60", "-Dkey=...", "-javaagent:/a.jar=...", "-Dset"]
    assert shown_flags(flags) == kept


def test_options_that_vtlab_cannot_see_are_known() -> None:
    sources = [{"configMapRef": {"name": "jvm"}}]
    assert not has_unseen_options(shop())
    assert not has_unseen_options(shop(changed(envFrom=sources))), "the value beside it goes before"
    assert has_unseen_options(shop(changed(envFrom=sources, env=[])))


def test_a_pod_template_is_told_from_another_by_what_runs() -> None:
    restarted = copy.deepcopy(DEPLOYMENT)
    pod(restarted)["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] = "2026-11-23T16:00:00Z"
    assert shop(restarted).digest == shop().digest
    assert shop(changed(image="registry.example/shop:1.5")).digest != shop().digest


def test_the_agent_has_a_port_that_the_pod_does_not_use() -> None:
    assert shop().agent_port == 19404, "the original has 9404"
    assert environment(copied(shop()))["VTLAB_AGENT_PORT"] == "19404"
    assert shop(changed(ports=[{"containerPort": 8081}])).agent_port == 9404
    assert shop(changed(ports=[{"containerPort": 8081}]), SHOP.model_copy(update={"port": 9404})).agent_port == 19404


def test_the_jar_of_the_agent_comes_into_a_volume_of_its_own() -> None:
    spec = pod(copied(shop()))["spec"]
    agent = spec["initContainers"][0]
    assert agent["image"] == "agent:1"
    assert agent["command"] == ["cp", "/app/vtlab-agent.jar", "/vtlab/"]
    assert agent["securityContext"]["runAsNonRoot"] is True, "Pod Security restricted"
    assert {"name": "vtlab-agent", "emptyDir": {}} in spec["volumes"]
    mounts = {mount["mountPath"]: mount for mount in web(copied(shop()))["volumeMounts"]}
    assert mounts["/vtlab"]["readOnly"] is True
    assert "/tmp" in mounts

    as_root = copy.deepcopy(DEPLOYMENT)
    pod(as_root)["spec"]["securityContext"] = {"runAsUser": 0}
    assert "runAsNonRoot" not in pod(copied(shop(as_root)))["spec"]["initContainers"][0]["securityContext"]


def test_the_limits_are_the_experiments() -> None:
    assert web(copied(shop()))["resources"] == {
        "requests": {"ephemeral-storage": "1Gi", "cpu": "0.1"},
        "limits": {"cpu": "0.5", "memory": "640Mi", "ephemeral-storage": "2Gi"},
    }
    little = EXPERIMENT.model_copy(update={"limits": Limits(cpu=0.05, memory="640Mi")})
    assert web(copied(shop(), experiment=little))["resources"]["requests"]["cpu"] == "0.05", "not above the limit"


def test_no_probe_restarts_a_copy_and_readiness_is_seen_within_a_second() -> None:
    container = web(copied(shop()))
    assert not {"livenessProbe", "startupProbe"} & container.keys()
    probe = container["readinessProbe"]
    assert probe["httpGet"] == {"path": "/ready", "port": "management"}
    assert (probe["initialDelaySeconds"], probe["periodSeconds"]) == (0, 1)

    bare = changed()
    del web(bare)["readinessProbe"]
    assert web(copied(shop(bare)))["readinessProbe"]["tcpSocket"] == {"port": 8081}


@pytest.mark.parametrize(
    ("container", "port"),
    [
        ({"env": [{"name": "SERVER_PORT", "value": "9000"}]}, 9000),
        ({"ports": [{"containerPort": 7000}]}, 7000),
        ({"ports": [{"containerPort": 7000}, {"containerPort": 7001, "name": "web"}]}, 7001),
        ({"ports": [{"containerPort": 7000}, {"containerPort": 8080}]}, 8080),
        ({"ports": []}, 8080),
    ],
)
def test_the_port_is_the_containers_own(container: Json, port: int) -> None:
    original = shop(changed(**container))
    made = copied(original)
    assert environment(made)["SERVER_PORT"] == str(port)
    service = manifests.service(original, made["metadata"])["spec"]
    assert service["ports"][0] == {"name": "http", "port": 8080, "targetPort": port}
    assert service["selector"] == made["spec"]["selector"]["matchLabels"]
    assert service["publishNotReadyAddresses"] is True


def get(port: int | str, **more: Any) -> Json:
    return {"livenessProbe": {"httpGet": {"path": "/alive", "port": port, **more}, "periodSeconds": 10}}


@pytest.mark.parametrize(
    ("container", "service", "url", "target"),
    [
        (get("http"), {}, "http://copy:8080/alive", None),
        (get(8081), {}, "http://copy:8080/alive", None),
        (get("management"), {}, "http://copy:9404/alive", 9404),
        (get(7000, scheme="HTTPS"), {}, "https://copy:7000/alive", 7000),
        (get(9404, path="alive"), {}, "http://copy:9404/alive", 9404),
        (get(7000, path=""), {}, "http://copy:7000/", 7000),
        # The number of its Service's port for requests, or of the agent's if it were not taken over.
        (get(8080), {}, "http://copy:8081/alive", 8080),
        (get(9404) | {"ports": [{"containerPort": 8081}]}, {}, "http://copy:9404/alive", 9404),
        ({"livenessProbe": None}, {}, "http://copy:8080/actuator/health/liveness", None),
        ({"livenessProbe": None}, {"liveness": "/up"}, "http://copy:8080/up", None),
        ({"livenessProbe": None}, {"management_port": 9404}, "http://copy:9404/actuator/health/liveness", 9404),
        # The container's own takes precedence.
        (get("http"), {"liveness": "/up", "management_port": 9404}, "http://copy:8080/alive", None),
        ({"livenessProbe": {"exec": {"command": ["true"]}}}, {}, "http://copy:8080/actuator/health/liveness", None),
        (get("absent"), {}, "http://copy:8080/actuator/health/liveness", None),
        (get("http", host="elsewhere"), {"liveness": "/up"}, "http://copy:8080/up", None),
    ],
)
def test_the_probe_of_a_copy_asks_what_the_kubelet_asks(
    container: Json, service: Json, url: str, target: int | None
) -> None:
    original = shop(changed(**container), SHOP.model_copy(update=service))
    assert original.probe_url("copy") == url
    ports = {port["name"]: port for port in manifests.service(original, {"labels": LABELS})["spec"]["ports"]}
    port = int(url.split(":")[2].partition("/")[0])
    probed = {"name": "probe", "port": port, "targetPort": target}
    assert ports.get("probe") == (probed if target else None)
    assert len({port["port"] for port in ports.values()}) == len(ports), "no number twice"
    assert original.agent_port not in {original.port, original.liveness.port}
    assert "livenessProbe" not in web(copied(original)), "k6 asks, the kubelet does not"


def test_an_image_is_probed_as_its_service_says() -> None:
    service = Service(name="cart", image="cart:2", port=9000)
    assert from_image(service).probe_url("copy") == "http://copy:9000/actuator/health/liveness"
    elsewhere = service.model_copy(update={"management_port": 9001, "liveness": "/up"})
    assert from_image(elsewhere).probe_url("copy") == "http://copy:9001/up"


def test_what_of_a_liveness_probe_is_not_taken_over_is_said() -> None:
    def said(**container: Any) -> str:
        return liveness.remark(SHOP, web(changed(**container)), 8081)

    assert said() == said(livenessProbe=None) == ""
    headers = said(**get("http", httpHeaders=[{"name": "X-Key", "value": "secret"}]))
    assert headers == "headers of its liveness probe (httpHeaders) are not sent to the copies"
    for probe in ({"exec": {"command": ["true"]}}, {"tcpSocket": {"port": 8081}}, {"grpc": {"port": 8081}}):
        assert said(livenessProbe=probe) == (
            "its liveness probe asks another host, has no httpGet or no known port, so vtlab asks"
            " /actuator/health/liveness (port 8081)"
        )
    assert "has no httpGet or no known port" in said(**get("absent"))


def test_several_ports_without_a_name_are_asked_for() -> None:
    with pytest.raises(BadInput, match="has the ports 7000, 7001: vtlab does not know which") as refused:
        shop(changed(ports=[{"containerPort": 7000}, {"containerPort": 7001}]))
    assert "key port" in refused.value.fix


def test_an_image_alone_is_copied_by_the_same_code() -> None:
    service = Service(name="cart", image="cart:2", port=9000, settings={"A": "b"})
    made = copied(from_image(service), "virtual")
    assert web(made)["image"] == "cart:2"
    assert environment(made)["A"] == "b"
    assert environment(made)["SERVER_PORT"] == "9000"
    assert environment(made)["SPRING_THREADS_VIRTUAL_ENABLED"] == "true"
    assert web(made)["readinessProbe"]["tcpSocket"] == {"port": 9000}
    assert pod(made)["spec"]["securityContext"]["runAsNonRoot"] is True

    probed = service.model_copy(update={"readiness": "/health", "management_port": 9001})
    made = copied(from_image(probed))
    assert web(made)["readinessProbe"]["httpGet"] == {"path": "/health", "port": 9001}
    assert environment(made)["MANAGEMENT_SERVER_PORT"] == "9001"


def test_prometheus_scrapes_every_copy_each_second_under_its_variant() -> None:
    labels = {name: value for name, value in LABELS.items() if name != "variant"}
    monitor = manifests.monitor({"name": "m", "labels": labels}, {"release": "stack"})
    assert monitor["metadata"]["labels"]["release"] == "stack"
    assert monitor["spec"]["selector"]["matchLabels"].items() <= LABELS.items()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert (endpoint["port"], endpoint["path"], endpoint["interval"]) == ("vtlab-agent", "/metrics", "1s")
    assert endpoint["relabelings"][0]["targetLabel"] == "variant"


def test_a_copy_gets_no_variable_that_its_own_would_refuse() -> None:
    register = "SPRING_DATASOURCE_HIKARI_REGISTERMBEANS"
    assert environment(copied(shop()))[register] == "true"
    patience = {"name": "SPRING_DATASOURCE_HIKARI_CONNECTION_TIMEOUT", "valueFrom": {"configMapKeyRef": {"name": "a"}}}
    assert register not in environment(copied(shop(changed(env=[patience]))))
