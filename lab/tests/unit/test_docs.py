"""README and docs: links, commands, examples and figures."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from maintain import words
from tests.support import picture
from tests.support.cli_call import call
from tests.support.versions import REPOSITORY
from vtlab.commands.app import app
from vtlab.model import documents, experiment_files
from vtlab.model.experiment import Experiment
from vtlab.planning.shipped_experiments import EXPERIMENTS

DOCS = REPOSITORY / "docs"
TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
PAGES = [*(REPOSITORY / name for name in TOP), *sorted(DOCS.rglob("*.md"))]
RECORDED = REPOSITORY / "lab/tests/unit/recorded/petclinic"
GOLDEN = REPOSITORY / "lab/tests/unit/golden"
#: The most lines that these pages have: they are read from beginning to end.
SHORT = {"README.md": 90, "docs/explanation/method.md": 90}


def name(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


def fences(page: Path, language: str) -> list[str]:
    """The code blocks of that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


def prose(page: Path) -> str:
    """The text without its code blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """What a link into the page may name, by the rule of GitHub and of the site."""
    heads = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {re.sub(r"[ -]+", "-", re.sub(r"[^\w\s-]", "", head.lower()).strip()) for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    lost = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            lost.append(target)
        # The site has the docs alone.
        elif DOCS in page.parents and DOCS not in file.parents:
            lost.append(f"{target} is outside docs/")
    assert lost == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=name)
def test_the_commands_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.M))
    for line in "".join(fences(page, "sh")).splitlines():
        for command in line.partition(" #")[0].replace("…", "DIR").split("&&"):
            words = shlex.split(re.sub(r"<[^>]*>|[|>].*", "DIR", command)) if "vtlab " in command else command.split()
            if words[:1] == ["make"]:
                assert {word for word in words[1:] if "=" not in word} <= targets, line
            elif words[:1] in (["vtlab"], [".venv/bin/vtlab"]):
                refuse_unknown(words[1:])


def refuse_unknown(words: list[str]) -> None:
    """Parses the arguments as vtlab does. Raises a usage error for an unknown command or option."""
    command, name = typer.main.get_command(app), "vtlab"
    while isinstance(command, typer.core.TyperGroup):
        name, *words = words
        command = command.commands[name]
    context = command.make_context(name, words)
    for given in context.params.get("experiments", []):
        assert given.endswith(documents.SUFFIXES) or given in experiment_files.names(EXPERIMENTS), given


@pytest.mark.usefixtures("shipped_priors")
def test_the_output_in_the_readme_is_what_vtlab_prints(tmp_path: Path) -> None:
    folder = tmp_path / "recorded"
    folder.mkdir()
    for file in RECORDED.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (block,) = fences(REPOSITORY / "README.md", "text")
    assert call("report", folder).out.strip().startswith(block.strip())
    assert "\nerrors " in block, "the whole of its table"


@pytest.mark.parametrize("page", SHORT)
def test_short_pages_stay_short(page: str) -> None:
    assert len((REPOSITORY / page).read_text(encoding="utf-8").splitlines()) <= SHORT[page]


def test_a_page_by_hand_answers_one_question() -> None:
    read = words.pages(REPOSITORY)
    assert {name(page) for page in PAGES} < {page.path for page in read}
    assert [page for page in read if page.words > words.MOST and not page.is_generated] == []


def test_the_words_of_each_page_are_printed() -> None:
    some = [words.Page("docs/long.md", 1200, False), words.Page("docs/made.md", 80, True)]
    assert words.table(some).splitlines() == [
        " 1,200  docs/long.md",
        "    80  docs/made.md  (generated)",
        " 1,200  by hand",
        "    80  generated",
    ]


def test_every_page_is_on_the_front_page_or_in_a_page_that_is() -> None:
    reached, new = set[Path](), {DOCS / "index.md"}
    while new:
        reached |= new
        links = {(page, link) for page in new for link in re.findall(r"\]\(([^)\s#:]+)", prose(page))}
        targets = {(page.parent / link).resolve() for page, link in links}
        new = {target for target in targets if target.suffix == ".md" and target.is_relative_to(DOCS)} - reached
    assert set(DOCS.rglob("*.md")) - reached == set()


def test_the_figures_of_the_readme_are_measured_ones() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    table = text[text.index("<!-- measured -->") : text.index("<!-- /measured -->")]
    measured = prose(DOCS / "evidence/measured.md")
    changes = re.findall(r"(?:[≥≤] )?[−+]?[\d.]+(?: %|×) \([^)]*\d[^)]*\)", table.partition("|---")[2])
    assert len(changes) >= 7
    assert [change for change in changes if f"| {change} |" not in measured] == []


def test_the_intervals_of_the_explanation_are_measured_ones() -> None:
    intervals = re.findall(
        r"\([−+]?[\d.]+(?: to |–)[−+]?[\d.]+\)", prose(DOCS / "explanation/when-virtual-threads-help.md")
    )
    assert len(intervals) >= 2
    measured = prose(DOCS / "evidence/measured.md")
    assert [interval for interval in intervals if interval not in measured] == []


def vtlab_files(page: Path) -> list[dict[str, Any]]:
    """The files of vtlab in the page, that of the chart's runner among them."""
    written = [yaml.safe_load(block) for block in fences(page, "yaml") if re.search(r"^ *service:", block, re.M)]
    return [document["runner"]["experiment"] if "runner" in document else document for document in written]


