"""Selectors, NetworkPolicies for copies, and what copies share."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.test_kubernetes_manifests import DEPLOYMENT
from vtlab.targets.kubernetes.copies import network_policies, shared_objects
from vtlab.targets.kubernetes.copies.selectors import selecting, selects

Json = dict[str, Any]

SHOP = {"app": "shop", "tier": "web"}
COPY = {"app.kubernetes.io/managed-by": "vtlab", "app.kubernetes.io/instance": "vtlab-shop-a1b2"}
K6 = {**COPY, "app.kubernetes.io/component": "k6"}
PROMETHEUS = {**COPY, "app.kubernetes.io/component": "prometheus"}
MONITORING = network_policies.namespace_of("monitoring")


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "shop"}}, True),
        ({"matchLabels": {"app": "shop", "tier": "db"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["cart", "shop"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["shop"]}]}, False),
        ({"matchExpressions": [{"key": "other", "operator": "NotIn", "values": ["shop"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": {"app": "shop"}, "matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_a_selector_selects_as_the_api_says(selector: Json | None, selected: bool) -> None:
    assert selects(selector, SHOP) == selected


def named(name: str, **spec: Any) -> Json:
    return {"metadata": {"name": name}, "spec": spec}


def test_what_selects_a_pod_is_named() -> None:
    objects = {
        "Service": [named("all", selector={}), named("external"), named("shop", selector={"app": "shop"})],
        "PodDisruptionBudget": [named("everything", selector={}), named("none")],
    }
    assert selecting(objects, SHOP) == ["Service shop", "PodDisruptionBudget everything"]
    assert selecting(objects, COPY) == ["PodDisruptionBudget everything"], "a Service without labels selects nothing"


def policies() -> list[Json]:
    of_shop = {"podSelector": {"matchLabels": {"app": "shop"}}}
    admitted = {"from": [of_shop, {"podSelector": {"matchLabels": {"app": "cart"}}}], "ports": [{"port": 3306}]}
    return [
        named("deny", podSelector={}, policyTypes=["Ingress", "Egress"]),
        named("shop", **of_shop, policyTypes=["Egress"], egress=[{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]),
        named("database", podSelector={"matchLabels": {"app": "db"}}, policyTypes=["Ingress"], ingress=[admitted]),
        named("cart", podSelector={"matchLabels": {"app": "cart"}}, ingress=[{}]),
    ]


def test_policies_of_the_original_hold_for_the_copies_and_admit_them() -> None:
    shop, database = network_policies.copied(policies(), SHOP, COPY)
    assert shop["name"] == "of-shop"
    assert shop["podSelector"] == {"matchLabels": COPY}
    assert shop["egress"] == policies()[1]["spec"]["egress"]
    assert database["name"] == "to-database"
    assert database["podSelector"] == {"matchLabels": {"app": "db"}}
    (rule,) = database["ingress"]
    assert rule == {"from": [{"podSelector": {"matchLabels": COPY}}], "ports": [{"port": 3306}]}


def test_no_two_policies_for_copies_have_one_name() -> None:
    of_shop = {"podSelector": {"matchLabels": {"app": "shop"}}}
    theirs = [
        *(named(name, **of_shop, policyTypes=["Egress"]) for name in ("a", "to-a", "k6", "variants", "prometheus")),
        named("a", podSelector={"matchLabels": {"app": "db"}}, ingress=[{"from": [of_shop]}]),
    ]
    specs = [
        *network_policies.copied(theirs, SHOP, COPY),
        network_policies.for_copies(COPY, K6, [8081], 9404, MONITORING),
        network_policies.for_k6(COPY, K6, [8081], MONITORING, 9090),
        network_policies.for_prometheus(COPY, K6, PROMETHEUS, 9404, 9090),
    ]
    names = [spec["name"] for spec in specs]
    assert len(names) == 9
    assert len(set(names)) == 9


def test_k6_and_prometheus_reach_the_copies_where_policies_restrict() -> None:
    assert network_policies.restricts(policies(), [COPY])
    assert not network_policies.restricts(policies()[1:], [COPY, K6])
    admitting = network_policies.for_copies(COPY, K6, [8081, 8082], 9404, MONITORING)
    from_k6, from_monitoring = admitting["ingress"]
    asked = [{"port": port, "protocol": "TCP"} for port in (8081, 8082)]
    assert from_k6 == {"from": [{"podSelector": {"matchLabels": K6}}], "ports": asked}
    namespace = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    assert from_monitoring == {"from": [namespace], "ports": [{"port": 9404, "protocol": "TCP"}]}
    out = network_policies.for_k6(COPY, K6, [8081, 8082], MONITORING, 9090)
    assert out["podSelector"] == {"matchLabels": K6}
    assert out["egress"][0]["ports"] == asked
    assert [rule["ports"][0]["port"] for rule in out["egress"]] == [8081, 53, 9090]


def test_the_runs_own_prometheus_is_reached_by_k6_alone_and_reaches_the_copies_alone() -> None:
    spec = network_policies.for_prometheus(COPY, K6, PROMETHEUS, 9404, 9090)
    assert spec["podSelector"] == {"matchLabels": PROMETHEUS}
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    tcp = {"protocol": "TCP"}
    assert spec["ingress"] == [{"from": [{"podSelector": {"matchLabels": K6}}], "ports": [{"port": 9090, **tcp}]}]
    to_copies, to_dns = spec["egress"]
    assert to_copies == {"to": [{"podSelector": {"matchLabels": COPY}}], "ports": [{"port": 9404, **tcp}]}
    assert {port["port"] for port in to_dns["ports"]} == {53, 5353}


def test_what_copies_share_is_listed_once() -> None:
    template: Json = {
        "spec": {
            **DEPLOYMENT["spec"]["template"]["spec"],
            "volumes": [
                {"name": "a", "persistentVolumeClaim": {"claimName": "images"}},
                {"name": "b", "secret": {"secretName": "shop-db"}},
                {"name": "c", "configMap": {"name": "shop"}},
                {"name": "d", "projected": {"sources": [{"secret": {"name": "tls"}}, {"configMap": {"name": "ca"}}]}},
                {"name": "e", "hostPath": {"path": "/var/data"}},
                {"name": "f", "nfs": {"server": "files", "path": "/images"}},
            ],
        }
    }
    secrets = [{"configMapRef": {"name": "shop"}}, {"secretRef": {"name": "keys"}}]
    template["spec"]["containers"] = [*template["spec"]["containers"], {"name": "w", "envFrom": secrets}]
    assert shared_objects.lines(template)[:6] == [
        "claim images",
        "Secret shop-db, tls, keys",
        "ConfigMap shop, ca",
        "path of the node /var/data",
        "path of a file server files:/images",
        "service account shop",
    ]
    assert "queues" in " ".join(shared_objects.lines({"spec": {"containers": []}}))
    assert "schedulers" in " ".join(shared_objects.lines({"spec": {"containers": []}}))


def test_labels_that_copies_lack_are_said() -> None:
    assert "the copies lack the labels app, tier" in shared_objects.dropped(SHOP)
    assert shared_objects.dropped({}) == ""
