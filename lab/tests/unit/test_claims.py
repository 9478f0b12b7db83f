"""Each claim above unit level has one owner, and each test there names its claim."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from maintain import claims
from maintain.claims import Claim
from vtlab import shipped

PYTHON = '''
import pytest

pytestmark = [pytest.mark.timeout(9)]

def helper(): ...

@pytest.mark.small
@pytest.mark.parametrize("n", [1])
def test_one(n) -> None:
    """It holds.

    And more.
    """

class TestThing:
    def test_two(self) -> None:
        """That | holds for 1.5 s. Not this."""

@pytest.mark.calls
def test_three() -> None: ...
'''
CLUSTER = '''
@pytest.mark.cluster_all
def test_six() -> None:
    """Six."""

def test_seven() -> None:
    """Seven."""
'''
JAVA = """
/**
 * Starts with {@code x},
 * and ends. More.
 *
 * @author unknown
 */
@Tag("context")
@SpringBootTest
class WholeTests {
}
"""
K6 = """
test('a block: counts', async (t) => {
  await t.test('a part of it', () => {});
});
for (const [what] of BAD) {
  test(`bad input: ${what}`, async () => {});
}
test(
  "two users' answers", async () => {});
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for path, text in {
        "lab/tests/truth/test_a.py": PYTHON,
        "lab/tests/contract/test_b.py": 'def test_four() -> None:\n    """Four."""\n',
        "e2e/chart/test_c.py": "def test_five() -> None: ...\n",
        "e2e/on_cluster/test_d.py": CLUSTER,
        "app/src/test/java/WholeTests.java": JAVA,
        "app/src/test/java/SliceTests.java": "class SliceTests {\n}\n",
        "k6/tests/block.test.mjs": K6,
        "k6/tests/backlog.test.mjs": "test('many users', async () => {});\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


def test_claims_are_read_from_the_sources_of_every_language(repository: Path) -> None:
    assert claims.read(repository) == [
        Claim("Four.", "lab/tests/contract/test_b.py::test_four", "contract"),
        Claim("Starts with x, and ends.", "app/src/test/java/WholeTests.java", "contract"),
        Claim("A block: counts.", "k6/tests/block.test.mjs", "contract"),
        Claim("Bad input.", "k6/tests/block.test.mjs", "contract"),
        Claim("Two users' answers.", "k6/tests/block.test.mjs", "contract"),
        Claim("It holds.", "lab/tests/truth/test_a.py::test_one", "truth"),
        Claim("That | holds for 1.5 s.", "lab/tests/truth/test_a.py::TestThing::test_two", "truth-all"),
        Claim("", "lab/tests/truth/test_a.py::test_three", "truth-calls"),
        Claim("Many users.", "k6/tests/backlog.test.mjs", "truth-calls"),
        Claim("Seven.", "e2e/on_cluster/test_d.py::test_seven", "e2e"),
        Claim("Six.", "e2e/on_cluster/test_d.py::test_six", "e2e-all"),
    ]


def test_the_page_has_a_table_for_each_level(repository: Path) -> None:
    text = claims.document(repository)
    assert text.startswith("# Claims of the tests\n")
    assert "\n## make test\n\n| claim | test |\n" in text
    assert "| That \\| holds for 1.5 s. | `lab/tests/truth/test_a.py::TestThing::test_two` |" in text


def test_every_test_above_unit_level_names_its_claim() -> None:
    assert [claim.owner for claim in claims.read(shipped.ROOT) if not claim.text.endswith((".", "!", "?"))] == []


def test_no_claim_has_two_owners() -> None:
    counted = Counter(claim.text.casefold() for claim in claims.read(shipped.ROOT))
    assert [text for text, count in counted.items() if count > 1] == []
