"""What a pre-flight shows: requests that fail, variants that differ, a script that asks others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from vtlab.analysis import preflight
from vtlab.errors import BadInput
from vtlab.model.k6_documents import Answer, VariantPreflight
from vtlab.model.records import Counts

BASES = {"platform": "http://127.0.0.1:1", "virtual": "http://127.0.0.1:2"}
NONE = Counts(passed=0, failed=0)


LOG = "see the service's log"


def answer(reason: str | None = None, status: int = 200, shape: Any = None, request: str = "GET /a") -> Answer:
    return Answer(request=request, status=status, reason=reason, shape=shape)


def findings(**changes: Any) -> VariantPreflight:
    values = {"answers": [], "asked": {}, "answered": {}, "error": None, "checks": NONE, "requests": NONE}
    return VariantPreflight.model_validate(values | changes)


def both(platform: Answer, virtual: Answer) -> dict[str, VariantPreflight]:
    return {"platform": findings(answers=[platform]), "virtual": findings(answers=[virtual])}


def own(name: str, count: int = 1) -> dict[str, int]:
    return {BASES[name]: count}


def test_answers_that_are_alike_need_no_words() -> None:
    assert preflight.check_answers(both(answer(shape={"id": "number"}), answer(shape={"id": "number"})), LOG) == []


def test_a_variant_that_answers_differently_is_named() -> None:
    assert preflight.check_answers(both(answer(), answer("status-500", 500)), LOG) == ["virtual answered 500 to GET /a"]
    (remark,) = preflight.check_answers(both(answer(shape={"id": "number"}), answer(shape={"id": "null"})), LOG)
    assert remark == 'the variants answer GET /a differently: {"id": "null"} or {"id": "number"}'


def test_what_a_variant_answers_in_two_ways_is_no_difference_of_the_variants() -> None:
    number, null = answer(shape={"id": "number"}), answer(shape={"id": "null"})
    asked = iter([both(number, null), both(null, number)])
    workload = recorded.experiment().workload
    assert preflight.check(workload, BASES, lambda _: next(asked), LOG).differences == []
    # One error, then none; and one that stays.
    asked = iter([both(number, answer("status-503", 503)), both(number, number)])
    assert preflight.check(workload, BASES, lambda _: next(asked), LOG).differences == []
    asked = iter([both(number, answer("status-500", 500)), both(number, answer("status-500", 500))])
    assert preflight.check(workload, BASES, lambda _: next(asked), LOG).differences == [
        "virtual answered 500 to GET /a"
    ]
    asked = iter([both(number, null), both(number, null)])
    assert len(preflight.check(workload, BASES, lambda _: next(asked), LOG).differences) == 1
    # Alike: nobody asks again.
    asked = iter([both(number, number)])
    assert preflight.check(workload, BASES, lambda _: next(asked), LOG).differences == []


def test_an_iteration_of_a_script_that_fails_once_is_no_difference() -> None:
    calm, thrown = findings(asked=own("virtual")), findings(asked=own("virtual"), error="TypeError")
    first = {"platform": calm, "virtual": thrown}
    assert preflight.stable(first, {"platform": calm, "virtual": calm})["virtual"].error is None
    assert preflight.stable(first, first)["virtual"].error == "TypeError"


@pytest.mark.parametrize(
    ("failed", "message", "fix"),
    [
        (answer("status-404", 404), "GET /a: every variant answered 404", "correct the path"),
        (answer("status-401", 401), "answered 401", "add a login, or a header"),
        (answer("status-302", 302), "answered 302", "use the path that it redirects to"),
        (answer("status-500", 500), "answered 500", "see the service's log"),
        (answer("body"), "answered 200 without the JSON that expect.json requires", "correct expect.json"),
        (answer("login", 200), "answered 200 without the value that login captures", "correct the login"),
        (answer("login", 0), "gave no answer", "correct the login"),
        (answer("timeout", 0), "gave no answer", "see the service's log"),
    ],
)
def test_a_request_that_every_variant_fails_is_refused_with_what_to_do(failed: Answer, message: str, fix: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        preflight.check_answers(both(failed, failed), LOG)
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("asked", "wanted", "origin", "remarks"),
    [
        (["own"], None, "none", []),
        (["own", "https://login.example"], None, "none", ["the script also calls https://login.example"]),
        (
            ["https://shop.example"],
            None,
            "https://shop.example",
            ["the script has the fixed address https://shop.exam"],
        ),
        (
            ["https://shop.example", "https://login.example"],
            "https://shop.example",
            "https://shop.example",
            ["the script has the fixed address https://shop.example", "the script also calls https://login.example"],
        ),
        ([], None, "none", []),
    ],
)
def test_the_origin_that_stands_for_the_variant(
    asked: list[str], wanted: str | None, origin: str, remarks: list[str]
) -> None:
    seen = {name: findings(asked={base if o == "own" else o: 1 for o in asked}) for name, base in BASES.items()}
    chosen, told = preflight.find_origin(seen, BASES, wanted)
    assert chosen == origin
    assert len(told) == len(remarks)
    assert all(text.startswith(start) for text, start in zip(told, remarks, strict=True))


def test_several_fixed_addresses_need_a_name() -> None:
    seen = {name: findings(asked={"https://a.example": 1, "https://b.example": 1}) for name in BASES}
    with pytest.raises(BadInput, match=r"calls https://a.example, https://b.example and never __ENV.BASE_URL"):
        preflight.find_origin(seen, BASES, None)


def test_a_script_that_asks_its_variant_and_no_other_needs_no_words() -> None:
    seen = {name: findings(asked=own(name), answered=own(name)) for name in BASES}
    assert preflight.check_script(seen, BASES) == ([], [])


@pytest.mark.parametrize(
    ("virtual", "message"),
    [
        ({"asked": own("platform"), "answered": own("platform")}, "the script's requests for virtual reach platform"),
        (
            {"asked": own("virtual"), "answered": own("virtual") | own("platform")},
            "requests for virtual reach platform",
        ),
        (
            {"asked": {"https://shop.example": 1}},
            "virtual answered no request of the script, which calls https://shop",
        ),
    ],
)
def test_a_script_that_asks_another_is_refused(virtual: dict[str, Any], message: str) -> None:
    seen = {"platform": findings(asked=own("platform"), answered=own("platform")), "virtual": findings(**virtual)}
    with pytest.raises(BadInput, match=message):
        preflight.check_script(seen, BASES)


def test_what_a_script_throws_is_said_for_one_variant_and_refused_for_all() -> None:
    good, bad = findings(asked=own("platform"), answered=own("platform")), findings(error="Error: no luck")
    remarks, differences = preflight.check_script({"platform": good, "virtual": bad}, BASES)
    assert (remarks, differences) == ([], ["for virtual the script throws: Error: no luck"])
    with pytest.raises(BadInput, match="the script throws: Error: no luck"):
        preflight.check_script({"platform": bad, "virtual": bad}, BASES)


def test_what_was_not_checked_and_checks_that_fail_are_said() -> None:
    failing = {"asked": own("virtual"), "answered": own("virtual"), "checks": Counts(passed=2, failed=1)}
    remarks, differences = preflight.check_script({"platform": findings(), "virtual": findings(**failing)}, BASES)
    assert remarks == ["the script sends nothing by k6/http, so vtlab could not check that it calls the right variant"]
    assert differences == ["1 of the script's 3 checks fail for virtual"]


def test_checks_that_fail_alike_are_no_difference() -> None:
    failing = {name: findings(asked=own(name), answered=own(name), checks=Counts(passed=2, failed=1)) for name in BASES}
    remarks, differences = preflight.check_script(failing, BASES)
    assert remarks == [f"1 of the script's 3 checks fail for {name}" for name in BASES]
    assert differences == []
