"""Commands that a reader types first, `make up` and `helm test`, on the cluster of the tests. Runs last: the release
stays."""

from __future__ import annotations

import re

from e2e.on_cluster import lab


def test_make_up_brings_the_release_and_helm_test_passes() -> None:
    """`make up` installs the chart beside what is there, and ends with its notes; `helm test` passes."""
    (target,) = re.findall("^target (.+)$", lab.UP.read_text(encoding="utf-8"), re.M)
    lab.fresh_namespace()
    notes = lab.run(lab.REPOSITORY / "e2e" / "up", target, timeout=1800)
    assert "Variants:    platform, virtual, each under 1 CPU" in notes
    lab.helm_test()
