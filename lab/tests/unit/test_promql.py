"""How queries are put together, and what is wrong with one that cannot be."""

from __future__ import annotations

import pytest

from vtlab.catalogue.promql import QueryError, one_line, render

DEFINITIONS = {
    "variant": "namespace, variant",
    "served": "sum by ($variant) (rate(served_total{$server}[$window]))",
    "busy": "sum by ($variant) (busy_seconds{$server})",
    "use": """
        $busy   # seconds
        / ($served > 0)
    """,
    "db-pool": "max($use)",
    "mean": "avg_over_time((${$of: window=2s})[$range:1s])",
    "span": "$window",
    "spanned": "${served: window=$span}",
    "chicken": "$egg + 1",
    "egg": "2 * $chicken",
}
VALUES = {"server": 'variant="a"', "window": "15s", "range": "$__range"}
SERVED = 'sum by (namespace, variant) (rate(served_total{variant="a"}[15s]))'


@pytest.mark.parametrize(
    ("query", "rendered"),
    [
        ("$served", SERVED),
        ("${served}_total", f"{SERVED}_total"),
        ("max(\n  $served,\n  0\n)", f"max({SERVED}, 0)"),
        ("${db-pool}", f'max(sum by (namespace, variant) (busy_seconds{{variant="a"}}) / ({SERVED} > 0))'),
        ("${served: window=2s}", SERVED.replace("15s", "2s")),
        ('${served: window=2s; server=$server,le="+Inf"}', SERVED.replace("15s", "2s").replace('a"', 'a",le="+Inf"')),
        ("${spanned: span=3s}", SERVED.replace("15s", "3s")),
        ("${mean: of=served}", f"avg_over_time(({SERVED.replace('15s', '2s')})[$__range:1s])"),
        ('label_replace(up, "a", "$1", "b", "(.*)")', 'label_replace(up, "a", "$1", "b", "(.*)")'),
    ],
)
def test_references_are_replaced(query: str, rendered: str) -> None:
    assert render(query, DEFINITIONS, VALUES) == rendered


def test_strings_stay_as_they_are() -> None:
    assert one_line('a{b="( #  \\" "}\n# not this\n  + (\n  1 )') == 'a{b="( #  \\" "} + (1)'


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("$srved", "$srved has neither a value nor a definition"),
        ("${mean: of=srved}", "$srved has neither a value nor a definition, in mean"),
        ("$mean", "$of has no value, in mean"),
        ("1 + $chicken", "a cycle: chicken → egg → chicken"),
        ("${served: window}", "$served: 'window' is not of the form placeholder=value"),
    ],
)
def test_what_cannot_be_put_together_is_refused(query: str, error: str) -> None:
    with pytest.raises(QueryError) as refused:
        render(query, DEFINITIONS, VALUES)
    assert str(refused.value) == error


def test_a_placeholder_without_a_value_is_refused() -> None:
    with pytest.raises(QueryError, match=r"^\$window has neither a value nor a definition, in use → served$"):
        render("$use", DEFINITIONS, {"server": ""})
