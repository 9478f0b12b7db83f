"""Objects that copies of a pod template share with the original, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vtlab.targets.kubernetes.api.types import Json


def lines(template: Json) -> list[str]:
    """Lists the objects that the copies share with the original's pods: these are not copied."""
    spec = template["spec"]
    names: dict[str, dict[str, None]] = {}
    for kind, name in [*_volume_sources(spec), *_environment_sources(spec), *_accounts(spec)]:
        names.setdefault(kind, {})[name] = None
    shared = [f"{kind} {', '.join(objects)}" for kind, objects in names.items()]
    return [
        *shared,
        "systems in its configuration, such as databases, caches and queues: the copies read and write them",
        "schedulers: each copy runs the scheduled tasks, too",
    ]


def dropped(labels: Mapping[str, str]) -> str:
    """Says that copies lack the labels of the original's pods, by which a webhook may select; empty without labels."""
    names = ", ".join(sorted(labels))
    return f"the copies lack the labels {names}: selectors of these labels do not match them" if names else ""


def _volume_sources(spec: Json) -> Iterator[tuple[str, str]]:
    for volume in spec.get("volumes") or []:
        if "persistentVolumeClaim" in volume:
            yield "claim", volume["persistentVolumeClaim"]["claimName"]
        if "hostPath" in volume:
            yield "path of the node", volume["hostPath"]["path"]
        if "nfs" in volume:
            yield "path of a file server", f"{volume['nfs']['server']}:{volume['nfs']['path']}"
        for source in [volume, *(volume.get("projected", {}).get("sources") or [])]:
            if "secret" in source:
                yield "Secret", source["secret"].get("secretName") or source["secret"]["name"]
            if "configMap" in source:
                yield "ConfigMap", source["configMap"]["name"]


def _environment_sources(spec: Json) -> Iterator[tuple[str, str]]:
    for container in [*(spec.get("initContainers") or []), *spec["containers"]]:
        sources = [variable.get("valueFrom") or {} for variable in container.get("env") or []]
        for source in [*sources, *(container.get("envFrom") or [])]:
            for key, kind in (("secretKeyRef", "Secret"), ("secretRef", "Secret")):
                if key in source:
                    yield kind, source[key]["name"]
            for key in ("configMapKeyRef", "configMapRef"):
                if key in source:
                    yield "ConfigMap", source[key]["name"]


def _accounts(spec: Json) -> Iterator[tuple[str, str]]:
    if name := spec.get("serviceAccountName"):
        yield "service account", name
