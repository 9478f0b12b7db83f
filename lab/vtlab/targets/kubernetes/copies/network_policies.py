"""NetworkPolicies for copies of a service. Pure functions of the API's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.copies.selectors import selects


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
    labels: Mapping[str, str], k6: Mapping[str, str], ports: Sequence[int], agent_port: int, monitoring: str
) -> Json:
    """Returns the spec that admits k6's requests and probes at these ports, and scrapes of the agent from a
    namespace."""
    monitoring_peer = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": monitoring}}}
    return {
        "name": "variants",
        "podSelector": {"matchLabels": dict(labels)},
        "policyTypes": ["Ingress"],
        "ingress": [
            {"from": [{"podSelector": {"matchLabels": dict(k6)}}], "ports": [*map(_tcp, ports)]},
            {"from": [monitoring_peer], "ports": [_tcp(agent_port)]},
        ],
    }


def for_k6(
    labels: Mapping[str, str], k6: Mapping[str, str], ports: Sequence[int], monitoring: str, prometheus: int
) -> Json:
    """Returns the spec that lets k6 out: to these ports of the copies, to DNS, and to Prometheus."""
    monitoring_peer = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": monitoring}}}
    return {
        "name": "k6",
        "podSelector": {"matchLabels": dict(k6)},
        "policyTypes": ["Ingress", "Egress"],
        "egress": [
            {"to": [{"podSelector": {"matchLabels": dict(labels)}}], "ports": [*map(_tcp, ports)]},
            # The pods of OpenShift's DNS listen on the second.
            {"ports": [{"port": port, "protocol": kind} for port in (53, 5353) for kind in ("UDP", "TCP")]},
            {"to": [monitoring_peer], "ports": [_tcp(prometheus)]},
        ],
    }


def restricts(policies: Sequence[Json], pods: Sequence[Mapping[str, str]]) -> bool:
    """Tells whether a policy selects any of these pods, each described by its labels."""
    return any(selects(policy["spec"].get("podSelector"), labels) for policy in policies for labels in pods)


def _tcp(port: int) -> Json:
    return {"port": port, "protocol": "TCP"}
