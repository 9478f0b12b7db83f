"""NetworkPolicies for copies of a service. Pure functions of the API's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.copies.selectors import selects

#: The pods of OpenShift's DNS listen on the second.
_TO_DNS: Json = {"ports": [{"port": port, "protocol": kind} for port in (53, 5353) for kind in ("UDP", "TCP")]}


def copied(policies: Sequence[Json], original: Mapping[str, str], labels: Mapping[str, str]) -> list[Json]:
    """Returns specs, each with a unique name, that give pods with ``labels`` the access of the ``original``'s pods.

    These are the policies that select only the original's pods, and, for the pods behind them, the rules that admit
    the original's pods.
    """
    specs = []
    for policy in policies:
        name, spec = policy["metadata"]["name"], policy["spec"]
        if selects(spec.get("podSelector"), original) and not selects(spec.get("podSelector"), labels):
            specs.append({"name": f"of-{name}", **spec, "podSelector": {"matchLabels": dict(labels)}})
        rules = [rule for rule in (_admitting(rule, original, labels) for rule in spec.get("ingress") or []) if rule]
        if rules:
            target = {"podSelector": spec["podSelector"], "policyTypes": ["Ingress"], "ingress": rules}
            specs.append({"name": f"to-{name}", **target})
    return specs


def _admitting(rule: Json, original: Mapping[str, str], labels: Mapping[str, str]) -> Json | None:
    """Returns the rule for pods with ``labels``, where it admits the original's pods by their labels. None where it
    does not, and where it admits both."""
    peers = [peer for peer in rule.get("from") or [] if "podSelector" in peer]
    ours = [
        {**peer, "podSelector": {"matchLabels": dict(labels)}}
        for peer in peers
        if selects(peer["podSelector"], original) and not selects(peer["podSelector"], labels)
    ]
    return {**rule, "from": ours} if ours else None


def for_copies(
    labels: Mapping[str, str], k6: Mapping[str, str], ports: Sequence[int], agent_port: int, prometheus: Json
) -> Json:
    """Returns the spec that admits k6's requests and probes at these ports, and scrapes of the agent by the peer
    ``prometheus``."""
    return {
        "name": "variants",
        "podSelector": {"matchLabels": dict(labels)},
        "policyTypes": ["Ingress"],
        "ingress": [
            {"from": [pods_of(k6)], "ports": [*map(_tcp, ports)]},
            {"from": [prometheus], "ports": [_tcp(agent_port)]},
        ],
    }


def for_k6(
    labels: Mapping[str, str], k6: Mapping[str, str], ports: Sequence[int], prometheus: Json, prometheus_port: int
) -> Json:
    """Returns the spec that lets k6 out: to these ports of the copies, to DNS, and to the peer ``prometheus``."""
    return {
        "name": "k6",
        "podSelector": {"matchLabels": dict(k6)},
        "policyTypes": ["Ingress", "Egress"],
        "egress": [
            {"to": [pods_of(labels)], "ports": [*map(_tcp, ports)]},
            _TO_DNS,
            {"to": [prometheus], "ports": [_tcp(prometheus_port)]},
        ],
    }


def for_prometheus(
    labels: Mapping[str, str], k6: Mapping[str, str], prometheus: Mapping[str, str], agent_port: int, port: int
) -> Json:
    """Returns the spec that admits k6's samples to the run's own Prometheus, and lets that out: to the agents of the
    copies, and to DNS. (A forwarded port comes from inside the pod.)"""
    return {
        "name": "prometheus",
        "podSelector": {"matchLabels": dict(prometheus)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [pods_of(k6)], "ports": [_tcp(port)]}],
        "egress": [{"to": [pods_of(labels)], "ports": [_tcp(agent_port)]}, _TO_DNS],
    }


def pods_of(labels: Mapping[str, str]) -> Json:
    """Returns the peer of the pods of the namespace with these labels."""
    return {"podSelector": {"matchLabels": dict(labels)}}


def namespace_of(name: str) -> Json:
    """Returns the peer of all pods of a namespace."""
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def restricts(policies: Sequence[Json], pods: Sequence[Mapping[str, str]]) -> bool:
    """Tells whether a policy selects any of these pods, each described by its labels."""
    return any(selects(policy["spec"].get("podSelector"), labels) for policy in policies for labels in pods)


def _tcp(port: int) -> Json:
    return {"port": port, "protocol": "TCP"}
