"""The archive of series, and the priors that it gives (``lab/archive``, ``vtlab/analysis/criteria/priors.json``).

``python -m maintain.priors DIR…`` takes over the runs of results directories: a file each, with the log ratios of its
blocks. A run replaces an earlier one of the same name. Then ``make generate`` fits the priors. Without a directory it
prints the standard deviations, and the fit.

The fit [1]: with s² of d degrees of freedom for each series, e = log s² - ψ(d/2) + log(d/2). Their variance is the mean
of ψ'(d/2) plus ψ'(d₀/2), which gives d₀. s₀ is the 80th percentile of the standard deviations, larger than [1] has it:
a prior that is too narrow claims what does not hold, one that is too wide costs blocks.

Sources
    [1] G. Smyth: Linear Models and Empirical Bayes Methods for Assessing Differential Expression in Microarray
        Experiments. Statist. Appl. Genet. Mol. Biol. 3 (2004), article 3, section 6.2.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy import optimize, special

from maintain import measured_page
from vtlab import shipped
from vtlab.analysis.statistics.moderated import Prior
from vtlab.errors import BadInput, LabError
from vtlab.measuring import searched_pair
from vtlab.model.run import Analysis
from vtlab.report.words import labels, phrases
from vtlab.runs.report import analyse_runs

FOLDER = shipped.ROOT / "lab" / "archive"
PRIORS = "lab/vtlab/analysis/criteria/priors.json"
#: Blocks that a series must have, and series that a prior must have.
LEAST_BLOCKS, LEAST_SERIES = 4, 6
#: A prior counts as so many degrees of freedom at most: with 3.5 of them intervals of four blocks with two modes
#: covered 89.8 % where the true deviation is 1.5 of the prior's (``simulated_priors``).
MOST_DF = 2.5
#: Share of the series whose standard deviation lies below that of the prior.
SHARE = 0.80
#: Standard deviations below this are of rounding.
_LEAST_SD = 1e-6


class Series(BaseModel):
    """Log ratios of the blocks of one run, of its first pair of variants, by criterion (``tail.full``)."""

    model_config = ConfigDict(extra="forbid")

    experiment: str
    limits: str
    load: str
    variants: tuple[str, str]
    command: str
    machine: str
    date: str
    blocks: int
    #: Whether the first block began with the search for the load, on the same JVMs.
    searched: bool = False
    log_ratios: dict[str, list[float]]


def read(folder: Path = FOLDER) -> dict[str, Series]:
    """Reads the archive, by the names of its files."""
    paths = sorted(folder.glob("*.json"))
    return {path.stem: Series.model_validate_json(path.read_text(encoding="utf-8")) for path in paths}


def deviations(archive: Mapping[str, Series]) -> dict[str, dict[str, tuple[float, int]]]:
    """Lists for each criterion the standard deviation of each series, with its degrees of freedom."""
    found: dict[str, dict[str, tuple[float, int]]] = {}
    for name, series in archive.items():
        for criterion, logs in series.log_ratios.items():
            if len(logs) >= LEAST_BLOCKS:
                sd = max(_LEAST_SD, float(np.std(logs, ddof=1)))
                found.setdefault(criterion, {})[name] = (sd, len(logs) - 1)
    return found


def fit(series: Sequence[tuple[float, int]]) -> Prior | None:
    """Fits a prior to standard deviations with their degrees of freedom; None for too few of them."""
    if len(series) < LEAST_SERIES:
        return None
    sds, dfs = np.array([sd for sd, _ in series]), np.array([df for _, df in series], dtype=np.float64)
    e = 2 * np.log(sds) - special.digamma(dfs / 2) + np.log(dfs / 2)
    between = float(np.var(e, ddof=1) - np.mean(special.polygamma(1, dfs / 2)))
    return Prior(sd=_rounded(float(np.quantile(sds, SHARE))), df=_rounded(min(MOST_DF, _df(between))))


def _df(between: float) -> float:
    """Solves ψ'(d₀/2) = ``between``; infinite where the series scatter no more than by chance."""
    if between <= float(special.polygamma(1, MOST_DF)):
        return math.inf
    return 2 * float(optimize.brentq(lambda x: float(special.polygamma(1, x)) - between, 1e-3, MOST_DF))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def priors_json(folder: Path = FOLDER) -> str:
    """Writes ``priors.json``: the prior of each criterion for which the archive has enough series."""
    fitted = {criterion: fit(list(of.values())) for criterion, of in sorted(deviations(read(folder)).items())}
    return json.dumps({c: vars(prior) for c, prior in fitted.items() if prior}, indent=2) + "\n"


def series_of(analysis: Analysis) -> Series:
    """Takes the series of a run. BadInput for a run with fewer blocks than a series must have."""
    run, verdict = analysis.run, analysis.verdict
    if verdict.n < LEAST_BLOCKS:
        raise BadInput(f"{run.name}: {verdict.n} blocks count, a series needs {LEAST_BLOCKS}", "measure more blocks")
    over, of = run.experiment.variants[:2]
    logs = {str(o.key): [round(x, 6) for x in o.log_ratios] for o in verdict.outcomes if o.of == of and o.log_ratios}
    return Series(
        experiment=verdict.experiment,
        limits=labels.limits(analysis),
        load=phrases.load_words(run.experiment),
        variants=(of, over),
        command=measured_page.shown_command(run.manifest),
        machine=measured_page.machine(run.manifest),
        date=run.manifest.started[:10],
        blocks=verdict.n,
        searched=_is_searched(analysis),
        log_ratios=logs,
    )


def _is_searched(analysis: Analysis) -> bool:
    run, first = analysis.run, analysis.accepted[0]
    if run.manifest.curve is None or not first.search_seconds:
        return False
    return searched_pair.traces_of(run.experiment, run.manifest.curve) is None


def file_name(series: Series) -> str:
    """Names the file of a series: one for each experiment, size, pair of variants, day and machine."""
    size, machine = series.limits.partition(",")[0], series.machine.partition(",")[0]
    text = "-".join((series.experiment, size, series.load, series.variants[0], series.date, machine))
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()) + ".json"


def table(archive: Mapping[str, Series]) -> str:
    """Writes the standard deviation of each series, and the fit, by criterion."""
    lines = []
    for criterion, of in sorted(deviations(archive).items()):
        prior = fit(list(of.values()))
        lines.append(f"{criterion}: {f's0 {prior.sd:.2%}, d0 {prior.df:g}' if prior else 'no prior'}, {len(of)} series")
        lines += [
            f"  {sd:7.2%}  {df + 1:2d} blocks  {name}" for name, (sd, df) in sorted(of.items(), key=lambda x: x[1])
        ]
    return "\n".join(lines)


def main(arguments: Sequence[str], folder: Path = FOLDER) -> int:
    try:
        all_series = [series_of(analysis) for path in arguments for analysis in analyse_runs(Path(path))]
    except LabError as error:
        print(f"priors: {error.message}\n  fix: {error.fix}", file=sys.stderr)
        return error.exit_code
    for series in all_series:
        (folder / file_name(series)).write_text(series.model_dump_json(indent=1) + "\n", encoding="utf-8")
    print(table(read(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
