"""Publishes verdicts to the Prometheus of each run, and serves the data that it kept, for the dashboards."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from rich.console import Console

from vtlab.analysis.verdict import split_by_pair
from vtlab.dashboards import link
from vtlab.errors import BadInput, BlockFault, Interrupted, LabError
from vtlab.host import operating_system, process_ledger, tools
from vtlab.measuring.progress import Progress
from vtlab.model.manifest import Manifest
from vtlab.model.run import Analysis
from vtlab.prometheus.api import PrometheusApi
from vtlab.prometheus.publish import Words, has_verdict, publish
from vtlab.report.words.outcome_rows import OutcomeRow, rows
from vtlab.report.words.verdict_lines import verdict_lines
from vtlab.runs import store
from vtlab.targets.kubernetes import cluster_prometheus
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.local.prometheus_server import PrometheusServer, serving
from vtlab.targets.local.target import KEPT


def publish_verdicts(run_folders: Sequence[Path], analyses: Sequence[Analysis], console: Console) -> None:
    """Writes the verdicts to the Prometheus of each run, for the dashboards, and says where they show it. What
    cannot be written is a note: the verdict is in the report."""
    for run_folder, analysis in zip(run_folders, analyses, strict=True):
        if not has_verdict(analysis.verdict):
            continue
        try:
            with _prometheus(run_folder, analysis.run.manifest) as client:
                if client:
                    dated = publish(client, analysis, words_of(analysis))
                    where = link.line(analysis.run, dated, os.environ.get(link.GRAFANA))
                    console.print(where, highlight=False, soft_wrap=True)
        except Interrupted:
            raise
        # OSError: its Prometheus writes where the disk may be full by now.
        except (BlockFault, LabError, OSError) as error:
            fix = f"; {error.fix}" if isinstance(error, LabError) and error.fix else ""
            text = f"note: the dashboards do not show the verdict of {analysis.run.name}: {error}{fix}"
            console.print(text, highlight=False, style="yellow", soft_wrap=True)


def words_of(analysis: Analysis) -> Words:
    """Writes the words of the report that dashboards show."""
    pairs = split_by_pair(analysis)
    headlines = {pair.verdict.decisions[0].of: verdict_lines(pair).verdict for pair in pairs}
    return Words(headlines, [_labels(row) for pair in pairs for row in rows(pair)])


def _labels(row: OutcomeRow) -> dict[str, str]:
    labels = {
        "title": row.criterion,
        "at": row.load,
        "unit": row.unit,
        "base": row.base_value,
        "measured": row.value,
        "change": row.change,
        "outcome": f"{row.symbol} {row.judgement}",
    }
    # To Prometheus an empty label is none.
    return {name: text for name, text in labels.items() if text}


def serve_kept_data(folder: Path, port: int, console: Console) -> None:
    """Serves what a run's Prometheus kept, until it is interrupted. BadInput where there is nothing of the kind."""
    operating_system.refuse_other_than_linux()
    if not has_kept_data(folder):
        raise BadInput(f"{folder} has no Prometheus data", "name the results directory of a run with --prometheus-port")
    # While the run is measured its data have a server already. Two servers would break the data.
    process_ledger.refuse_if_busy(store.root_of(folder))
    with ExitStack() as ended:
        with Progress(console, "starting Prometheus"):
            server = ended.enter_context(_serving(folder, port))
        console.print(f"{server.url} serves the data of {folder.name}; Ctrl-C ends it", highlight=False)
        while server.exit_description() is None:
            time.sleep(0.2)
        raise BlockFault(f"{server.exit_description()}: {server.process.last_lines()}")


def has_kept_data(folder: Path) -> bool:
    """Tells whether the Prometheus of the run in ``folder`` kept its data (``--prometheus-port``)."""
    return (folder / KEPT / "data").is_dir()


@contextmanager
def _prometheus(folder: Path, manifest: Manifest) -> Iterator[PrometheusApi | None]:
    """Opens the Prometheus that has the samples of a run; None where they are gone."""
    if manifest.target == "kubernetes":
        with cluster_prometheus.connect(ReleaseRef.from_manifest(manifest.cluster)) as client:
            yield client
    elif has_kept_data(folder):
        with _serving(folder) as server, PrometheusApi(server.url) as client:
            yield client
    else:
        yield None


def _serving(folder: Path, port: int | None = None) -> AbstractContextManager[PrometheusServer]:
    folder = folder.absolute()
    return serving(tools.find_prometheus(), folder / KEPT, folder / "logs" / "prometheus.log", port)
