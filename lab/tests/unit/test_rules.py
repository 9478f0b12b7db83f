"""The recording rules and alerts: fresh, and right by Prometheus's own unit tests (``rules/*.yaml``)."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from vtlab import shipped
from vtlab.catalogue import metrics, resources, rules
from vtlab.host import tools

CASES = Path(__file__).parent / "rules"
FILE = shipped.ROOT / rules.FILE


def promtool(*words: str | Path) -> str:
    tool = tools.find_promtool()
    done = subprocess.run([tool.path, *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_takes_the_rules() -> None:
    count = len(list(rules.recorded())) + len(rules.ALERTS)
    assert f"{count} rules found" in promtool("check", "rules", FILE)


@pytest.mark.parametrize("case", sorted(CASES.glob("*.yaml")), ids=lambda path: path.stem)
def test_rules(case: Path) -> None:
    assert "SUCCESS" in promtool("test", "rules", case)


def test_every_recorded_series_has_its_own_name_and_labels() -> None:
    groups = json.loads(FILE.read_text(encoding="utf-8"))["groups"]
    recorded = [
        (rule["record"], *sorted(rule.get("labels", {}).items()))
        for group in groups
        for rule in group["rules"]
        if "record" in rule
    ]
    assert len(recorded) == len(set(recorded))
    assert all(re.fullmatch(r"vtlab:[a-z0-9_]+:[a-z_]+", name) for name, *_ in recorded)


def test_every_expression_concerns_the_labs_own_series_only() -> None:
    """In a Prometheus that is shared, nothing of another's may be counted."""
    groups = json.loads(FILE.read_text(encoding="utf-8"))["groups"]
    for rule in (rule for group in groups for rule in group["rules"]):
        for name, matchers in re.findall(r"\b([a-z][a-z0-9_:]+)\{([^}]*)\}", rule["expr"]):
            if name.startswith("vtlab:"):
                continue
            if name.startswith("container_"):
                # cAdvisor's have no such label: joined with the lab's pods, or with namespaces where its k6 runs.
                assert re.search(r"on \(namespace(, pod)?\)", rule["expr"]), rule
            else:
                assert "variant" in matchers, (name, rule["expr"])
                assert not name.startswith("k6_") or "testid" in matchers, (name, rule["expr"])


def histogram(count: float, seconds: float, bucket: int) -> str:
    """One native histogram, all of it in the bucket up to 2**bucket seconds."""
    return f"{{{{schema:0 sum:{seconds} count:{count} offset:{bucket} buckets:[{count}]}}}}"


def trial(variant: str, block: int, start: int, rate: int, latency: float, bucket: int) -> list[dict[str, str]]:
    """A window of 10 s in which ``rate`` requests complete per second."""
    labels = f'variant="{variant}",testid="r",experiment="e",block="{block}",trial="1",phase="measure"'
    before = f"_x{start}"
    grows = " ".join(histogram(rate * n, rate * n * latency, bucket) for n in range(1, 11))
    gauges = {"window_start": 1000 * start, "window_end": 1000 * (start + 10), "users": 1000, "think_time": 0}
    return [
        *(
            {"series": f"k6_trial_{name}{{{labels}}}", "values": f"{before} {value} _x200"}
            for name, value in gauges.items()
        ),
        {"series": f"k6_trial_latency_seconds{{{labels}}}", "values": f"{before} _ {grows} _x200"},
    ]


