"""The command of a finding is one that can be typed: with the path of the jar, and what was asked of the service."""

from __future__ import annotations

import shlex
from pathlib import Path, PurePath

import pytest

from tests.support import jars
from vtlab.analysis.findings import commands
from vtlab.catalogue import findings
from vtlab.model.draft import Option
from vtlab.planning.shipped_experiments import of_service

THIRD = "vtlab try shop-1.4.jar --variant pool=50"
OTHER = "java -Djarmode=tools -jar shop-1.4.jar extract --destination extracted && vtlab try extracted/shop-1.4.jar"


@pytest.mark.parametrize(
    ("command", "call", "typed"),
    [
        (THIRD, "vtlab try target/shop-1.4.jar 'GET /a'", "vtlab try target/shop-1.4.jar 'GET /a' --variant pool=50"),
        (THIRD, "vtlab try shop.yaml", "vtlab try shop.yaml --variant pool=50"),
        (THIRD, "vtlab run shop.json --cpu 2", "vtlab run shop.json --cpu 2 --variant pool=50"),
        ("vtlab try shop-1.4.jar", "vtlab try target/shop-1.4.jar 'GET /a'", "vtlab try target/shop-1.4.jar 'GET /a'"),
        # It was tried.
        (THIRD, "vtlab try shop.yaml --variant pool=50", "vtlab try shop.yaml --variant pool=50"),
        (THIRD, "vtlab lab reproduce-publication", THIRD),
        (
            OTHER,
            "vtlab try 'my shop/shop-1.4.jar' 'GET /'",
            "java -Djarmode=tools -jar 'my shop/shop-1.4.jar' extract --destination extracted"
            " && vtlab try extracted/shop-1.4.jar 'GET /'",
        ),
        # The file names the jar.
        (OTHER, "vtlab try shop.yaml", OTHER),
    ],
)  # fmt: skip
def test_of_a_run_it_is_the_call_with_the_cure_in_it(command: str, call: str, typed: str) -> None:
    assert commands.cure_in_call(command, "shop-1.4.jar", call) == typed


def test_of_a_jar_it_has_the_path_and_a_request() -> None:
    path = PurePath("my shop/shop-1.4.jar")
    assert commands.cure_for_jar(THIRD, path) == "vtlab try 'my shop/shop-1.4.jar' 'GET /' --variant pool=50"
    assert commands.cure_for_jar(OTHER, path) == (
        "java -Djarmode=tools -jar 'my shop/shop-1.4.jar' extract --destination extracted"
        " && vtlab try extracted/shop-1.4.jar 'GET /'"
    )


@pytest.mark.usefixtures("invented_tools")
@pytest.mark.parametrize("row", [row for row in findings.rows() if "--variant" in row.command], ids=lambda row: row.id)
def test_the_command_of_every_row_adds_a_variant(row: findings.Row, tmp_path: Path) -> None:
    jar = jars.service(tmp_path / "my shop.jar")
    vtlab, command, path, request, option, variant = shlex.split(commands.cure_for_jar(row.command_for(jar.name), jar))
    assert (vtlab, command, path, option) == ("vtlab", "try", str(jar), "--variant")
    given = [Option("REQUEST", "requests", [request]), Option("--variant", "variants", [variant])]
    assert len(of_service(Path(path), given).variants) == 3
