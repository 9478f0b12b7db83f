"""All findings of a run: those of the service's jar, and those that the blocks show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vtlab.analysis import measured_findings, static_findings
from vtlab.model.finding import Finding
from vtlab.model.records import Block, VariantResult
from vtlab.model.run import Run


def of_run(run: Run, accepted: Sequence[Block], results: Mapping[str, VariantResult]) -> list[Finding]:
    """What is known to break: measured findings first, as these are of the service and not of its versions alone.

    Static rows hold where they do for the JDK of a variant on virtual threads, as its JVMs said.
    """
    manifest, experiment = run.manifest, run.experiment
    measured = measured_findings.find(experiment, accepted, results, manifest.inspection)
    if manifest.inspection is None:
        return measured
    virtual = [v for v in experiment.variants if experiment.properties_of(v).threads == "virtual"]
    versions = {i.java for block in run.blocks for i in block.instances if i.variant in virtual}
    static = {
        finding.id: finding
        for java in sorted(versions)
        for finding in static_findings.find(manifest.inspection, java, manifest.jvm_flags)
    }
    return [*measured, *static.values()]
