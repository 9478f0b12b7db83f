"""All findings of a run: those of the service's jar, and those that the blocks show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vtlab.analysis.findings import commands, measured, static
from vtlab.model.finding import Finding
from vtlab.model.manifest import Manifest
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
    return [_typed(finding, manifest) for finding in [*service_findings, *version_findings.values()]]


def _flags_of_environment(run: Run, variant: str) -> list[str]:
    """Lists the flags that the JVM of a variant gets by its environment, as the experiment has it."""
    service = run.experiment.service
    settings = service.settings if isinstance(service, Service) else {}
    return flags_in({**settings, **run.experiment.settings, **run.experiment.environment_of(variant)})


def _typed(finding: Finding, manifest: Manifest) -> Finding:
    """Writes the command as the reader can type it."""
    if manifest.target != "local":
        return finding
    jar = manifest.inspection.jar if manifest.inspection else measured.ANY_JAR
    return finding.model_copy(update={"command": commands.cure_in_call(finding.command, jar, manifest.command)})
