"""The queries of the dashboards, asked of a real Prometheus's parser and engine."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.dashboards import DOCUMENTS, VALUES, panels
from vtlab.catalogue import metrics, published, rules
from vtlab.catalogue.published import PUBLISHED
from vtlab.dashboards import queries as queries_of_runs
from vtlab.dashboards import substitute
from vtlab.host import tools


def test_every_query_parses(tmp_path: Path) -> None:
    queries = {
        f"{name} / {query.panel} / {query.ref}": query.promql
        for name, document in DOCUMENTS.items()
        for query in substitute.expanded(document, VALUES, 1800)
    }
    for name, document in DOCUMENTS.items():
        for annotation in document["annotations"]["list"]:
            queries[f"{name} / {annotation['name']}"] = substitute.filled(annotation["expr"], VALUES)
    rules_of_queries = [
        {"record": "dashboard:query", "expr": promql, "labels": {"of": of}} for of, promql in sorted(queries.items())
    ]
    file = tmp_path / "queries.json"
    file.write_text(json.dumps({"groups": [{"name": "dashboards", "rules": rules_of_queries}]}), encoding="utf-8")

    promtool = tools.find_promtool().path
    done = subprocess.run([promtool, "check", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    assert f"{len(rules_of_queries)} rules found" in done.stdout


def test_a_latency_that_the_verdict_does_not_have_is_not_made_up(tmp_path: Path) -> None:
    """A latency had not settled (NaN), or there were too few requests for a percentile: nothing takes its place."""
    of_run = 'testid="20261121T212016Z-blocking"'
    means, p99s = ("1", "1", "NaN"), ("2", "NaN", "NaN")
    series = [
        {"series": f'vtlab_latency_{of}_seconds{{{of_run},variant="{variant}"}}', "values": value}
        for of, values in (("mean", means), ("p99", p99s))
        for variant, value in zip("abc", values, strict=True)
    ]
    values = {**VALUES, "variants": ["a", "b", "c"]}
    p99, queue = (
        substitute.filled(promql, values, {"__range": "300s", "__rate_interval": "4s"})
        for promql in (queries_of_runs.latency_p99(), queries_of_runs.where_settled("queue_time"))
    )
    expected = {
        f"({p99}) > 0": {'{variant="a"}': 2},
        f"({p99}) == {queries_of_runs.TOO_FEW}": {'{variant="b"}': queries_of_runs.TOO_FEW},
        # Of all three: NaN is not equal to itself.
        f"count({p99})": {"{}": 3},
        f"count(({queue}) != ({queue}))": {"{}": 1},
    }
    assert_queries(tmp_path, series, expected)


def test_what_is_measured_beside_runs_is_not_offered_as_one() -> None:
    """The search of a load has an id that no run can have: a service may be called product-search."""
    variables = {variable["name"]: variable for variable in DOCUMENTS["why"]["templating"]["list"]}
    query = variables["run"]["query"]["query"]
    (hidden,) = re.findall(r'testid!~"([^"]+)"', query)
    assert re.fullmatch(hidden, "20261121T212016Z-shop_search")
    assert re.fullmatch(hidden, "20261121T212016Z-shop_diagnosis")
    assert not re.fullmatch(hidden, "20261121T212016Z-product-search")


def test_a_load_that_is_served_is_no_bound_that_stands_out(tmp_path: Path) -> None:
    """A variant that keeps up reaches its load, and was red in the table beside one that its threads limit."""
    utilizations = {
        ("a", "load"): 0.99,
        ("a", "cpu"): 0.5,
        ("b", "load"): 0.2,
        ("b", "tomcat-threads"): 1.0,
        # At the knee, and an open load of which a part is not served.
        ("c", "load"): 0.92,
        ("c", "cpu"): 0.97,
    }
    limits = {"a": published.KEEPS_UP, "b": "Tomcat threads", "c": "CPU and load"}
    of_run = 'testid="20261121T212016Z-blocking"'
    series = [
        {
            "series": f'vtlab_utilization_ratio{{{of_run},variant="{variant}",resource="{resource}"}}',
            "values": str(value),
        }
        for (variant, resource), value in utilizations.items()
    ]
    series += [
        {"series": f'vtlab_bottleneck_ratio{{{of_run},variant="{name}",bottleneck="{limit}"}}', "values": "1"}
        for name, limit in limits.items()
    ]
    values = {**VALUES, "variants": list("abc")}
    shown = substitute.filled(queries_of_runs.utilization(), values, {"__range": "300s", "__rate_interval": "4s"})
    labels = {key: f'{{variant="{key[0]}", resource="{key[1]}"}}' for key in utilizations}
    served = ("a", "load")
    others = {labels[key]: value for key, value in utilizations.items() if key != served}
    expected = {f"({shown}) > 0": others, f"({shown}) == {queries_of_runs.SERVED}": {labels[served]: -1}}
    assert_queries(tmp_path, series, expected)


def test_probes_that_wait_together_are_seen_when_the_last_answer_comes(tmp_path: Path) -> None:
    """Twenty wait for 13 s behind one computation: one sample, after the window, of which no rate shows anything."""

    def tagged(variant: str, phase: str, trial: int, more: str = "") -> str:
        run = 'testid="20261121T212016Z-blocking",block="1"'
        return f'{run},variant="{variant}",phase="{phase}",trial="{phase[0]}{trial}"{more}'

    def trial(variant: str, phase: str, number: int, ended: int, histogram: str) -> list[dict[str, str]]:
        probes = tagged(variant, phase, number, ',port="same"')
        return [
            {"series": f"k6_trial_window_end{{{tagged(variant, phase, number)}}}", "values": str(1000 * ended)},
            {"series": f"k6_trial_probe_seconds{{{probes}}}", "values": f"{{{{{histogram}}}}}"},
        ]

    hung, quick = "schema:0 sum:260 count:20 offset:4 buckets:[20]", "schema:0 sum:1 count:40 offset:-4 buckets:[40]"
    half = "schema:0 sum:60 count:20 offset:0 buckets:[10 0 10]"
    series = [
        # A minute has passed; the first trial is over, with all of its probes.
        *trial("a", "measure", 1, 44, hung),
        *trial("a", "measure", 2, 50, half),
        *trial("a", "typical", 1, 60, quick),
        *trial("b", "measure", 1, 46, hung),
    ]
    values = {**VALUES, "variants": ["a", "b"]}
    longest, slow = (
        {
            phase: substitute.filled(promql, values, {"__range": "300s", "__rate_interval": "4s"})
            for phase, promql in (
                ("measure", queries_of_runs.of_phase(name, "measure")),
                ("typical", queries_of_runs.of_phase(name, "typical")),
            )
        }
        for name in ("probe_longest", "probe_slow_ratio")
    )
    a, b = '{variant="a"}', '{variant="b"}'
    expected = {
        longest["measure"]: {a: 4, b: 16},
        longest["typical"]: {a: 0.0625},
        slow["measure"]: {a: 0.5, b: 1},
        slow["typical"]: {a: 0},
    }
    assert_queries(tmp_path, series, expected)


def test_the_ratio_of_a_block_by_hand_is_beside_its_first_trial(tmp_path: Path) -> None:
    """A run with a verdict has none here, as its ratio has an interval; nor has one of several blocks, whose first
    trials are of each variant in turn."""
    run = 'testid="20261121T212016Z-blocking",namespace="lab"'

    def trials(block: int, *variants: str) -> list[dict[str, str]]:
        rates = {"virtual": 100, "platform": 25}
        return [
            {
                "series": f'{name}{{{run},block="{block}",phase="measure",variant="{variant}",trial="{trial}"}}',
                "values": str(value),
            }
            for trial, variant in enumerate(variants, 1)
            for name, value in (
                ("k6_trial_window_start", 1000),
                ("k6_trial_window_end", 5000),
                ("k6_trial_throughput", rates[variant]),
            )
        ]

    throughput = metrics.metric("throughput", "run", **queries_of_runs._VALUES)
    of_block = f"max by (namespace, variant) (k6_trial_throughput{{{queries_of_runs.SERVER}}})"
    ratio = queries_of_runs.ratio_by_hand().replace(throughput, of_block)
    promql = substitute.filled(ratio, VALUES, {"__range": "300s", "__rate_interval": "4s"})
    of_lab = 'namespace="lab", variant'
    first = trials(1, "virtual", "platform")
    assert_queries(tmp_path, first, {promql: {f'{{{of_lab}="virtual"}}': 1.0, f'{{{of_lab}="platform"}}': 0.25}})
    assert_queries(tmp_path, [*first, *trials(2, "platform", "virtual")], {promql: {}})
    verdict = {"series": f"vtlab_verdict_blocks{{{run}}}", "values": "2"}
    assert_queries(tmp_path, [*first, verdict], {promql: {}})


def assert_queries(
    folder: Path, series: Sequence[Mapping[str, str]], expected: Mapping[str, Mapping[str, float]]
) -> None:
    """Asserts that Prometheus answers each query so from these series."""
    tests = [
        {
            "expr": promql,
            "eval_time": "1m",
            "exp_samples": [{"labels": labels, "value": value} for labels, value in samples.items()],
        }
        for promql, samples in expected.items()
    ]
    file = folder / "test.json"
    file.write_text(json.dumps({"tests": [{"interval": "1m", "input_series": series, "promql_expr_test": tests}]}))
    promtool = tools.find_promtool().path
    done = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout


def test_requests_in_flight_of_a_latency_that_had_not_settled_are_not_drawn() -> None:
    """A thousand users wait for 200 threads, and 400 requests seemed to be in flight."""
    (client,) = (
        target["expr"]
        for panel in panels("why")
        for target in panel["targets"]
        if panel["title"] == "Requests in flight" and target["legendFormat"] == "{{variant}} client"
    )
    assert "vtlab_latency_mean_seconds" in client
    # The verdict is dated at the run's end.
    assert "@ end()" in client
    assert "k6_trial_rate" in client, "of an open load the growth is the point"


def test_a_limit_is_that_of_the_windows() -> None:
    """A warm-up may have more CPU than the variant's limit: that is not drawn."""
    limits = [
        target["expr"] for panel in panels("why") for target in panel["targets"] if target["legendFormat"] == "limit"
    ]
    assert len(limits) == 2
    for promql in limits:
        assert "@ end()" in promql
        assert "k6_trial_window_start" in promql


