"""The flows that the rendered objects need, against those that the NetworkPolicies allow: no more, no less.

All of them, by their rules; e2e/on_cluster/reach.py tries some in a cluster that enforces policies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from e2e.chart.rendering import CHART, CI_VALUES, NAMESPACE, Json, Rendered, containers, env

Render = Callable[..., Rendered]

DNS = ("kube-system", {"k8s-app": "kube-dns"})
#: As Prometheus Operator labels its pods.
PROMETHEUS_LABELS = {"app.kubernetes.io/name": "prometheus"}
#: As the pods of k6 have them, where a release has none.
K6_LABELS = {"app.kubernetes.io/component": "k6"}


class Peer(NamedTuple):
    """A kind of pod: its name here, its namespace and its labels."""

    name: str
    namespace: str
    labels: dict[str, str]
    #: Address of what is no pod.
    address: str = ""


class Flow(NamedTuple):
    source: str
    target: str
    port: int
    protocol: str = "TCP"


def peers(rendered: Rendered, monitoring: str) -> list[Peer]:
    """Every pod of the release, and those around it that it could talk to."""
    release = [Peer(name, NAMESPACE, template["metadata"]["labels"]) for name, template in rendered.pods().items()]
    # Another release in the same namespace has its own k6, tests, variants and database.
    foreign = [Peer(f"foreign {peer.name}", NAMESPACE, {**peer.labels, **OTHER}) for peer in release]
    return [
        *release,
        *foreign,
        Peer("dns", *DNS),
        Peer("DNS of the node", "", {}, "169.254.20.10"),
        Peer("DNS of the cloud", "", {}, "169.254.169.254"),
        Peer("prometheus", monitoring, PROMETHEUS_LABELS),
        Peer("other pod of kube-system", "kube-system", {"k8s-app": "other"}),
        Peer("other pod of the lab", NAMESPACE, {"app": "other"}),
        Peer("prometheus elsewhere", "elsewhere", PROMETHEUS_LABELS),
        Peer(
            "k6 elsewhere",
            "elsewhere",
            next((p.labels for p in release if p.name.startswith("cronjob")), K6_LABELS),
        ),
        Peer("world", "", {}),
    ]


ALL_DNS = ("dns", "DNS of the node", "DNS of the cloud")
OTHER = {"app.kubernetes.io/instance": "other"}


def needed(rendered: Rendered, monitoring: str) -> set[Flow]:
    """Flows that the objects need, by what they say of themselves."""
    flows = set()
    pods = rendered.pods()
    service = {item["metadata"]["name"]: item["spec"]["selector"] for item in rendered.of("Service")}

    def behind(url: str) -> tuple[str, int]:
        """The pod behind the URL of a Service, and its port."""
        parts = urlsplit(url)
        host = str(parts.hostname)
        (name,) = (n for n, t in pods.items() if service[host].items() <= t["metadata"]["labels"].items())
        (port,) = (
            port["targetPort"] for port in rendered.one("Service", host)["spec"]["ports"] if port["port"] == parts.port
        )
        return name, port_number(pods[name], port)

    for name, template in pods.items():
        if template["metadata"]["labels"]["app.kubernetes.io/component"] in ("database", "downstream"):
            # They open no connection.
            continue
        flows |= {Flow(name, dns, 53, protocol) for dns in ALL_DNS for protocol in ("UDP", "TCP")}
        (container,) = containers(template)
        variables = env(container)
        flows |= {Flow(name, *behind(url)) for url in neighbours(variables) if urlsplit(url).hostname in service}
        for urls in (variables.get("TARGETS", "{}"), variables.get("PROBES", "{}")):
            flows |= {Flow(name, *behind(url)) for url in json.loads(urls).values()}
        for url in json.loads(variables.get("EXPECTED", "{}")):
            flows.add(Flow(name, *behind(url)))
        if template["metadata"]["labels"]["app.kubernetes.io/component"] == "runner":
            # Where k6 pushes to.
            flows.add(Flow(name, "prometheus", 9090))
        if url := variables.get("K6_PROMETHEUS_RW_SERVER_URL"):
            flows.add(Flow(name, "prometheus", urlsplit(url).port or 443))
    return flows | {Flow("prometheus", *behind(url)) for url in scraped_urls(rendered)}


def scraped_urls(rendered: Rendered) -> list[str]:
    """The URLs that the ServiceMonitors have scraped."""
    urls = []
    for monitor in rendered.of("ServiceMonitor"):
        selector = monitor["spec"]["selector"]["matchLabels"]
        for service in rendered.of("Service"):
            if selector.items() <= service["metadata"]["labels"].items():
                named = {port["name"]: port["port"] for port in service["spec"]["ports"]}
                host = service["metadata"]["name"]
                urls += [f"http://{host}:{named[endpoint['port']]}" for endpoint in monitor["spec"]["endpoints"]]
    return urls


def neighbours(variables: Json) -> list[str]:
    """The URLs of the database and of the downstream service that a variant has."""
    urls = (variables.get(name) for name in ("SPRING_DATASOURCE_URL", "LAB_DOWNSTREAM_URL"))
    return [url.removeprefix("jdbc:") for url in urls if url]


def port_number(template: Json, name: str) -> int:
    ports: dict[str, int] = {port["name"]: port["containerPort"] for port in containers(template)[0]["ports"]}
    return ports[name]


# Policies, as Kubernetes reads them


def selects(selector: Json, labels: dict[str, str]) -> bool:
    assert selector.keys() <= {"matchLabels", "matchExpressions"}
    for expression in selector.get("matchExpressions", []):
        assert expression["operator"] == "In"
        if labels.get(expression["key"]) not in expression["values"]:
            return False
    wanted: dict[str, str] = selector.get("matchLabels", {})
    return wanted.items() <= labels.items()


def matches(rule_peer: Json, peer: Peer, policy: Json) -> bool:
    """`world` matches nothing but a rule without peers."""
    assert rule_peer.keys() <= {"namespaceSelector", "podSelector"} or rule_peer.keys() == {"ipBlock"}
    if "ipBlock" in rule_peer:
        return bool(peer.address) and ip_address(peer.address) in ip_network(rule_peer["ipBlock"]["cidr"])
    if "namespaceSelector" in rule_peer:
        if not selects(
            rule_peer["namespaceSelector"],
            {"kubernetes.io/metadata.name": peer.namespace},
        ):
            return False
    elif peer.namespace != policy["metadata"]["namespace"]:
        return False
    return selects(rule_peer.get("podSelector", {}), peer.labels)


def openings(rendered: Rendered, peer: Peer, direction: str) -> list[tuple[Json, Json]] | None:
    """The rules (policy, rule) that hold for a pod in one direction; None: no policy does, so all is allowed."""
    policies = [
        policy
        for policy in rendered.of("NetworkPolicy")
        if policy["metadata"]["namespace"] == peer.namespace
        and selects(policy["spec"]["podSelector"], peer.labels)
        and direction in policy["spec"]["policyTypes"]
    ]
    if not policies:
        return None
    return [(policy, rule) for policy in policies for rule in policy["spec"].get(direction.lower(), [])]


def permits(rendered: Rendered, at: Peer, other: Peer, direction: str, to: tuple[int, str]) -> bool:
    """Tells whether the policies permit it. ``to``: port and protocol."""
    port, protocol = to
    rules = openings(rendered, at, direction)
    if rules is None:
        return True
    key = "from" if direction == "Ingress" else "to"
    return any(
        # Without peers a rule is for every address.
        key not in rule or any(matches(peer, other, policy) for peer in rule[key])
        for policy, rule in rules
        if {"port": port, "protocol": protocol} in rule["ports"]
    )


def allowed(rendered: Rendered, everyone: list[Peer]) -> Iterator[Flow]:
    """Every flow with a pod of the release at one of its ends."""
    release = rendered.pods().keys()
    for source in everyone:
        for target in everyone:
            if source is target or not {source.name, target.name} & release:
                continue
            for to in PORTS:
                outward = permits(rendered, source, target, "Egress", to)
                if outward and permits(rendered, target, source, "Ingress", to):
                    yield Flow(source.name, target.name, *to)


PORTS = [
    (53, "UDP"),
    (53, "TCP"),
    *((port, "TCP") for port in (80, 443, 3306, 3307, 5353, 5432, 6443, 8080, 8081, 8443, 9090, 9999)),
]


def scrapers(rendered: Rendered, everyone: list[Peer], monitoring: str) -> set[Flow]:
    """The whole namespace of the monitoring may scrape: the name of its Prometheus is not known."""
    anything = Peer("anything of the monitoring", monitoring, {})
    everyone.append(anything)
    return {
        Flow(anything.name, flow.target, flow.port)
        for flow in needed(rendered, monitoring)
        if flow.source == "prometheus"
    }


@pytest.mark.parametrize("values", CI_VALUES, ids=lambda path: path.stem)
def test_what_is_needed_is_allowed_and_nothing_else(render: Render, values: Path) -> None:
    rendered = render("-f", values)
    everyone = peers(rendered, "monitoring")
    expected = needed(rendered, "monitoring") | scrapers(rendered, everyone, "monitoring")

    # No CronJob may reach a variant that it does not compare, but pods of k6 are one kind to a policy.
    variants = rendered.variants()
    k6 = [name for name in rendered.pods() if name.startswith("cronjob")]
    expected |= {Flow(job, variant, port) for job in k6 for variant in variants for port in (8080, 8081)}
    # Services of the user's are wherever they are, but not in the release.
    if values.name == "own-services-values.yaml":
        others = [peer.name for peer in everyone if peer.name not in rendered.pods()]
        expected |= {Flow(variant, other, port) for variant in variants for other in others for port in (3307, 443)}
    # The API server is no pod: it may be at any address. No pod of the release listens there.
    if values.name.startswith("runner"):
        others = [peer.name for peer in everyone if peer.name not in rendered.pods()]
        name = rendered.runner()["metadata"]["name"]
        expected |= {Flow(name, other, port) for other in others for port in (443, 6443, 8443)}

    assert set(allowed(rendered, everyone)) == expected


def test_the_flows_are_those_of_the_issue(default: Rendered) -> None:
    """A check of the check: what is derived is not empty."""
    assert needed(default, "monitoring") >= {
        Flow("cronjob lab-blocking", "lab-platform", 8080),
        Flow("cronjob lab-blocking", "lab-virtual", 8080),
        Flow("cronjob lab-blocking", "lab-virtual", 8081),
        Flow("cronjob lab-blocking", "prometheus", 9090),
        Flow("pod lab-test", "lab-virtual", 8080),
        Flow("prometheus", "lab-virtual", 8081),
        Flow("lab-virtual", "dns", 53, "UDP"),
    }


def test_a_database_and_a_downstream_service_are_needed_where_they_are_on(render: Render) -> None:
    """The same for these."""
    rendered = render("-f", CHART / "ci/reproductions-values.yaml")
    assert len(rendered.variants()) == 7
    flows = needed(rendered, "monitoring")
    assert {flow for flow in flows if flow.target in ("lab-database", "lab-downstream")} == {
        Flow(variant, *target)
        for variant in rendered.variants()
        for target in (("lab-database", 3306), ("lab-downstream", 8080))
    }


@pytest.mark.parametrize(("component", "port"), [("database", 3306), ("downstream", 8080)])
def test_only_variants_of_the_release_reach_what_is_switched_on(render: Render, component: str, port: int) -> None:
    rendered = render("--set", f"{component}.enabled=true")
    companion = f"lab-{component}"

    flows = {
        flow for flow in allowed(rendered, peers(rendered, "monitoring")) if companion in (flow.source, flow.target)
    }

    assert flows == {Flow(variant, companion, port) for variant in ("lab-platform", "lab-virtual")}


def test_without_a_port_a_url_has_that_of_its_scheme(render: Render) -> None:
    rendered = render(
        *("--set", "database.enabled=true,database.url=jdbc:mysql://db/lab,database.existingSecret=db"),
        *("--set", "downstream.enabled=true,downstream.url=http://slow/"),
    )
    flows = set(allowed(rendered, peers(rendered, "monitoring")))

    assert {flow.port for flow in flows if flow.source == "lab-virtual" and flow.target == "world"} == {3306, 80}


def test_prometheus_elsewhere(render: Render) -> None:
    rendered = render(
        "--set",
        "monitoring.namespace=obs,monitoring.prometheusUrl=https://prometheus.obs",
    )
    everyone = peers(rendered, "obs")
    flows = set(allowed(rendered, everyone))

    assert Flow("cronjob lab-cpu", "prometheus", 443) in needed(rendered, "obs") & flows
    assert Flow("prometheus", "lab-virtual", 8081) in flows
    assert not [flow for flow in flows if flow.port == 9090]


OPENSHIFT_DNS = {"dns.operator.openshift.io/daemonset-dns": "default"}


def test_dns_prometheus_and_api_server_elsewhere(render: Render) -> None:
    """As on OpenShift, and where another operator labels Prometheus."""
    rendered = render(
        *("-f", CHART / "ci/runner-values.yaml"),
        *("--set", "networkPolicy.dns.namespace=openshift-dns,networkPolicy.dns.port=5353"),
        *("--set-json", f"networkPolicy.dns.labels={json.dumps({'k8s-app': None, **OPENSHIFT_DNS})}"),
        *("--set-json", 'networkPolicy.prometheusLabels={"app.kubernetes.io/name":null,"app":"prometheus"}'),
        *("--set-json", "networkPolicy.dns.addresses=[]"),
        *("--set-json", "networkPolicy.apiServerPorts=[16443]"),
    )
    dns = Peer("dns", "openshift-dns", OPENSHIFT_DNS)
    prometheus = Peer("prometheus", "monitoring", {"app": "prometheus"})
    node = Peer("DNS of the node", "", {}, "169.254.20.10")
    pods = [Peer(name, NAMESPACE, pod["metadata"]["labels"]) for name, pod in rendered.pods().items()]
    for pod in pods:
        assert permits(rendered, pod, dns, "Egress", (5353, "UDP"))
        assert not permits(rendered, pod, dns, "Egress", (53, "UDP"))
        assert not permits(rendered, pod, node, "Egress", (5353, "UDP"))
        component = pod.labels["app.kubernetes.io/component"]
        assert permits(rendered, pod, prometheus, "Egress", (9090, "TCP")) == (component in ("k6", "runner"))
        assert permits(rendered, pod, Peer("world", "", {}), "Egress", (16443, "TCP")) == (component == "runner")
        assert not permits(rendered, pod, Peer("world", "", {}), "Egress", (6443, "TCP"))


def test_without_policies_there_are_none(render: Render) -> None:
    assert render("--set", "networkPolicy.enabled=false").of("NetworkPolicy") == []
