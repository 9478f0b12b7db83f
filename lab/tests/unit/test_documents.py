"""Files in JSON and YAML: what cannot be read is placed, and nothing of the text is repeated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtlab.errors import BadInput
from vtlab.model import documents

SECRET = "hunter2"
#: Forms in which PyYAML and json quote a text, or might.
FORMS = (
    "password: !{} x",
    "password: *{}",
    "password: &{0} a\nother: &{0} b",
    "password: !{}!x y",
    "%TAG !{0}! a\n%TAG !{0}! b\n---\na: b",
    "%YAML {}\n---\na: b",
    "password: [{}",
    "password: {}: x",
    'password: "{}',
    'password: "\\x{}"',
    "password: !!int {}",
    "password: !!bool {}",
    "password: !!float {}",
    "password: !!timestamp {}",
    "password: !!binary é{}",
    "password: {{a: b}} {}",
    "password: |{}\n  x",
    "? [{}]\n: x",
    "<<: {}",
    "@{}",
    "a: b\n{}",
    "--- {}\n--- b",
)


def error_of(text: str, is_yaml: bool) -> str:
    """Returns what an error says of a text; nothing where there is none."""
    try:
        documents.parse(text, "here", is_yaml)
    except BadInput as error:
        return f"{error.message} {error.fix}"
    return ""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_yaml", [True, False])
def test_no_error_repeats_a_value(form: str, is_yaml: bool) -> None:
    with pytest.raises(BadInput) as caught:
        documents.parse(form.format(SECRET), "vtlab.yaml", is_yaml)
    assert SECRET not in str(caught.value) + caught.value.fix
    assert caught.value.message.startswith("vtlab.yaml: not valid ")


@given(before=st.text("!&*%@[]{}:,-?|>'\"#\\ \n\tab", max_size=6), after=st.text("!&*[]{}:,'\"#\\ \nab", max_size=6))
def test_no_text_around_a_value_makes_an_error_repeat_it(before: str, after: str) -> None:
    for is_yaml in (True, False):
        assert SECRET not in error_of(f"password: {before}{SECRET}{after}", is_yaml)


@pytest.mark.parametrize(
    ("text", "is_yaml", "message"),
    [
        ("a: b: c", True, "here: not valid YAML: mapping values are not allowed here at line 1, column 5"),
        ("a: *b", True, "here: not valid YAML at line 1, column 4"),
        ("[" * 100_000, True, "here: too many levels of brackets or indents"),
        ("[" * 100_000, False, "here: too many levels of brackets or indents"),
        ("1" * 5_000, False, "here: not valid JSON: a number with too many digits"),
        ("1" * 5_000, True, "here: not valid YAML"),
    ],
)
def test_what_cannot_be_read_is_bad_input(text: str, is_yaml: bool, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        documents.parse(text, "here", is_yaml)
    assert caught.value.message == message


def test_a_question_mark_within_brackets_is_named() -> None:
    """PyYAML takes no ? in a plain text within [ ], and addresses have it."""
    for text in ("requests: [GET /orders?page=1]", "requests: [GET /orders/{id}]"):
        with pytest.raises(BadInput, match="not valid YAML") as caught:
            documents.parse(text, "vtlab.yaml", is_yaml=True)
        assert "has one of ?,[]{} and stands within [ ]" in caught.value.fix
    assert documents.parse("requests: ['GET /orders?page=1']", "vtlab.yaml", is_yaml=True)
