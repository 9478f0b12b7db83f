"""``docs/reference/metrics.md``, ``alerts.md`` and ``glossary.md``, from the catalogue and the words of the report."""

from __future__ import annotations

from maintain.reference.pages import code, page, sentence, table
from vtlab.catalogue import published, resources
from vtlab.catalogue.metrics import METRICS, Metric
from vtlab.catalogue.resources import RESOURCES
from vtlab.catalogue.rules import ALERTS
from vtlab.report.words.glossary import GLOSSARY

_METRICS = """A metric is a PromQL query. `vtlab` evaluates it over exactly the window of each trial. Recording
rules write most metrics as series, too. A rate is per second, a share is between 0 and 1.

The chart installs the rules as the PrometheusRule `lab-rules`. On one machine `vtlab` starts a Prometheus with
them. The series of a resource have the label `resource`; on Kubernetes every series has the label `namespace`."""
_PUBLISHED = """When a run has ended, `vtlab` writes its decision and outcomes to the Prometheus that has the samples
of the run. All of these have the labels `experiment` and `testid` (the run), on Kubernetes also `namespace`. An
outcome has the label `load` where its criterion belongs to one load, `percentile` for `tail`, and `judgement` unless
there is no outcome. The label `sign` is `≥` or `≤` where the true ratio may be further from 1, and `=` where the two
are the same. Where there is no ratio, or the bottleneck is `unknown`, the value is NaN."""
_RESOURCES = """Each resource can be the bottleneck of a variant. Beside them these names are bottlenecks, too:
`memory`, `database`, `downstream`, a place in the code, and `unknown`."""
_ALERTS = """Prometheus shows the alerts under `/alerts`, all with `severity: warning`. An Alertmanager gets them as
any other alert; `helm/kube-prometheus-stack.values.yaml` has none."""
_GLOSSARY = "The words of a report, of the docs, and of the dashboards."


def metrics_page() -> str:
    """Metrics with the series that record them, what vtlab publishes, and the resources."""
    of_resources = {metric for row in RESOURCES.values() for metric in row_metrics(row.name)}
    rows = [
        (code(metric.name), metric.unit, sentence(metric.help), _series(metric))
        for metric in METRICS.values()
        if metric.name not in of_resources
    ]
    written = [(code(name), sentence(help)) for name, help in published.PUBLISHED.items()]
    limited = [(code(row.name), resources.bottleneck_words(row.name), row.demand) for row in RESOURCES.values()]
    return page(
        "Metrics",
        "lab/vtlab/catalogue",
        _METRICS,
        table(("metric", "unit", "what it is", "recorded as"), rows),
        f"## Published verdicts\n\n{_PUBLISHED}\n\n{table(('series', 'what it is'), written)}",
        f"## Resources\n\n{_RESOURCES}\n\n{table(('resource', 'in a report', 'service demand is'), limited)}",
    )


def row_metrics(resource: str) -> list[str]:
    """Lists the metrics of one resource: they differ by its name alone."""
    return [f"{series}_{resource}" for series in ("utilization", "capacity", "demand")]


def _series(metric: Metric) -> str:
    recorded = ("window", "rule", "sampled") + (("run",) if metric.by_run else ())
    return "<br>".join(code(metric.recorded_as(scope)) for scope in metric.queries if scope in recorded)


def alerts_page() -> str:
    """Renders the page of the alerts, each with its condition and what to do."""
    rows = [
        (code(name), _spoken(row["summary"]), row["for"], _spoken(row["description"])) for name, row in ALERTS.items()
    ]
    return page(
        "Alerts",
        "lab/vtlab/catalogue/alerts.toml",
        _ALERTS,
        table(("alert", "when", "for", "why, and what to do"), rows),
    )


def _spoken(template: str) -> str:
    """Returns the text of an alert for a page, with words in place of its labels."""
    words = {
        "{{ $labels.variant }}": "the variant",
        " in namespace {{ $labels.namespace }}": "",
        "{{ $value | humanizePercentage }}": "too many",
    }
    for label, name in words.items():
        template = template.replace(label, name)
    return sentence(template)


def glossary_page() -> str:
    """Renders the page of the report's words."""
    rows = [(word, text) for word, text in GLOSSARY]
    return page("Glossary", "lab/vtlab/report/words/glossary.py", _GLOSSARY, table(("word", "meaning"), rows))
