"""The dashboards as their program writes them, and the rules for all of their panels."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.dashboards import DOCUMENTS, panels
from vtlab.catalogue import palette
from vtlab.catalogue.resources import RESOURCES
from vtlab.dashboards import felt, frame, style
from vtlab.model import experiment_files
from vtlab.model.draft import Option
from vtlab.planning.shipped_experiments import EXPERIMENTS

VARIABLES = ["datasource", "namespace", "experiment", "run", "variants"]
VARIANTS = ["platform", "virtual", "virtual-jdk21", "reactive", "pool-250", "virtual-pool50", "platform-1000"]

each_dashboard = pytest.mark.parametrize("name", DOCUMENTS)


PANELS = [
    pytest.param(panel, id=f"{name}-{panel['id']}-{panel['title'].replace(' ', '-')}")
    for name in DOCUMENTS
    for panel in panels(name)
]
each_panel = pytest.mark.parametrize("panel", PANELS)


def values_of(anything: Any, key: str) -> Iterator[Any]:
    """Returns each value under this key, however deep."""
    if isinstance(anything, dict):
        for name, value in anything.items():
            if name == key:
                yield value
            yield from values_of(value, key)
    elif isinstance(anything, list):
        for value in anything:
            yield from values_of(value, key)


def overrides(panel: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Returns (kind of matcher, what it matches, properties)."""
    return [
        (
            override["matcher"]["id"],
            override["matcher"]["options"],
            {item["id"]: item.get("value") for item in override["properties"]},
        )
        for override in panel["fieldConfig"].get("overrides", ())
    ]


# --- the files ---------------------------------------------------------------


def test_the_two_dashboards_exist() -> None:
    assert {name: document["uid"] for name, document in DOCUMENTS.items()} == {
        "verdict": "vtlab-verdict",
        "why": "vtlab-why",
    }


# --- each dashboard ----------------------------------------------------------


@each_dashboard
def test_says_that_it_is_generated(name: str) -> None:
    assert frame.GENERATED in DOCUMENTS[name]["description"]


@each_dashboard
def test_no_grafana_ids_are_exported(name: str) -> None:
    """Grafana gives numeric ids and versions itself."""
    document = DOCUMENTS[name]
    assert document.get("id") is None
    assert document.get("version") is None
    assert document["tags"] == [frame.TAG]
    assert document["refresh"] == "30s", "looking must not disturb what is measured on the same cores"
    assert document["time"] == {"from": "now-30m", "to": "now"}


@each_dashboard
def test_ids_are_unique(name: str) -> None:
    ids = [panel["id"] for panel in panels(name)]
    ids += [panel["id"] for panel in DOCUMENTS[name]["panels"] if panel["type"] == "row"]
    assert len(ids) == len(set(ids))
    assert min(ids) > 0


