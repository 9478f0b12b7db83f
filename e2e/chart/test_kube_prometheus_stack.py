"""helm/check-kube-prometheus-stack: against a small chart of the same shape, always, and the real one where it is."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.chart.rendering import CHART, Json, helm_program

VALUES: Json = yaml.safe_load((CHART / "kube-prometheus-stack.values.yaml").read_text())
VERSION = (CHART / "kube-prometheus-stack.version").read_text().strip()
SUBCHARTS = ("grafana", "kube-state-metrics", "prometheus-node-exporter")

#: What the real chart renders of the values that the lab relies on.
TEMPLATE = """
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: monitoring-prometheus}
spec:
  {{- with .Values.prometheus.prometheusSpec }}
  {{- omit . "serviceMonitorSelectorNilUsesHelmValues" "podMonitorSelectorNilUsesHelmValues"
    "ruleSelectorNilUsesHelmValues" "probeSelectorNilUsesHelmValues" "scrapeConfigSelectorNilUsesHelmValues"
    | toYaml | nindent 2 }}
  {{- range $what := list "serviceMonitor" "podMonitor" "rule" "probe" "scrapeConfig" }}
  {{ $what }}NamespaceSelector: {}
  {{- if get $.Values.prometheus.prometheusSpec (printf "%sSelectorNilUsesHelmValues" $what) }}
  {{ $what }}Selector: {matchLabels: {release: monitoring}}
  {{- else }}
  {{ $what }}Selector: {}
  {{- end }}
  {{- end }}
  {{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: monitoring-operator}
spec:
  template:
    spec:
      containers:
        {{- with .Values.prometheusOperator }}
        - name: operator
          args: ["--config-reloader-cpu-request={{ .prometheusConfigReloader.resources.requests.cpu }}"]
          resources: {{ .resources | toJson }}
        {{- end }}
{{- with .Values.grafana }}
---
apiVersion: v1
kind: Service
metadata: {name: monitoring-grafana}
spec: {ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: monitoring-grafana}
spec:
  template:
    spec:
      containers:
        - name: grafana-sc-dashboard
          env:
            {{- with .sidecar.dashboards }}
            - {name: LABEL, value: {{ .label }}}
            - {name: LABEL_VALUE, value: {{ .labelValue | quote }}}
            - {name: NAMESPACE, value: {{ .searchNamespace }}}
            - {name: FOLDER_ANNOTATION, value: {{ .folderAnnotation }}}
            {{- end }}
          resources: {{ .sidecar.resources | toJson }}
        - name: grafana
          {{- with .admin }}
          env:
            - name: GF_SECURITY_ADMIN_USER
              valueFrom: {secretKeyRef: {name: {{ .existingSecret }}, key: {{ .userKey }}}}
            - name: GF_SECURITY_ADMIN_PASSWORD
              valueFrom: {secretKeyRef: {name: {{ .existingSecret }}, key: {{ .passwordKey }}}}
          {{- end }}
          resources: {{ .resources | toJson }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: provider}
data:
  provider.yaml: |
    providers:
      - options: {foldersFromFilesStructure: {{ .sidecar.dashboards.provider.foldersFromFilesStructure }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: sources, labels: {grafana_datasource: "1"}}
data:
  datasource.yaml: |
    datasources:
      - {type: prometheus, uid: prometheus}
      {{- if .sidecar.datasources.alertmanager.enabled }}
      - {type: alertmanager, uid: alertmanager}
      {{- end }}
{{- end }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: kubelet}
spec:
  endpoints:
    - path: /metrics/cadvisor
      interval: {{ .Values.kubelet.serviceMonitor.cAdvisorInterval }}
{{- if .Values.alertmanager.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: Alertmanager
metadata: {name: monitoring-alertmanager}
{{- end }}
"""


@pytest.fixture(scope="module")
def small_chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Knows exactly the values that we set, those of the sub-charts in the sub-charts."""
    chart = tmp_path_factory.mktemp("chart") / "kube-prometheus-stack"
    (chart / "templates").mkdir(parents=True)
    (chart / "templates/all.yaml").write_text(TEMPLATE)
    own = copy.deepcopy(VALUES)
    # In the real chart maps of resources are empty by default.
    own["prometheusOperator"]["resources"] = {}
    dependencies = []
    for name in SUBCHARTS:
        own[name]["resources"] = {}
        subchart = chart / "charts" / name
        subchart.mkdir(parents=True)
        (subchart / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n")
        (subchart / "values.yaml").write_text(yaml.safe_dump({**own.pop(name), "labels": {}}))
        dependencies.append({"name": name, "version": "1.0.0"})
    about = {
        "apiVersion": "v2",
        "name": chart.name,
        "version": VERSION,
        "dependencies": dependencies,
    }
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about))
    (chart / "values.yaml").write_text(yaml.safe_dump(own))
    return chart


def check(chart: Path, values: Path | None = None) -> subprocess.CompletedProcess[str]:
    more = [] if values is None else ["--values", str(values)]
    return subprocess.run(
        [sys.executable, str(CHART / "check-kube-prometheus-stack"), str(chart), *more],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HELM": helm_program()},
    )


def changed(tmp_path: Path, path: str, value: Any, drop: str | None = None) -> Path:
    """Our values with one of them changed."""
    values = copy.deepcopy(VALUES)
    *above, key = path.split("/")
    inner = values
    for each in above:
        inner = inner[each]
    if drop:
        del inner[drop]
    inner[key] = value
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    return file


def failures(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.stderr == ""
    return re.findall(r"^FAILED  (.*)$", done.stdout, re.MULTILINE)


def test_our_values_pass(small_chart: Path) -> None:
    done = check(small_chart)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all as the lab needs it\n")


@pytest.mark.parametrize(
    ("typo", "instead_of"),
    [
        (
            "prometheus/prometheusSpec/enableRemoteWriteReciever",
            "enableRemoteWriteReceiver",
        ),
        ("grafana/sidecar/dashboards/folderAnotation", "folderAnnotation"),
        ("kube-state-metric", "kube-state-metrics"),
        ("prometheusOperator/resources/request", "requests"),
        ("prometheusOperator/resources/requests/cpus", "cpu"),
    ],
)
def test_a_typo_fails(small_chart: Path, tmp_path: Path, typo: str, instead_of: str) -> None:
    done = check(small_chart, changed(tmp_path, typo, "x", drop=instead_of))

    assert done.returncode == 1
    assert failures(done) == [f"{typo.replace('/', '.')}: the chart does not know it"]


def test_a_map_in_the_wrong_place_fails(small_chart: Path, tmp_path: Path) -> None:
    done = check(
        small_chart,
        changed(tmp_path, "prometheus/prometheusSpec/retention", {"days": 7}),
    )
    assert failures(done) == ["prometheus.prometheusSpec.retention: a map, but the chart has '7d' there"]

    done = check(small_chart, changed(tmp_path, "grafana/sidecar", True))
    assert failures(done) == ["grafana.sidecar: True, but the chart has a map there"]


def test_labels_are_free(small_chart: Path, tmp_path: Path) -> None:
    assert check(small_chart, changed(tmp_path, "grafana/labels", {"mine": "yes"})).returncode == 0


@pytest.mark.parametrize(
    ("path", "value", "failure"),
    [
        (
            "prometheus/prometheusSpec/enableRemoteWriteReceiver",
            False,
            "enableRemoteWriteReceiver: False",
        ),
        (
            "prometheus/prometheusSpec/serviceMonitorSelectorNilUsesHelmValues",
            True,
            "serviceMonitorSelector: {'match",
        ),
        (
            "prometheus/prometheusSpec/podMonitorSelectorNilUsesHelmValues",
            True,
            "podMonitorSelector: {'match",
        ),
        (
            "prometheus/prometheusSpec/ruleSelectorNilUsesHelmValues",
            True,
            "ruleSelector: {'match",
        ),
        (
            "prometheus/prometheusSpec/probeSelectorNilUsesHelmValues",
            True,
            "probeSelector: {'match",
        ),
        (
            "prometheus/prometheusSpec/scrapeConfigSelectorNilUsesHelmValues",
            True,
            "scrapeConfigSelector: {'match",
        ),
        ("grafana/admin/existingSecret", "other", "GF_SECURITY_ADMIN_PASSWORD"),
        ("grafana/sidecar/dashboards/label", "other", "dashboards by LABEL: 'other'"),
        (
            "grafana/sidecar/dashboards/folderAnnotation",
            "other",
            "dashboards by FOLDER_ANNOTATION",
        ),
        (
            "grafana/sidecar/dashboards/provider/foldersFromFilesStructure",
            False,
            "foldersFromFilesStructure: [False]",
        ),
        (
            "grafana/sidecar/datasources/alertmanager/enabled",
            True,
            "data sources: [('prometheus', 'prometheus'), (",
        ),
        ("alertmanager/enabled", True, "Alertmanager objects: 1"),
        (
            "grafana/resources/requests/cpu",
            1,
            "CPU request of monitoring-grafana/grafana: 1",
        ),
        (
            "grafana/resources/requests",
            {},
            "CPU request of monitoring-grafana/grafana: None",
        ),
        (
            "prometheusOperator/prometheusConfigReloader/resources/requests/cpu",
            "200m",
            "CPU request of config-reloader",
        ),
    ],
)
def test_what_the_lab_relies_on(small_chart: Path, tmp_path: Path, path: str, value: Any, failure: str) -> None:
    done = check(small_chart, changed(tmp_path, path, value))

    assert done.returncode == 1
    assert any(failure in each for each in failures(done)), done.stdout


def test_a_value_that_the_chart_no_longer_uses(small_chart: Path, tmp_path: Path) -> None:
    """The key is still known, but nothing comes of it: only the rendered objects show that."""
    broken = tmp_path / "kube-prometheus-stack"
    broken.mkdir()
    for name in ("Chart.yaml", "values.yaml", "charts"):
        (broken / name).symlink_to(small_chart / name)
    (broken / "templates").mkdir()
    (broken / "templates/all.yaml").write_text(
        TEMPLATE.replace(".Values.kubelet.serviceMonitor.cAdvisorInterval", "`10s`")
    )

    assert failures(check(broken)) == ["cAdvisor: interval: ['10s'], needed is ['5s']"]


def test_another_version_fails(small_chart: Path, tmp_path: Path) -> None:
    other = tmp_path / "kube-prometheus-stack"
    other.mkdir()
    for name in ("values.yaml", "charts", "templates"):
        (other / name).symlink_to(small_chart / name)
    (other / "Chart.yaml").write_text((small_chart / "Chart.yaml").read_text().replace(VERSION, "1.2.3"))

    assert failures(check(other)) == [f"version of the chart: '1.2.3', needed is '{VERSION}'"]


def test_no_chart_there(tmp_path: Path) -> None:
    done = check(tmp_path)

    assert done.returncode == 2
    assert "no chart there (no Chart.yaml)" in done.stderr


def test_a_sub_chart_is_missing(small_chart: Path, tmp_path: Path) -> None:
    bare = tmp_path / "kube-prometheus-stack"
    bare.mkdir()
    for name in ("Chart.yaml", "values.yaml", "templates"):
        (bare / name).symlink_to(small_chart / name)
    (bare / "charts").mkdir()

    done = check(bare)

    assert done.returncode == 2
    assert "the sub-chart grafana is not in charts/" in done.stderr


REAL = "KUBE_PROMETHEUS_STACK_CHART"


@pytest.fixture
def real_chart() -> Path:
    if REAL not in os.environ:
        pytest.skip(f"kube-prometheus-stack {VERSION} is not at hand: {REAL} names no folder of it")
    return Path(os.environ[REAL]).resolve()


def test_the_real_chart(real_chart: Path, tmp_path: Path) -> None:
    done = check(real_chart)
    assert done.returncode == 0, done.stdout + done.stderr

    typo = "prometheus/prometheusSpec/enableRemoteWriteReciever"
    done = check(real_chart, changed(tmp_path, typo, True))
    assert failures(done) == [f"{typo.replace('/', '.')}: the chart does not know it"]
