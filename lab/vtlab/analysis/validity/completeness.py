"""The checks that nothing broke but the service, and that all of a block was run and measured."""

from __future__ import annotations

import operator
from collections.abc import Iterator

from vtlab.analysis.validity.check import NOT_MEASURED, Check, Value, all_windows, block_check, moment_of
from vtlab.analysis.validity.failing import failed, leftovers, sound_variants
from vtlab.analysis.validity.jit_compiler import is_cpu_scarce
from vtlab.analysis.validity.overload import overloaded
from vtlab.analysis.validity.warm_up_checks import CYCLES, MEASURED, STEADY
from vtlab.analysis.validity.windows import LENGTH
from vtlab.model.blocks import mirrored
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial

DISAGREED = "the load generator stalled: its users disagreed about when a phase began"


def _faults(block: Block, _: Experiment) -> Iterator[Value]:
    yield Value(0, "no fault", "")
    for fault in block.faults:
        yield Value(1, fault, fault)


def _agreed(block: Block, _: Experiment) -> Iterator[Value]:
    yield Value(not block.agreed, "yes" if block.agreed else "no", DISAGREED)


def _known(block: Block, experiment: Experiment) -> Iterator[Value]:
    for variant in sound_variants(block, experiment):
        is_known = any(instance.variant == variant for instance in block.instances)
        reason = f"{NOT_MEASURED} of its instance before and after the block"
        yield Value(0 if is_known else None, "all" if is_known else NOT_MEASURED, reason, variant)


def _complete(block: Block, experiment: Experiment) -> Iterator[Value]:
    sound, explained = sound_variants(block, experiment), (LENGTH, CYCLES, MEASURED, STEADY)
    if not block.trials and any(any(check.beyond(block, experiment)) for check in explained):
        return
    in_order = [t.variant for t in sorted(block.trials, key=lambda t: t.position) if t.variant in sound]
    planned, trials = [variant for variant in block.order if variant in sound], experiment.windows.trials
    in_words = ", ".join(in_order) or "none"
    if in_order != planned:
        reason = f"the trials ran in the order {in_words}, not {', '.join(planned)}"
        yield Value(1, "incomplete", reason)
    elif not any(_is_mirrored(in_order, sound, count) for count in (trials, 2 * trials)):
        form = {1: "one trial", 2: "mirrored with two trials", 4: "mirrored with four trials"}[trials]
        yield Value(1, "not mirrored", f"the order {in_words} is not {form} of each variant")
    else:
        yield Value(0, "complete", "")


def _is_mirrored(order: list[str], variants: list[str], trials: int) -> bool:
    """Tells whether an order has so many trials of each of these variants, mirrored: as planned, or twice as many where
    a further set was measured."""
    return sorted(order) == sorted(variants * trials) and order == mirrored(order[: len(variants)], trials)


def _lost(trial: Trial, _: Experiment) -> Value:
    lost = trial.started - trial.completed
    reason = f"{trial.started:,} requests started, {trial.completed:,} completed"
    return Value(lost, f"{lost} lost", reason, trial.variant, moment_of(trial))


def _drain_measured(block: Block, experiment: Experiment) -> Iterator[Value]:
    """Requires a drain before each trial; not judged where a variant that failed or was overloaded may have left
    something: that is its result already."""
    broken = failed(block, experiment)
    for leftover in leftovers(block):
        trial = leftover.trial
        if trial.variant in broken or any(p.variant in broken or overloaded(p, experiment) for p in leftover.left):
            continue
        is_known = trial.server.get("in_flight_before") is not None
        reason = f"{NOT_MEASURED} of the requests in flight before it"
        text = "before every trial" if is_known else NOT_MEASURED
        yield Value(0 if is_known else None, text, reason, trial.variant, moment_of(trial))


def _sound_windows(block: Block, experiment: Experiment) -> list[Trial]:
    sound = sound_variants(block, experiment)
    return [t for t in all_windows(block, experiment) if t.variant in sound]


def _server(trial: Trial, experiment: Experiment) -> Value:
    """Requires samples of the window. A variant that has used up its CPU may have had none left to answer Prometheus,
    as where a full heap is collected again and again: another attempt would end alike."""
    # At typical load its CPU is always what the kernel counts.
    is_explained = trial.is_scraped or trial.phase == "typical" or is_cpu_scarce(trial, experiment)
    if trial.server.get("cpu_cores") is None or not is_explained:
        reason = f"{NOT_MEASURED} of the server: Prometheus has no samples of this window"
        return Value(None, "no samples", reason, trial.variant, moment_of(trial))
    return Value(0, "in every window", "", trial.variant, moment_of(trial))


NO_FAULT = Check("nothing broke", "machine", "no fault", _faults, lambda value, _: value, is_of_broken_blocks=True)
AGREED = block_check("users agreed on the phases", "machine", "always", _agreed)
INSTANCES = block_check("instances known", "machine", "one of each variant", _known)
TRIALS = block_check("trials complete", "machine", "all of each variant, mirrored where there are several", _complete)
DRAIN_MEASURED = block_check("drain measured", "machine", "before each trial", _drain_measured)
NO_REQUEST_LOST = Check("started = completed", "machine", "no request lost", all_windows, _lost, 0, operator.ne)
SERVER_MEASURED = Check(
    "server measured",
    "machine",
    "samples in every window, unless the variant used up its CPU",
    _sound_windows,
    _server,
)
