"""Values that the chart refuses, and what it says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from e2e.chart.rendering import CHART, KUBERNETES, helm

Refusal = Callable[..., str]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("imagee.tag=1", "at '': additional properties 'imagee' not allowed"),
        ("image.tga=1", "at '/image': additional properties 'tga' not allowed"),
        (
            "variants.virtual.envv.A=b",
            "at '/variants/virtual': additional properties 'envv' not allowed",
        ),
        (
            "variants.Bad_Name.env.A=b",
            "at '/variants': additional properties 'Bad_Name' not allowed",
        ),
        (
            "variants.bad-.env.A=b",
            "at '/variants': additional properties 'bad-' not allowed",
        ),
        (
            "settings.NOT-A-NAME=1",
            "at '/settings': additional properties 'NOT-A-NAME' not allowed",
        ),
        ("limits.cpu=null", "at '/limits': missing property 'cpu'"),
        ("limits.memory=null", "at '/limits': missing property 'memory'"),
        ("limits.heap=null", "at '/limits': missing property 'heap'"),
        ("limits=null", "missing property 'limits'"),
        ("k6.limits.cpu=null", "at '/k6/limits': missing property 'cpu'"),
        ("k6.limits.memory=null", "at '/k6/limits': missing property 'memory'"),
        ("k6.limits=null", "at '/k6': missing property 'limits'"),
        ("limits.cpu=0", "/limits/cpu"),
        ("limits.cpu=0m", "/limits/cpu"),
        ("limits.cpu=0.0", "/limits/cpu"),
        ("limits.cpu=-1", "/limits/cpu"),
        ("limits.memory=0Mi", "/limits/memory"),
        ("limits.memory=768", "/limits/memory"),
        ("limits.heap=0m", "/limits/heap"),
        ("requests.cpu=0", "/requests/cpu"),
        ("k6.limits.cpu=0", "/k6/limits/cpu"),
        (
            "jvm.gc=CMS",
            "at '/jvm/gc': value must be one of 'Serial', 'Parallel', 'G1', 'Z', 'Shenandoah'",
        ),
        ("monitoring.interval=500ms", "/monitoring/interval"),
        ("monitoring.prometheusUrl=prometheus:9090", "/monitoring/prometheusUrl"),
        ("monitoring.rules.enable=true", "at '/monitoring/rules': additional properties 'enable' not allowed"),
        ("monitoring.dashboards.lable=x", "at '/monitoring/dashboards': additional properties 'lable' not allowed"),
        ("monitoring.dashboards.label=", "/monitoring/dashboards/label"),
        ("monitoring.dashboards.label=with space", "/monitoring/dashboards/label"),
        ("monitoring.dashboards.labelValue=1", "at '/monitoring/dashboards/labelValue': got number, want string"),
        ("monitoring.dashboards.folder=", "/monitoring/dashboards/folder"),
        ("monitoring.dashboards.namespace=No_Name", "/monitoring/dashboards/namespace"),
        ("monitoring.dashboards=null", "at '/monitoring': missing property 'dashboards'"),
        ("rbac.subjects[0].kind=Robot", "/rbac/subjects/0"),
        ("image.digest=sha256:abc", "/image/digest"),
        ("variants.virtual.image.digest=latest", "/variants/virtual/image/digest"),
        ("imagePullSecrets={registry}", "at '/imagePullSecrets/0': got string, want object"),
        ("tolerations[0].effekt=NoSchedule", "at '/tolerations/0': additional properties 'effekt' not allowed"),
        ("affinity.nodeAfinity.x=1", "at '/affinity': additional properties 'nodeAfinity' not allowed"),
        ("fixedUserIds=12", "at '/fixedUserIds': got number, want boolean"),
        ("podAnnotations.note=1", "at '/podAnnotations/note': got number, want string"),
        ("networkPolicy.apiServerPorts={}", "/networkPolicy/apiServerPorts"),
        ("networkPolicy.dns.addresses={10.0.0.1}", "/networkPolicy/dns/addresses/0"),
        ("networkPolicy.dns.port=0", "/networkPolicy/dns/port"),
        ("variants.virtual.jvmFlags={Xmx1g}", "/variants/virtual/jvmFlags/0"),
        (
            "experiments={blokcing}",
            'experiments: no experiment "blokcing": known are ',
        ),
        (
            "settings.JAVA_TOOL_OPTIONS=-Xmx1g",
            "JAVA_TOOL_OPTIONS is made from limits.heap, jvm.gc and jvmFlags",
        ),
        (
            "variants.virtual.env.JAVA_TOOL_OPTIONS=-Xmx1g",
            "variants.virtual: JAVA_TOOL_OPTIONS is made from",
        ),
        ("database.enabled=true,database.url=jdbc:mysql://db/lab", "set database.existingSecret, too"),
        ("database.url=db:3306", "/database/url"),
        ("database.url=jdbc:mysql://db", "/database/url"),
        ("database.port=3306", "at '/database': additional properties 'port' not allowed"),
        ("database.name=no-name", "/database/name"),
        ("database.image.tag=", "/database/image/tag"),
        ("database.limits=null", "at '/database': missing property 'limits'"),
        ("database.storage.size=0Gi", "/database/storage/size"),
        ("downstream.url=slow:8080", "/downstream/url"),
        ("downstream.url=http://slow:8080/path", "/downstream/url"),
        ("downstream.limits.heap=null", "at '/downstream/limits': missing property 'heap'"),
        ("variants.database.env.A=b", "variants.database: the name is taken"),
        ("variants.downstream.env.A=b", "variants.downstream: the name is taken"),
        (
            "database.enabled=true,settings.SPRING_DATASOURCE_URL=jdbc:mysql://db/lab",
            "SPRING_DATASOURCE_URL is made from database and downstream: set those",
        ),
        (
            "database.enabled=true,variants.virtual.env.SPRING_DATASOURCE_PASSWORD=secret",
            "variants.virtual: SPRING_DATASOURCE_PASSWORD is made from",
        ),
        (
            "downstream.enabled=true,variants.virtual.env.LAB_DOWNSTREAM_URL=http://slow:8080",
            "variants.virtual: LAB_DOWNSTREAM_URL is made from",
        ),
    ],
)
def test_refused_with_the_place_and_the_reason(refusal: Refusal, values: str, message: str) -> None:
    error = refusal("--set", values)

    assert message in error
    assert "nil pointer" not in error


def test_no_variant_at_all(refusal: Refusal) -> None:
    none = "variants.platform=null,variants.virtual=null"
    assert "variants: none is left" in refusal("--set", none)
    values = ("-f", CHART / "ci/runner-own-service-values.yaml", "--set", "experiments={blocking}")
    assert "experiments: blocks by hand need variants" in refusal(*values)
    off = ("-f", CHART / "ci/runner-own-service-values.yaml", "--set", "runner.enabled=false")
    assert "variants: none is left" in refusal(*off)


def test_lint_refuses_the_same() -> None:
    done = helm("lint", CHART, "--kube-version", KUBERNETES, "--set", "image.tga=1")

    assert done.returncode == 1
    assert "additional properties 'tga' not allowed" in done.stdout + done.stderr


def test_a_release_name_that_makes_too_long_names() -> None:
    done = helm("template", "x" * 45, CHART, "--kube-version", KUBERNETES)

    assert done.returncode != 0
    assert "52 are allowed: choose a shorter release name" in done.stderr
