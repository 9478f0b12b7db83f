"""Versions of Maven artifacts: their order, and ranges of them."""

from __future__ import annotations

import itertools

import pytest

from vtlab.model import maven
from vtlab.model.maven import Version

#: As Maven orders them (``ComparableVersion``), the oldest first.
ORDERED = [
    "1-alpha2", "1.0-beta-1", "1.0-M1", "1.0-rc1", "1.0-SNAPSHOT", "1.0", "1.0-sp1", "1.0-jre", "1.0.1-rc2", "1.0.1",
    "1.2", "1.10", "9.0.0", "42.2.5", "42.2.5.jre7", "42.7.8", "42.7.10",
]  # fmt: skip


def test_versions_have_mavens_order() -> None:
    for older, newer in itertools.combinations(ORDERED, 2):
        assert Version(older) < Version(newer), (older, newer)
        assert not Version(newer) < Version(older), (older, newer)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "1.0.0"), ("1.0.Final", "1.0"), ("1.0-GA", "1"), ("3.2.0.RELEASE", "3.2"), ("2.0-M1", "2.0-milestone1"),
     ("2.0-CR1", "2.0-rc1"), ("25.0.3+8-LTS", "25.0.3")],
)  # fmt: skip
def test_versions_that_are_the_same(one: str, other: str) -> None:
    assert Version(one) == Version(other)
    assert hash(Version(one)) == hash(Version(other))


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("[5.0,7.1)", ["5.0", "5.0.1", "7.0.99"], ["4.9", "5.0-rc1", "7.1", "7.1.0", "8"]),
        ("(5.0,7.1]", ["5.0.1", "7.1.0"], ["5.0", "7.1.1"]),
        ("(,9.0.0)", ["0.1", "8.4.0", "9.0.0-rc1"], ["9.0.0", "9.1"]),
        ("[3.1,)", ["3.1", "99"], ["3.0.9"]),
        ("[42.7.8]", ["42.7.8"], ["42.7.7", "42.7.9"]),
        ("[1.0,1.2), [2.0,2.1)", ["1.1", "2.0.5"], ["0.9", "1.2", "1.9", "2.1"]),
        ("(,33.0.0)", ["32.1.3-jre"], ["33.0.0-jre"]),
    ],
)
def test_a_range_has_what_lies_inside(text: str, inside: list[str], outside: list[str]) -> None:
    versions = maven.parse_range(text)
    assert [version for version in inside if version not in versions] == []
    assert [version for version in outside if version in versions] == []


@pytest.mark.parametrize("text", ["", "1.0", "[1.0", "[,]", "(,)", "[]", "1.0,2.0", "[1.0,2.0)x", "[1,2,3]"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a range of versions"):
        maven.parse_range(text)


def test_ranges_in_words() -> None:
    said = {
        "[21,24)": "from 21 to before 24",
        "(,9.0)": "before 9.0",
        "(,9.0]": "up to 9.0",
        "[3.1,)": "from 3.1 on",
        "(3.1,)": "after 3.1 on",
        "[2.5,2.13]": "2.5 to 2.13",
        "[4.1]": "4.1",
        "[1,2),[3,4)": "from 1 to before 2 or from 3 to before 4",
    }
    assert {text: maven.range_in_words(text) for text in said} == said