def test_outcomes_and_decisions_are_told_in_the_words_of_the_report(tmp_path: Path) -> None:
    """Three variants are no exception. A run that has no verdict says so, and a block by hand, too."""
    decision, outcomes = (
        substitute.filled(target["expr"], VALUES, {"__range": "300s", "__rate_interval": "4s"})
        for title in ("Verdict", "Outcomes")
        for panel in panels("verdict")
        if panel["title"] == title
        for target in panel["targets"]
    )
    of_run = 'testid="20261121T212016Z-blocking"'
    decided = f'{of_run},over="platform",advice="no difference"'
    row = f'{of_run},criterion="capacity",title="capacity",at="20 users",over="platform",outcome="= same"'
    series = [
        {"series": f"vtlab_verdict_blocks{{{of_run}}}", "values": "6"},
        *(
            {"series": f'vtlab_decision_info{{{decided},variant="{name}",headline="No difference"}}', "values": "1"}
            for name in ("virtual", "reactive")
        ),
        *(
            {"series": f'vtlab_outcome_info{{{row},variant="{name}"}}', "values": str(place)}
            for place, name in enumerate(("virtual", "reactive"), 1)
        ),
    ]
    told = f'{of_run}, headline="No difference"'
    shown = 'at="20 users", outcome="= same", over="platform", title="capacity"'
    expected = {
        decision: {f'{{{told}, variant="virtual"}}': 6.0},
        outcomes: {f'{{{shown}, variant="virtual"}}': 1.0},
    }
    assert_queries(tmp_path, series, expected)
    for blocks, text in ((1, "One block: no verdict"), (2, "No verdict yet: vtlab writes it when the run has ended")):
        trials = [
            {
                "series": f'k6_trial_window_start{{{of_run},block="{b}",variant="virtual",phase="measure"}}',
                "values": "1",
            }
            for b in range(blocks)
        ]
        assert_queries(tmp_path, trials, {decision: {f'{{headline="{text}", {of_run}}}': blocks}})


