"""All findings of a run: those of the service's jar, and those that the blocks show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from vtlab.analysis.findings import commands, measured, static
from vtlab.catalogue import findings
from vtlab.catalogue.findings import LARGER_POOL
from vtlab.model.finding import Finding
from vtlab.model.records import Block
from vtlab.model.run import Run
from vtlab.model.service import Service
from vtlab.model.variant import flags_in
from vtlab.model.verdict import VariantResult


def findings_of_run(run: Run, accepted: Sequence[Block], results: Mapping[str, VariantResult]) -> list[Finding]:
    """Finds what is known to break: measured findings first, as these are of the service and not of its versions alone.

    Static rows hold where they do for the JDK and the flags of a variant on virtual threads.
    """
    manifest, experiment = run.manifest, run.experiment
    differences = [text for block in run.blocks for text in block.differences]
    service_findings = measured.measured_findings(experiment, accepted, results, manifest.inspection, differences)
    version_findings: dict[str, Finding] = {}
    for variant in experiment.variants:
        properties = experiment.properties_of(variant)
        versions = {i.java for block in run.blocks for i in block.instances if i.variant == variant}
        for java in sorted(versions) if properties.threads == "virtual" else ():
            flags = [*manifest.jvm_flags, *properties.jvm_flags, *_flags_of_environment(run, variant)]
            found = (
                static.static_findings(manifest.inspection, java, flags)
                if manifest.inspection
                else static.jdk_findings(java, flags, measured.ANY_JAR)
            )
            version_findings |= {finding.id: finding for finding in found}
    pool = _larger_pool(accepted)
    return [_typed(finding, run, pool) for finding in [*service_findings, *version_findings.values()]]


def _flags_of_environment(run: Run, variant: str) -> list[str]:
    """Lists the flags that the JVM of a variant gets by its environment, as the experiment has it."""
    service = run.experiment.service
    settings = service.settings if isinstance(service, Service) else {}
    return flags_in({**settings, **run.experiment.settings, **run.experiment.environment_of(variant)})


def _typed(finding: Finding, run: Run, pool: int) -> Finding:
    """Writes the command as the reader can type it, with what the run knows of the service. ``pool``: connections of a
    larger pool."""
    manifest, limits = run.manifest, run.experiment.limits
    jar = manifest.inspection.jar if manifest.inspection else measured.ANY_JAR
    command = findings.row(finding.id).command_for(jar, pool, max(1, math.floor(limits.cpu)))
    if _takes_cure(run, command):
        command = commands.cure_in_call(command, jar, manifest.command)
    return finding.model_copy(update={"command": command})


def _larger_pool(blocks: Sequence[Block]) -> int:
    """Returns twice the connections of the largest pool that was measured; twice HikariCP's own where none was."""
    windows = [trial.server.get("capacity_db-pool") for block in blocks for trial in block.trials]
    return round(2 * max(filter(None, windows), default=LARGER_POOL / 2))


def _takes_cure(run: Run, command: str) -> bool:
    """Tells whether the call of a run takes the cure of a command: a release of the chart takes none, copies a variant,
    but no other JDK."""
    service = run.experiment.service
    if run.manifest.target == "local":
        return True
    is_variant = "--variant " in command and "--variant java=" not in command
    return isinstance(service, Service) and service.is_copied and is_variant
