"""The environment of a copy, with the flags of its JVM. Pure functions of the API's JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vtlab.errors import BadInput
from vtlab.host import agent
from vtlab.host.agent import OPTIONS
from vtlab.model.experiment import Experiment
from vtlab.services import from_jar, processors
from vtlab.services.environment import variant_environment
from vtlab.targets.kubernetes.api import pods
from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.copies.original import Original

#: The agent's jar in the image that contains it (``Dockerfile``), and its folder in a copy.
AGENT_IN_IMAGE, AGENT_FOLDER = "/app/vtlab-agent.jar", "/vtlab"


def variables(original: Original, experiment: Experiment, variant: str) -> dict[str, str]:
    """Returns the variables that a variant gets over the original's environment. BadInput where the value of
    JAVA_TOOL_OPTIONS is elsewhere, so that the agent cannot be appended."""
    management = original.service.management_port
    agent_flag = f"{agent.flag(Path(AGENT_FOLDER, Path(AGENT_IN_IMAGE).name))}=port={original.agent_port},host=0.0.0.0"
    variant_flags = experiment.properties_of(variant).jvm_flags
    configured = variant_environment(original.service, experiment, variant)
    return {
        **configured,
        "SERVER_PORT": str(original.port),
        **({"MANAGEMENT_SERVER_PORT": str(management)} if management else {}),
        **agent.environment(original.agent_port, None, {**_named_variables(original.container), **configured}),
        OPTIONS: " ".join([*jvm_flags(original, experiment), *variant_flags, agent_flag]),
    }


def jvm_flags(original: Original, experiment: Experiment) -> list[str]:
    """Returns the flags that every variant's JVM gets from its environment, without the agent."""
    heap = experiment.limits.heap
    own_flags = [f'"{flag}"' if " " in flag else flag for flag in original.service.jvm_flags]
    flags = [*_present_options(original, experiment).split(), *own_flags]
    sizes = [f"-Xms{heap}", f"-Xmx{heap}"] if heap else []
    counted = processors.fixing([*flags, *pods.flags_of(original.container)], experiment.limits.cpu)
    return [*flags, *from_jar.out_of_memory_flags(flags), *sizes, *counted]


def shown_flags(flags: Sequence[str]) -> list[str]:
    """Returns flags for a record: without the values of system properties and of agents, which may be secret."""
    kept = (flag for flag in flags if flag.startswith("-"))
    return [flag if flag.startswith("-X") or "=" not in flag else f"{flag.partition('=')[0]}=..." for flag in kept]


def has_unseen_options(original: Original) -> bool:
    """Tells whether the original may have JVM flags that vtlab cannot see, and would replace."""
    return bool(original.container.get("envFrom")) and not _variable(original.container, OPTIONS)


def _named_variables(container: Json) -> dict[str, str]:
    """Returns the variables that a container names, without the values that come from elsewhere."""
    return {variable["name"]: variable.get("value", "") for variable in container.get("env") or []}


def _present_options(original: Original, experiment: Experiment) -> str:
    """Returns JAVA_TOOL_OPTIONS of the experiment, else of the original. BadInput where its value is elsewhere."""
    settings = {**original.service.settings, **experiment.settings}
    if OPTIONS in settings:
        return settings[OPTIONS]
    variable = _variable(original.container, OPTIONS)
    if "valueFrom" in variable:
        raise BadInput(
            f"container {original.container['name']} takes {OPTIONS} from elsewhere (valueFrom), where vtlab cannot"
            " add its agent",
            f"set {OPTIONS} in settings of the experiment",
        )
    return str(variable.get("value") or "")


def _variable(container: Json, name: str) -> Json:
    return next((variable for variable in container.get("env", []) if variable["name"] == name), {})
