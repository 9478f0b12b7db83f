"""The second service as the user names it."""

from __future__ import annotations

import pytest

from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import ports
from vtlab.services.companions import downstream


def test_the_users_own_is_taken_as_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VTLAB_DOWNSTREAM_URL", raising=False)
    assert downstream.from_environment() is None
    monkeypatch.setenv("VTLAB_DOWNSTREAM_URL", "http://other.example:8080")
    assert downstream.from_environment() == "http://other.example:8080"


@pytest.mark.parametrize("url", ["other.example:8080", "ftp://h", "http://", "http://h:port", "http://me:secret@h"])
def test_another_url_is_bad_input(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTLAB_DOWNSTREAM_URL", url)
    with pytest.raises(BadInput, match="VTLAB_DOWNSTREAM_URL is not of the form http://HOST:PORT"):
        downstream.from_environment()


def test_one_that_does_not_answer_is_missing() -> None:
    (port,) = ports.free(1)
    with pytest.raises(PrerequisiteMissing, match="does not answer") as error:
        downstream.require(f"http://127.0.0.1:{port}")
    assert "VTLAB_DOWNSTREAM_URL" in error.value.fix