def read(document: dict[str, Any], folder: Path) -> Experiment:
    """Reads a file of a page as vtlab does, beside the files that it names."""
    (folder / "load.ts").touch()
    for name in ("owners.csv", "users.csv"):
        (folder / name).write_text("id,name,user,password,order\n1,Ann,ann,secret,17\n", encoding="utf-8")
    file = folder / f"{document.get('name', 'vtlab')}.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return experiment_files.load(str(file), EXPERIMENTS)


@pytest.mark.parametrize("page", [page for page in sorted(DOCS.rglob("*.md")) if vtlab_files(page)], ids=name)
def test_the_files_of_a_page_are_valid(page: Path, tmp_path: Path) -> None:
    for document in vtlab_files(page):
        assert read(document, tmp_path).variants


def test_the_tutorial_runs_its_experiments(tmp_path: Path) -> None:
    *files, own = vtlab_files(DOCS / "tutorial.md")
    assert len(files) == 2
    assert {"data", "login"} <= own.keys(), "the second half has a data file and a login"
    for document in files:
        planned = read(document, tmp_path)
        command = f".venv/bin/vtlab run {planned.name}.yaml "
        assert command in (DOCS / "tutorial.md").read_text(encoding="utf-8")
        assert set(planned.variants) <= {"platform", "platform-1000", "virtual"}


def test_each_step_of_the_tutorial_has_its_time_and_what_you_see() -> None:
    steps = re.findall(
        r"^## \d+\. (.*?)$(.*?)(?=^## |\Z)", (DOCS / "tutorial.md").read_text(encoding="utf-8"), re.M | re.S
    )
    assert len(steps) == 9
    assert [name for name, text in steps if not re.match(r"\n\n\*[A-Z0-9][^*]*\.\*", text)] == []
    assert [name for name, text in steps if "**You see**" not in text] == []


def test_the_tutorial_has_the_outputs_of_a_recorded_run_and_of_a_jar() -> None:
    measured, jar = fences(DOCS / "tutorial.md", "text")
    assert "VERDICT" in measured, "make check-generated compares it with the recorded run"
    assert jar.rstrip("\n") in (GOLDEN / "check-jar.txt").read_text(encoding="utf-8")


def test_the_last_of_five_files_has_every_key_beside_those_of_a_script() -> None:
    files = vtlab_files(DOCS / "how-to/vtlab-yaml.md")
    assert len(files) == 5
    assert len(files[0]) == 2
    keys = {field.alias or key for key, field in Experiment.model_fields.items()}
    assert files[-1].keys() == keys - {"$schema", "k6", "origin"}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_list_has_an_empty_line_before_it(page: Path) -> None:
    """Python-Markdown, which makes the site, takes it for a part of the paragraph otherwise."""
    paragraphs = re.split(r"\n\s*\n", prose(page))
    glued = [p for p in paragraphs if re.search(r"\n(- |1\. )", p) and not re.match(r"\s*(- |\d+\. |<!--|#)", p)]
    assert glued == []


def pictures(page: Path) -> dict[Path, str]:
    """The pictures that the page shows, with their alt texts; that of another theme has the text of the first."""
    text = prose(page)
    found = {target: words for words, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", text)}
    for both in re.findall(r"<picture>.*?</picture>", text, re.S):
        words = "".join(re.findall(r'alt="([^"]*)"', both))
        found |= dict.fromkeys(re.findall(r'src(?:set)?="([^"]*)"', both), words)
    return {(page.parent / target).resolve(): words for target, words in found.items()}


def test_each_picture_is_shown_with_its_words() -> None:
    shown: dict[Path, str] = {}
    for page in PAGES:
        shown |= pictures(page)
    assert set(shown) == {file for file in (DOCS / "images").iterdir() if file.is_file()}
    assert [path.name for path, words in shown.items() if len(words) <= 20] == []


def test_each_picture_has_both_themes() -> None:
    images = DOCS / "images"
    drawn = [
        file for file in images.glob("*.svg") if "prefers-color-scheme:dark" not in file.read_text(encoding="utf-8")
    ]
    photographed = [file for file in images.glob("*.png") if not re.search(r"-dark$", file.stem)]
    assert drawn == []
    assert [file.name for file in photographed if not file.with_stem(f"{file.stem}-dark").is_file()] == []


@pytest.mark.usefixtures("shipped_priors")
def test_the_pictures_show_what_a_report_says_today(tmp_path: Path) -> None:
    """Where they do not: ``make picture``."""
    card = picture.text_of_card(picture.report(tmp_path))
    assert "platform" in card
    drawn = {each.name: picture.text_of_picture(each.path.read_bytes()) for each in picture.PICTURES}
    assert drawn == dict.fromkeys(drawn, card)
