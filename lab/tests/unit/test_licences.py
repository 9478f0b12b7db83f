"""The licences of the programs in the wheel, with a fake Go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maintain import licences
from maintain.licences import Module
from vtlab.errors import LabError, PrerequisiteMissing

VERSIONS = {
    "k6": "k6: go1.26.8\n\tpath\tgo.k6.io/k6\n\tmod\tgo.k6.io/k6\tv1.8.1\th1:a=\n\tdep\texample.com/B\tv1.0.0\th1:b=\n",
    "prometheus": (
        "prometheus: go1.26.8\n\tmod\tgithub.com/prometheus/prometheus\tv0.315.0\th1:c=\n"
        "\tdep\texample.com/old\tv1.0.0\n\t=>\texample.com/new\tv1.2.0\th1:d=\n\tbuild\t-trimpath=true\n"
    ),
}
TEXTS = {
    "go.k6.io/k6": {"LICENSE.md": "AGPL"},
    "example.com/B": {"license.txt": "MIT", "main.go": "package b"},
    "github.com/prometheus/prometheus": {"LICENSE": "Apache", "NOTICE": "Prometheus's authors"},
    "example.com/new": {"COPYING": "MIT\n"},
    "GOROOT": {"LICENSE": "BSD", "PATENTS": "a grant"},
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose programs contain the modules of TEXTS."""
    for module, files in TEXTS.items():
        (tmp_path / module).mkdir(parents=True)
        for name, text in files.items():
            (tmp_path / module / name).write_text(text, encoding="utf-8")

    def go(*arguments: str) -> str:
        match arguments:
            case ("version", "-m", path):
                return VERSIONS[Path(path).name]
            case ("env", name):
                return f"{ {'GOVERSION': 'go1.26.8', 'GOROOT': tmp_path / 'GOROOT'}[name] }\n"
            case ("mod", "download", "-json", *modules):
                parts = [module.split("@") for module in modules]
                described = [{"Path": path, "Version": version, "Dir": str(tmp_path / path)} for path, version in parts]
                return "\n".join(json.dumps(one, indent=1) for one in described)
        raise AssertionError(arguments)

    monkeypatch.setattr(licences, "_go", go)
    return tmp_path


def test_a_replaced_module_gives_way_to_its_replacement() -> None:
    assert licences.modules_of(VERSIONS["prometheus"]) == [
        Module("github.com/prometheus/prometheus", "v0.315.0"),
        Module("example.com/new", "v1.2.0"),
    ]


def test_the_notice_says_of_each_program_which_licence_it_has_and_where_its_source_is(root: Path) -> None:
    folder = licences.write(root)
    notice = (folder / "NOTICE").read_text(encoding="utf-8")
    assert "k6: licence AGPL-3.0-only, text in LICENSE-k6\n" in notice
    assert "from the Go module go.k6.io/k6 v1.8.1\n  source: https://github.com/grafana/k6/tree/v1.8.1\n" in notice
    assert "source: https://github.com/prometheus/prometheus/tree/v0.315.0\n" in notice
    assert (folder / "LICENSE-k6").read_text(encoding="utf-8") == "AGPL"
    assert (folder / "LICENSE-prometheus").read_text(encoding="utf-8") == "Apache\nPrometheus's authors"


def test_a_text_stands_once_below_all_modules_that_have_it(root: Path) -> None:
    text = (licences.write(root) / "THIRD-PARTY").read_text(encoding="utf-8")
    assert "example.com/B v1.0.0\nexample.com/new v1.2.0\n" + "=" * 80 + "\n\nMIT\n" in text
    assert text.count("MIT") == 1
    assert "Go's standard library go1.26.8" in text
    assert {"AGPL", "Apache", "BSD", "a grant"} <= set(text.splitlines())
    assert "package b" not in text


def test_a_module_without_a_licence_is_named(root: Path) -> None:
    (root / "example.com" / "B" / "license.txt").unlink()
    text = (licences.write(root) / "THIRD-PARTY").read_text(encoding="utf-8")
    assert "example.com/B v1.0.0\n" + "=" * 80 + f"\n\n{licences.NO_FILE}\n" in text


def test_a_missing_go_and_a_failed_one_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PrerequisiteMissing, match="go does not start") as missing:
        licences.write(tmp_path)
    assert missing.value.fix == "install Go 1.21 or newer"
    (tmp_path / "go").write_text("#!/bin/sh\necho no such file >&2\nexit 1\n", encoding="utf-8")
    (tmp_path / "go").chmod(0o755)
    with pytest.raises(LabError, match="go version -m failed: no such file"):
        licences.write(tmp_path)