@each_dashboard
def test_panels_do_not_overlap(name: str) -> None:
    """The grid has 24 columns."""
    taken: set[tuple[int, int]] = set()
    for panel in DOCUMENTS[name]["panels"]:
        at = panel["gridPos"]
        assert at.get("x", 0) + at["w"] <= 24
        cells = {(at.get("x", 0) + right, at.get("y", 0) + down) for right in range(at["w"]) for down in range(at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


@each_dashboard
def test_links_keep_time_and_variables(name: str) -> None:
    (link,) = DOCUMENTS[name]["links"]
    assert (link["type"], link["tags"]) == ("dashboards", [frame.TAG])
    assert link["keepTime"]
    assert link["includeVars"]


@each_dashboard
def test_variables_are_the_same(name: str) -> None:
    """A link would lose a variable that the other dashboard lacks."""
    variables = DOCUMENTS[name]["templating"]["list"]
    assert [variable["name"] for variable in variables] == VARIABLES
    assert variables == DOCUMENTS["verdict"]["templating"]["list"]


def test_variables() -> None:
    variables = {variable["name"]: variable for variable in DOCUMENTS["verdict"]["templating"]["list"]}
    assert variables["datasource"]["query"] == "prometheus"
    assert variables["datasource"]["current"]["value"] == "default"
    # Series of a run on this machine have no namespace: only this matches them, too.
    assert variables["namespace"]["allValue"] == variables["experiment"]["allValue"] == ".*"
    assert [name for name, variable in variables.items() if variable.get("multi")] == ["variants"]
    # The newest run: names begin with the time.
    assert variables["run"]["sort"] == 2
    assert not variables["run"].get("includeAll")
    for name in ("namespace", "experiment", "variants"):
        assert variables[name]["current"]["value"] == "$__all"
    for variable in variables.values():
        assert variable.get("refresh", 2) == 2, "a new run must show up"


@each_dashboard
def test_uses_no_variable_that_there_is_not(name: str) -> None:
    text = json.dumps(DOCUMENTS[name])
    used = set(re.findall(r"\$\{?([a-z]\w*)", text))
    assert used <= set(VARIABLES)
    assert set(re.findall(r"\$\{?(__\w+)", text)) <= {"__all", "__range", "__rate_interval"}


@each_dashboard
def test_datasource_is_the_variable_everywhere(name: str) -> None:
    document = DOCUMENTS[name]
    wanted = {"type": "prometheus", "uid": "${datasource}"}
    assert all(source == wanted for source in values_of(document, "datasource"))
    for panel in panels(name):
        for target in panel["targets"]:
            assert target["datasource"] == wanted
    assert [annotation["datasource"] for annotation in document["annotations"]["list"]] == [wanted, wanted]


# --- each panel --------------------------------------------------------------


@each_panel
def test_panel_says_what_it_is(panel: dict[str, Any]) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    assert panel["title"][0].isupper()
    assert re.fullmatch(r"[A-Z0-9].{30,300}\.", panel["description"]), "one line that says what to conclude"
    assert "\n" not in panel["description"]
    assert defaults["unit"]
    assert re.match(r"no (data|verdict) because ", defaults["noValue"])


@each_panel
def test_panel_asks_all_of_its_questions(panel: dict[str, Any]) -> None:
    refs = [target["refId"] for target in panel["targets"]]
    assert refs
    assert len(refs) == len(set(refs))
    for target in panel["targets"]:
        assert bool(target.get("instant")) != bool(target.get("range"))
        assert bool(target.get("instant")) == (panel["type"] != "timeseries")


@each_panel
def test_rates_are_over_the_rate_interval(panel: dict[str, Any]) -> None:
    if panel["type"] != "timeseries":
        return
    for target in panel["targets"]:
        assert re.fullmatch(r"\d+s", target["interval"])
        windows = re.findall(r"\b(?:rate|increase|irate|delta)\(.*?\[(.*?)\]", target["expr"])
        assert set(windows) <= ({"3s"} if is_in_windows(target["expr"]) else {"$__rate_interval"})


def is_in_windows(promql: str) -> bool:
    """Tells whether a query has values in measured windows only, and only of what lies in them."""
    begins = 'k6_trial_window_start{[^}]*phase="(measure|typical)"}\\[1h\\]\\) \\+ 3000 <= 1000 \\* time\\(\\)'
    return bool(
        re.search(rf"and on \(namespace, variant\) max by \(namespace, variant\) \(+last_over_time\({begins}", promql)
    )


@each_dashboard
def test_an_open_line_shows_the_windows_and_not_the_warm_up(name: str) -> None:
    lines = [
        panel
        for panel in DOCUMENTS[name]["panels"]
        # Those of the row with the warm-up: what a block by hand of a few short windows can show.
        if panel["type"] == "timeseries" and not panel["title"].endswith("over time")
    ]
    assert lines
    for panel in lines:
        for target in panel["targets"]:
            is_limit = target["legendFormat"] == "limit"
            # Probes are counted in windows alone. Some are answered later.
            is_probe = "k6_trial_probe_seconds" in target["expr"]
            assert is_limit or is_probe or is_in_windows(target["expr"]), (panel["title"], target["expr"])


@each_dashboard
def test_measured_windows_are_annotations(name: str) -> None:
    full, typical = DOCUMENTS[name]["annotations"]["list"]
    assert 'phase="measure"' in full["expr"]
    assert 'phase="typical"' in typical["expr"]
    for annotation in (full, typical):
        assert annotation["enable"]
        assert "k6_trial_window_start" in annotation["expr"]
        assert "k6_trial_window_end" in annotation["expr"]
        assert "{{variant}}" in annotation["titleFormat"]
        assert annotation["target"]["expr"] == annotation["expr"], "older and newer Grafanas"


def test_lines_with_the_warm_up_are_open() -> None:
    """So that a block by hand shows more than a point or two."""
    shown = {panel["title"] for panel in DOCUMENTS["verdict"]["panels"]}
    assert {"Throughput over time", "CPU per request over time", "JIT compilation over time"} <= shown


@each_panel
def test_an_hour_has_a_point_a_second(panel: dict[str, Any]) -> None:
    """Where points are further apart, the windows of a few seconds are skipped."""
    if panel["type"] == "timeseries":
        assert panel["maxDataPoints"] >= 3600


def test_what_users_feel_has_both_loads_apart() -> None:
    """Full load is solid, typical load is dashed, in each panel of the row, which is the first one."""
    rows = [panel["title"] for panel in DOCUMENTS["why"]["panels"] if panel["type"] == "row"]
    assert rows[0] == felt.TITLE
    shown = [panel for panel in panels("why") if any("typical" in t["legendFormat"] for t in panel["targets"])]
    assert len(shown) == 4
    for panel in shown:
        full, typical = panel["targets"]
        assert 'phase="typical"' in typical["expr"]
        assert 'phase="typical"' not in full["expr"]
        styles = {ref: properties.get("custom.lineStyle") for _, ref, properties in overrides(panel)}
        assert styles[typical["refId"]]["fill"] == "dash"
        assert full["refId"] not in styles


def test_a_row_for_some_services_has_the_name_of_its_resource_and_is_closed() -> None:
    closed = {panel["title"] for panel in DOCUMENTS["why"]["panels"] if panel["type"] == "row" and panel["collapsed"]}
    for resource in ("db-pool", "client-pool", "executor", "connections"):
        assert RESOURCES[resource].title in closed
    tables = [panel for panel in DOCUMENTS["why"]["panels"] if panel["title"].startswith("Resources of")]
    (mappings,) = [
        properties["mappings"] for table in tables for _, name, properties in overrides(table) if name == "resource"
    ]
    titles = {name: mapped["text"] for name, mapped in mappings[0]["options"].items()}
    assert titles == {name: resource.title for name, resource in RESOURCES.items()}
    assert titles["cpu"] == "CPU (cores)"


@each_panel
def test_figures_are_of_the_whole_run(panel: dict[str, Any]) -> None:
    if panel["type"] == "timeseries":
        return
    for target in panel["targets"]:
        assert "$__range" in target["expr"], target["expr"]


@each_panel
def test_colours_are_the_variants(panel: dict[str, Any]) -> None:
    """A variant has the same colour in every panel, and no other series has it."""
    of_series = overrides(panel)
    fixed = {name: properties.get("color", {}).get("fixedColor") for _, name, properties in of_series}
    colours = {name: colour for name, colour in fixed.items() if colour}
    if panel["type"] != "table":
        for variant in VARIANTS:
            matching = [
                colours[name]
                for kind, name, _ in of_series
                if kind == "byRegexp" and name in colours and re.search(name.strip("/"), variant)
            ]
            # The last match counts. (Alerts have their own colour under any name.)
            counts = matching[:-1] if panel["title"] == "Warnings" else matching
            assert counts[-1] == palette.known_colour(variant), variant
    allowed = {value for name, value in vars(style).items() if isinstance(value, str) and value.startswith("#")}
    allowed |= {*style.RESOURCES.values(), *style.STATES.values(), *palette.VARIANTS}
    assert set(re.findall(r"#[0-9A-Fa-f]{6}\b", json.dumps(panel["fieldConfig"]))) <= allowed


def test_a_variant_has_the_same_colour_in_every_dashboard_and_report() -> None:
    assert style.VARIANTS == palette.VARIANTS
    assert palette.colours(["platform", "virtual"]) == [palette.ORANGE, palette.BLUE]
    assert len(set(palette.colours(["virtual-a", "virtual-b", "platform"]))) == 3
    assert palette.colours(["virtual-a", "virtual"])[1] == palette.BLUE
    assert palette.colours(["virtual", "reactive", "virtual-jdk25"])[:2] == [palette.BLUE, palette.PURPLE]
    assert len(set(palette.colours(["virtual", "reactive", "virtual-jdk25"]))) == 3, (
        "another one's colour is not given twice"
    )


@pytest.mark.parametrize("name", experiment_files.names(EXPERIMENTS))
def test_dashboards_know_the_colours_of_every_experiment(name: str) -> None:
    variants = experiment_files.load(name, EXPERIMENTS).variants
    colours = [palette.known_colour(variant) for variant in variants]
    assert None not in colours
    assert len(set(colours)) == len(variants)
    assert palette.colours(variants) == colours


def test_what_with_adds_has_a_colour_of_its_own() -> None:
    more = Option("--variant", "variants", ["platform-1000", "java=21", "java=25", "pool=50"])
    variants = experiment_files.load("blocking", EXPERIMENTS, [more]).variants
    assert len({palette.known_colour(variant) for variant in variants} - {None}) == 6


def test_colours_differ() -> None:
    for names in (style.RESOURCES, style.STATES):
        assert len(set(names.values())) == len(names)
