"""The published comparisons: which there are, and the table of theirs and ours."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.support import recorded
from tests.support.cli_call import call
from tests.unit.test_store import stored
from vtlab.commands.reproduce_publication import reproduce_publication
from vtlab.errors import BadInput, InvalidRun
from vtlab.model import experiment_files, units
from vtlab.model import publication as publications
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.manifest import RunFacts
from vtlab.model.publication import Publication
from vtlab.model.verdict import Bottleneck
from vtlab.planning import planned_runs
from vtlab.planning.shipped_experiments import EXPERIMENTS, resolve
from vtlab.report.pages import html, reproductions
from vtlab.report.parts.reproduced_variants import ReproducedVariant, reproduced_variants
from vtlab.runs import facts, store
from vtlab.runs.report import write_files
from vtlab.runs.reproduce import experiments_by_publication, experiments_of, publication_numbers

EVERY = resolve(experiment_files.names(EXPERIMENTS))
PUBLICATION = {
    "number": "009",
    "title": "A wait",
    "setting": "as on a laptop",
    "figures": {"virtual": {"text": "1.25 ms each", "throughput": 800}},
    "explanation": "Threads.",
}


def published(**changes: object) -> Publication:
    return Publication.model_validate({**PUBLICATION, **changes})


def test_the_six_publications_are_there() -> None:
    publications = {number: [e.name for e in of] for number, of in experiments_by_publication().items()}
    assert publications == {
        "000": ["blocking-5s"],
        "001": ["fan-out", "fan-out-hashes"],
        "002": ["db-no-sleep", "db-pool", "db-slow-query"],
        "003": ["locked-out", "one-thread", "pinning", "reactive"],
        "004": ["run-cpu", "run-io"],
        "006": ["compute-13s"],
    }


def test_every_publication_fits_its_experiment() -> None:
    for name, publication in publications.load().items():
        planned = experiment_files.load(name, EXPERIMENTS)
        assert publication.figures.keys() <= set(planned.variants)
        assert publication.in_published_size(planned).name == name, "valid in the published size, too"


def test_a_publication_belongs_to_the_variants_of_its_experiment() -> None:
    known = publications.load()
    of_two = experiment_files.load("blocking-5s", EXPERIMENTS)
    assert publications.reproduced_by(of_two, known) == known["blocking-5s"]
    assert publications.reproduced_by(planned_runs.identical(of_two, "virtual"), known) is None
    assert publications.reproduced_by(recorded.experiment(), known) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": "waits", "experiments": {"x": {"titel": "t"}}}', "title: missing"),
        ('{"name": "waits", "experiment": {}}', "experiments: missing"),
        ("{", "Invalid JSON"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "009.json").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=rf"009\.json: .*{message}"):
        publications.load(tmp_path)


def test_they_are_chosen_by_number_and_in_published_sizes() -> None:
    short = experiments_of(["002"], as_published=False)
    assert [e.name for e in short] == ["db-no-sleep", "db-pool", "db-slow-query"]
    assert len(experiments_of([], as_published=False)) == 13
    large = {e.name: e for e in experiments_of(["002", "000"], as_published=True)}
    assert [large[name].load.users for name in ("db-no-sleep", "db-slow-query")] == [2000, 250]
    assert large["blocking-5s"].windows.measure == "100s"
    assert large["db-slow-query"].requests == next(e for e in short if e.name == "db-slow-query").requests


def test_a_publication_goes_by_its_name_or_its_number() -> None:
    assert publication_numbers(["mysql-slow-query", "000"]) == ["002", "000"]
    assert list(publications.numbers().values()) == list(experiments_by_publication())
    with pytest.raises(BadInput, match="unknown publication '7'") as refused:
        publication_numbers(["7"])
    assert "mysql-slow-query (002)" in refused.value.fix


@pytest.mark.parametrize("publication", EVERY, ids=lambda publication: publication.name)
def test_each_is_reported_also_by_pairs_of_its_variants(publication: Experiment, tmp_path: Path) -> None:
    run = recorded.run(blocks=3)
    for number in range(2, len(publication.variants)):
        run = recorded.with_variant(run, f"virtual-{number}")
    names = dict(zip(run.experiment.variants, publication.variants, strict=True))
    analysis = recorded.analysed(recorded.renamed(run, names, publication))
    write_files(tmp_path, [analysis])
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [variant for variant in publication.variants if variant not in text] == []


@pytest.mark.parametrize("as_published", [False, True])
def test_time_outs_are_at_least_twice_the_response_that_the_laws_expect(as_published: bool) -> None:
    for publication in experiments_of([], as_published):
        for variant, rate in publication.expected.items():
            assert isinstance(publication.load, ClosedLoad)
            expected = publication.load.users / rate
            assert units.seconds(publication.max_response) >= 2 * expected, (publication.name, variant)


def test_rows_are_ordered_by_publication() -> None:
    later = recorded.run(experiment=recorded.experiment(name="blocking"), publication=published(), blocks=2)
    earlier = recorded.run(
        experiment=recorded.experiment(name="waiting"), publication=published(number="001"), blocks=2
    )
    rows = reproduced_variants([recorded.analysed(run) for run in (later, earlier)])
    assert [row.experiment for row in rows] == ["waiting", "waiting", "blocking", "blocking"]
    assert [row.variant for row in rows[:2]] == ["platform", "virtual"]


def test_a_row_has_theirs_the_law_and_ours() -> None:
    a = recorded.analysed(recorded.run(publication=published(), blocks=3))
    platform, virtual = reproduced_variants([a])
    assert (platform.published, virtual.published, virtual.published_throughput) == (None, "1.25 ms each", 800)
    assert (platform.expected, virtual.expected) == (50, 100)
    assert (platform.bottleneck, virtual.bottleneck) == ("tomcat-threads", "load"), "the analysis says so"
    assert (platform.n, virtual.n) == (3, 3)
    for row, variant in ((platform, "platform"), (virtual, "virtual")):
        means = []
        for block in a.accepted:
            first, second = [t.throughput for t in block.trials if t.variant == variant]
            means.append((first + second) / 2)
        assert row.throughput == pytest.approx(math.exp(sum(map(math.log, means)) / 3))
        assert row.low is not None
        assert row.high is not None
        assert row.low < row.throughput < row.high


def test_where_the_experiment_expects_nothing_the_bound_stands_there() -> None:
    (platform, _) = reproduced_variants(
        [recorded.analysed(recorded.run(experiment=recorded.experiment(expected=None), publication=published()))]
    )
    assert platform.expected == pytest.approx(50, rel=0.01)


def test_requests_of_another_size_stand_beside_no_published_figure() -> None:
    request = {"path": "/thread", "query": {"duration": "9s"}}
    other = published(sizes={"requests": [request]})
    (_, virtual) = reproduced_variants([recorded.analysed(recorded.run(publication=other))])
    assert (virtual.published, virtual.published_throughput) == ("1.25 ms each (other size)", None)
    assert 'class="published"' not in html.render([recorded.analysed(recorded.run(publication=other, blocks=1))])
    ours = recorded.experiment()
    unhurried = published(sizes={"load": {"full": {"users": 9, "think_time": "1s"}}})
    assert not unhurried.is_published_size(ours)
    assert published(sizes={"load": {"full": {"users": 9}}}).is_published_size(ours)
    same = ours.model_copy(update={"requests": other.in_published_size(ours).requests})
    (_, virtual) = reproduced_variants([recorded.analysed(recorded.run(experiment=same, publication=other))])
    assert virtual.published_throughput == 800


def test_the_bound_of_a_single_user_is_not_expected() -> None:
    alone = {"full": {"users": 1, "think_time": "0s"}}
    a = recorded.analysed(recorded.run(experiment=recorded.experiment(expected=None), publication=published()))
    held = a.verdict.variants["virtual"]
    held.bottleneck = held.bottleneck.model_copy(update={"resource": "load", "bound": 17.0})
    assert reproduced_variants([a])[1].expected == 17
    lone = Experiment.model_validate(a.run.experiment.document() | {"load": alone})
    assert reproduced_variants([replace(a, run=replace(a.run, experiment=lone))])[1].expected is None


@pytest.mark.parametrize("resource", ["cpu", "carriers"])
def test_a_bound_that_comes_from_the_measurement_is_not_expected(resource: str) -> None:
    a = recorded.analysed(recorded.run(experiment=recorded.experiment(expected=None), publication=published()))
    held = a.verdict.variants["platform"]
    held.bottleneck = held.bottleneck.model_copy(update={"resource": resource})
    assert reproduced_variants([a])[0].expected is None


def test_one_block_gives_no_interval_and_none_no_figure() -> None:
    row = reproduced_variants([recorded.analysed(recorded.run(publication=published(), blocks=1))])[0]
    assert (row.n, row.low, row.high) == (1, None, None)
    nothing = reproduced_variants(
        [recorded.analysed(recorded.run(publication=published(), blocks=1, rejected={1: "steal"}, planned=2))]
    )
    assert len(nothing) == 2, "a row all the same"


def test_blocks_with_equal_counts_have_an_interval_all_the_same() -> None:
    run = recorded.run(publication=published(), blocks=3)
    for trial in (t for b in run.blocks for t in b.trials):
        trial.throughput, trial.ok = 39.7, 397
    row = reproduced_variants([recorded.analysed(run)])[0]
    # Two windows of 397 answers a block: sqrt(2)/(2 x 794) = 0.0890533 %; t(2) = 4.302653 over sqrt(3).
    half = math.exp(4.302653 * 0.000890533 / math.sqrt(3))
    assert (row.low, row.high) == (pytest.approx(39.7 / half), pytest.approx(39.7 * half))


def test_what_publishes_nothing_has_no_row() -> None:
    assert reproduced_variants([recorded.analysed(recorded.run(blocks=1))]) == []


def test_the_table_as_text_markdown_and_json() -> None:
    rows = reproduced_variants([recorded.analysed(recorded.run(publication=published(), blocks=3))])
    written = io.StringIO()
    Console(width=200, file=written).print(reproductions.terminal_tables(rows))
    text = written.getvalue()
    assert "009 threads" in text
    assert text.count("tomcat-threads") == 1
    assert "Threads." in text
    markdown = reproductions.markdown(rows)
    assert "### 009: A wait (`threads`)" in markdown
    assert "| virtual | 1.25 ms each | 100/s |" in markdown
    assert markdown.count("Threads.") == 1
    written_rows = json.loads(reproductions.json_document(rows))
    assert [ReproducedVariant(**row) for row in written_rows["rows"]] == rows


def test_a_row_names_all_that_limit_together_and_no_share_above_100_percent() -> None:
    a = recorded.changed(
        recorded.analysed(recorded.run(publication=published(), blocks=3)),
        platform={"bottleneck": Bottleneck(resource="cpu", utilisation=0.93, bound=215.0, together=["load"])},
        virtual={"bottleneck": Bottleneck(resource="load", utilisation=1.051, bound=950.0)},
    )
    markdown = reproductions.markdown(reproduced_variants([a]))
    assert "| cpu and load (93.0 %) |" in markdown
    assert "| load (at its limit) |" in markdown


def test_an_interval_has_a_width() -> None:
    (row, _) = reproduced_variants([recorded.analysed(recorded.run(publication=published(), blocks=3))])
    narrow = replace(row, low=199.91, high=199.94)
    markdown = reproductions.markdown([narrow])
    assert "| 199.91/s to 199.94/s |" in markdown


def test_the_report_marks_what_was_published() -> None:
    page = html.render([recorded.analysed(recorded.run(publication=published(), blocks=1))])
    assert "virtual, published: 800/s" in page
    assert page.count('class="published"') == 1
    assert 'class="published"' not in html.render([recorded.analysed(recorded.run(blocks=1))])


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    run = recorded.run(publication=published(number="001"), blocks=1)
    return stored(tmp_path / "run", run)


@pytest.mark.usefixtures("invented_tools")
@pytest.mark.parametrize(
    ("quick", "against_law", "against_variant"), [(False, (2, None), (12, 0.1)), (True, (1, None), (1, None))]
)
def test_figures_that_are_held_against_a_law_have_two_blocks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    quick: bool,
    against_law: tuple[int, float | None],
    against_variant: tuple[int, float | None],
) -> None:
    monkeypatch.setattr("vtlab.runs.reproduce.measure_and_report", lambda *_: [])
    monkeypatch.setattr("vtlab.commands.reproduce_publication.read_reproductions", lambda _: [])
    monkeypatch.setattr(facts, "collect", lambda *_: RunFacts(versions={}, jvm_flags=[], machine={}))
    reproduce_publication(["000", "004"], quick=quick, root=tmp_path, seed=1)
    (folder,) = tmp_path.glob("*-reproduce-*")
    manifests = {run.name: run.manifest for run in map(store.read, store.runs_in(folder))}
    rules = {name: (m.blocks, m.rule.precision if m.rule else None) for name, m in manifests.items()}
    assert rules == {"blocking-5s": against_law, "run-cpu": against_variant, "run-io": against_variant}


def test_what_was_measured_is_printed_again(measured: Path) -> None:
    done = call("lab", "reproduce-publication", "--from", measured)
    assert done.code == 0, done.err
    for part in ("001 threads, measured here under 1 CPU", "Threads.", "tomcat-threads"):
        assert part in done.out
    assert "### 001: A wait (`threads`)" in (measured / "reproductions.md").read_text(encoding="utf-8")
    printed = call("lab", "reproduce-publication", "--from", measured, "--json")
    assert json.loads(printed.out) == json.loads((measured / "reproductions.json").read_text(encoding="utf-8"))


def test_the_tables_come_before_the_error_of_a_run_that_was_given_up(
    measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def given_up(*_: object) -> None:
        raise InvalidRun("3 blocks were rejected", "see the reasons")

    monkeypatch.setattr("vtlab.runs.reproduce.create_runs", lambda *_: measured)
    monkeypatch.setattr("vtlab.runs.reproduce.measure_and_report", given_up)
    with pytest.raises(InvalidRun, match="3 blocks"):
        reproduce_publication(["001"], root=measured.parent, seed=1)
    assert (measured / "reproductions.md").is_file()


def test_the_figures_of_jmh_stand_beside_ours_and_say_how_to_measure_them_here() -> None:
    known = publications.load()
    waits, hashes = known["fan-out"], known["fan-out-hashes"]
    assert {name: figure.text for name, figure in waits.figures.items()} == {
        "pool-8": "3,150 ms",
        "pool-200": "178 ms",
        "virtual": "54 ms",
    }
    assert all("make jmh" in text for text in (waits.explanation, hashes.explanation))
    assert all(
        1000 / figure.throughput == pytest.approx(float(figure.text.split()[0].replace(",", "")))
        for figure in (*waits.figures.values(), *hashes.figures.values())
    )