def test_recorded_series_exist() -> None:
    """The rules record each series that a dashboard takes from them."""
    used = set(re.findall(r"vtlab:\w+:\w+", json.dumps(list(DOCUMENTS.values()))))
    recorded = {rule.get("record") for group in json.loads(rules.rules_json())["groups"] for rule in group["rules"]}
    assert used <= recorded


def test_published_series_exist() -> None:
    """vtlab writes each figure of the verdict that a dashboard shows, and a dashboard shows each that vtlab writes."""
    used = set(re.findall(r"\bvtlab_\w+", json.dumps(list(DOCUMENTS.values()))))
    assert used == PUBLISHED.keys()


def test_variables_are_substituted_as_grafana_does() -> None:
    document = {
        "panels": [
            {"type": "stat", "title": "one", "targets": [target('a{run="$run",v=~"$variants"}[$__range]', True)]},
            {
                "type": "row",
                "panels": [
                    {
                        "type": "timeseries",
                        "title": "of $variants",
                        "repeat": "variants",
                        "targets": [target('b{v=~"${variants}"}[$__rate_interval]', False)],
                    }
                ],
            },
        ]
    }
    values: substitute.Values = {"run": "r", "variants": ["x", "y.z"]}
    assert list(substitute.expanded(document, values, 60)) == [
        substitute.Query("one", "A", 'a{run="r",v=~"x|y\\\\.z"}[60s]', True),
        substitute.Query("of x", "A", 'b{v=~"x"}[4s]', False),
        substitute.Query("of y.z", "A", 'b{v=~"y\\\\.z"}[4s]', False),
    ]
    with pytest.raises(KeyError):
        list(substitute.expanded(document, {"run": "r"}, 60))


def target(promql: str, instant: bool) -> dict[str, Any]:
    return {"refId": "A", "expr": promql, "instant": instant, "interval": "1s"}
