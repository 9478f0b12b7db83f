"""The Roles that the chart ships, against the calls that vtlab makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from e2e.chart.rendering import CHART, Json, Rendered
from vtlab.targets.kubernetes.api.rights import (
    COPY_RIGHTS,
    FORWARD_RIGHTS,
    MONITOR_RIGHTS,
    POLICY_RIGHTS,
    RESIZE,
    RIGHTS,
    Right,
)

Render = Callable[..., Rendered]


def granted(role: Json) -> set[str]:
    return {
        f"{verb} {group}/{resource}"
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


SUBJECT = ("--set", "rbac.subjects[0].kind=User,rbac.subjects[0].name=jane")


def test_roles_are_what_a_run_uses(render: Render) -> None:
    rendered = render(*SUBJECT)
    assert len(rendered.of("Role")) == 2
    assert granted(rendered.one("Role", "lab-runner")) == {
        f"{right.verb} {right.resource}" for right in (*RIGHTS, RESIZE)
    }
    assert granted(rendered.one("Role", "lab-runner-lab", "monitoring")) == {
        f"{right.verb} {right.resource}" for right in FORWARD_RIGHTS
    }


def test_nothing_is_bound_and_nothing_is_for_the_whole_cluster(
    default: Rendered,
) -> None:
    for kind in ("RoleBinding", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"):
        assert default.of(kind) == []
    # Nothing in another namespace, where nobody would have it.
    assert default.names("Role") == ["lab-runner"]


def test_bound_to_those_named(render: Render) -> None:
    rendered = render(
        *(
            "--set",
            "rbac.subjects[0].kind=User,rbac.subjects[0].name=runner@example.com",
        ),
        *("--set", "rbac.subjects[1].kind=ServiceAccount,rbac.subjects[1].name=runner"),
        *(
            "--set",
            "rbac.subjects[2].kind=ServiceAccount,rbac.subjects[2].name=ci,rbac.subjects[2].namespace=pipelines",
        ),
    )

    for name, namespace in (("lab-runner", "lab"), ("lab-runner-lab", "monitoring")):
        binding = rendered.one("RoleBinding", name, namespace)
        assert binding["roleRef"] == {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "Role",
            "name": name,
        }
        assert rendered.one("Role", name, namespace)
        assert binding["subjects"] == [
            {
                "kind": "User",
                "name": "runner@example.com",
                "apiGroup": "rbac.authorization.k8s.io",
            },
            {"kind": "ServiceAccount", "name": "runner", "namespace": "lab"},
            {"kind": "ServiceAccount", "name": "ci", "namespace": "pipelines"},
        ]


def test_a_release_in_the_namespace_of_the_monitoring(render: Render) -> None:
    names = render("--set", "monitoring.namespace=lab", *SUBJECT).names("Role")

    assert len(set(names)) == 2


def test_without_monitoring_or_without_roles(render: Render) -> None:
    assert render(*SUBJECT, "--set", "monitoring.enabled=false").names("Role") == ["lab-runner"]
    assert render("--set", "rbac.create=false").names("Role") == []


def test_the_runner_has_the_rights_of_a_run_and_its_own_verdict(render: Render) -> None:
    """Nothing in the namespace of the monitoring: Prometheus is a Service for it."""
    rendered = render("-f", CHART / "ci/runner-values.yaml")
    account = {"kind": "ServiceAccount", "name": "lab-runner", "namespace": "lab"}
    bound = {item["metadata"]["name"]: item for item in rendered.of("RoleBinding")}
    assert bound.keys() == {"lab-runner", "lab-verdict"}
    for name, binding in bound.items():
        assert (binding["roleRef"]["name"], binding["subjects"]) == (name, [account])
    verdict = rendered.one("Role", "lab-verdict")
    assert granted(verdict) == {"patch /configmaps"}
    assert [rule["resourceNames"] for rule in verdict["rules"]] == [["lab-verdict"]]
    assert rendered.one("ConfigMap", "lab-verdict").get("data") is None, "an upgrade keeps what is in it"
    (maker,) = rendered.of("ServiceAccount")
    assert maker["automountServiceAccountToken"] is False
    assert rendered.runner()["spec"]["template"]["spec"]["serviceAccountName"] == "lab-runner"


def test_the_runner_may_measure_copies_of_an_own_service(render: Render) -> None:
    """What copies need beyond a run of the release is for the runner alone, and only where it measures some."""
    rendered = render("-f", CHART / "ci/runner-own-service-values.yaml")
    # It names the Prometheus of the chart's values, which it asks by its Service.
    check_granted(rendered, (*COPY_RIGHTS, *MONITOR_RIGHTS, *POLICY_RIGHTS))
    assert rendered.one("RoleBinding", "lab-copies")["subjects"] == [
        {"kind": "ServiceAccount", "name": "lab-runner", "namespace": "lab"}
    ]
    assert "lab-copies" not in render("-f", CHART / "ci/runner-values.yaml").names("Role")
    # The Prometheus of the run is asked by a forwarded port.
    own = render("-f", CHART / "ci/runner-own-service-values.yaml", "--set", "monitoring.enabled=false")
    check_granted(own, (*COPY_RIGHTS, *FORWARD_RIGHTS, *POLICY_RIGHTS))


def check_granted(rendered: Rendered, rights: Sequence[Right]) -> None:
    """Asserts that the runner has these rights for copies, and no more but those of a run of the release."""
    needed = {f"{right.verb} {right.resource}" for right in rights}
    of_copies = granted(rendered.one("Role", "lab-copies"))
    assert granted(rendered.one("Role", "lab-runner")) | of_copies >= needed
    assert of_copies <= needed


def test_the_runner_and_others_are_bound_alike(render: Render) -> None:
    values = ("-f", CHART / "ci/runner-values.yaml", "-f", CHART / "ci/three-variants-values.yaml")
    subjects = render(*values).one("RoleBinding", "lab-runner")["subjects"]
    assert [subject["name"] for subject in subjects] == ["lab-runner", "runner@example.com", "runner"]