def test_a_runs_figures_are_over_all_its_blocks(tmp_path: Path) -> None:
    """What the dashboards' first screen asks for: two blocks, of which the first alone has a single-user phase."""
    series = [
        one_series
        for variant, of in {"platform": (198, 5.0, 3), "virtual": (990, 1.0, 0)}.items()
        for block, start in ((1, 20), (2, 60))
        for one_series in trial(variant, block, start, *of)
    ]
    for variant, cpu, threads in (("platform", 1e8, 200), ("virtual", 4e8, -1)):
        single = f'variant="{variant}",testid="r",experiment="e",block="1",trial="s1",phase="single"'
        series += [
            {"series": f"k6_trial_latency_seconds{{{single}}}", "values": f"_x5 {histogram(3, 3, 0)} _x200"},
            {"series": f'process_cpu_time_ns_total{{variant="{variant}"}}', "values": f"0+{cpu:.0f}x200"},
            {"series": f'cgroup_cpu_limit_cores{{variant="{variant}"}}', "values": "1x200"},
            {"series": f'tomcat_threads_config_max_threads{{variant="{variant}"}}', "values": f"{threads}x200"},
            # Between the blocks, and afterwards, it has four times the connections: not the limits of this run.
            {
                "series": f'tomcat_connections_config_max_connections{{variant="{variant}"}}',
                "values": "10000x40 40000x10 10000x30 40000x100",
            },
        ]

    def rendered(query: str) -> str:
        variants = 'variant=~"platform|virtual"'
        values = {"server": variants, "client": f'{variants},testid="r"', "range": "100s", "of": "throughput"}
        return metrics.render(query, **values)

    def expect(promql: str, **samples: float) -> dict[str, object]:
        expected = [
            {"labels": "{" + ",".join(part for part in (labels,) if part) + "}", "value": value}
            for labels, value in samples.items()
        ]
        return {"expr": promql, "eval_time": "90s", "exp_samples": expected}

    def of(variant: str, resource: str = "") -> str:
        return f'variant="{variant}"' + (f',resource="{resource}"' if resource else "")

    run = 'testid="r",experiment="e"'
    tests = [
        expect(
            f"round(1000 * ({rendered(resources.run_utilization(['connections', 'cpu']))}))",
            **{
                of("platform", "cpu"): 100,
                of("virtual", "cpu"): 400,
                of("platform", "connections"): 20,
                of("virtual", "connections"): 99,
            },
        ),
        expect(rendered("$run_throughput"), **{f"{run},{of('platform')}": 198, f"{run},{of('virtual')}": 990}),
        expect(rendered("$run_blocks_so_far"), **{run: 2}),
        # Two windows of 10 s: a line begins when the three seconds of its first point lie in the window.
        expect(f"count_over_time(({rendered('$in_windows')})[90s:1s])", **{of("platform"): 16, of("virtual"): 16}),
        expect(
            f"min_over_time((round({rendered('$in_windows')}))[90s:1s])", **{of("platform"): 198, of("virtual"): 990}
        ),
        expect(
            f"round(1e6 * {rendered('$run_cpu_per_request')})",
            **{of("platform"): 505, of("virtual"): 404},
        ),
    ]
    case = {
        "rule_files": [str(FILE)],
        "evaluation_interval": "1s",
        "tests": [{"interval": "1s", "input_series": series, "promql_expr_test": tests}],
    }
    file = tmp_path / "run.json"
    file.write_text(json.dumps(case), encoding="utf-8")
    assert "SUCCESS" in promtool("test", "rules", file)


def test_typical_load_and_probes_are_seen_apart_from_the_trials(tmp_path: Path) -> None:
    """What the dashboards ask of them: latency in windows of typical load alone, the longest probe, and the share of
    those over 1 s."""

    def tagged(phase: str, more: str = "") -> str:
        return f'variant="virtual",testid="r",experiment="e",block="1",trial="{phase[0]}1",phase="{phase}"{more}'

    of_typical, of_trial = tagged("typical"), tagged("measure")
    #: From 10 s to 20 s the trial, with answers of 4 s to 8 s; from 30 s to 40 s typical load, of 0.5 s to 1 s.
    series = [
        {"series": f"k6_trial_window_start{{{of_trial}}}", "values": "_x10 10000 _x200"},
        {"series": f"k6_trial_window_end{{{of_trial}}}", "values": "_x10 20000 _x200"},
        {"series": f"k6_trial_window_start{{{of_typical}}}", "values": "_x30 30000 _x200"},
        {"series": f"k6_trial_window_end{{{of_typical}}}", "values": "_x30 40000 _x200"},
    ]
    for labels, start, bucket in ((of_trial, 10, 3), (of_typical, 30, 0)):
        grows = " ".join(histogram(20 * n, 0, bucket) for n in range(11))
        series.append({"series": f"k6_trial_latency_seconds{{{labels}}}", "values": f"_x{start} {grows} _x200"})
    # Five probes a second from the ramp on: one of 2 s to 4 s, four of up to 1 s.
    probes = "{{schema:0 sum:0 count:5 offset:0 buckets:[4 0 1]}}"
    of_probe = tagged("typical", ',port="other"')
    series.append({"series": f"k6_trial_probe_seconds{{{of_probe}}}", "values": f"_x29 {probes}+{probes}x12"})

    def expect(name: str, at: str, macro: str = "in_typical_windows", **samples: float) -> dict[str, object]:
        selector = 'variant="virtual"'
        query = metrics.render(f"${macro}", server=selector, client=f'{selector},testid="r"', range="100s", of=name)
        expected = [{"labels": '{variant="virtual"}', "value": value} for value in samples.values()]
        return {"expr": f"round(100 * ({query}))", "eval_time": at, "exp_samples": expected}

    tests = [
        expect("latency_typical_p50", "18s"),
        expect("latency_p50", "18s", "in_windows", value=566),
        expect("latency_typical_p50", "38s", value=71),
        expect("latency_typical_p95", "38s", value=97),
        expect("latency_typical_p50", "45s"),
        expect("probe_longest", "38s", value=400),
        expect("probe_slow_ratio", "38s", value=20),
    ]
    case = {
        "rule_files": [str(FILE)],
        "evaluation_interval": "1s",
        "tests": [{"interval": "1s", "input_series": series, "promql_expr_test": tests}],
    }
    file = tmp_path / "typical.json"
    file.write_text(json.dumps(case), encoding="utf-8")
    assert "SUCCESS" in promtool("test", "rules", file)
