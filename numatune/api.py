"""The Python API: the same steps as the commands, without their output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numatune.errors import UsageError
from numatune.machine import Machine
from numatune.placement.placement import Placement
from numatune.rules.rule import Finding


def simulate(
    machine: Machine, runtime: str, version: str | None = None, **options: Any
) -> Placement:
    """Place the workers of one launch; options carry the runtime's own names.

    Without a version the newest known one. Raises LaunchRefused where the runtime would refuse
    the launch or crash, UsageError where the call is wrong.

    >>> import numatune
    >>> machine = numatune.read_machine(synthetic="pack:2 [numa(memory=512GB)] core:24 pu:1")
    >>> placement = numatune.simulate(machine, "ktransformers", version="0.2.1", cpu_infer=42)
    >>> [sum(worker.node == node for worker in placement.workers) for node in (0, 1)]
    [16, 25]
    """
    return place(machine, {"runtime": runtime, "version": version, **options})


def place(machine: Machine, request: Mapping[str, Any]) -> Placement:
    """Place the workers of a request: a mapping with `runtime`, `version`, `cpu_infer` and so on.

    Raises LaunchRefused where the runtime would refuse it or crash, UsageError where the request
    is wrong, its runtime unknown or its thread count missing.
    """
    from numatune.placement.requests import request_of
    from numatune.runtimes import named

    asked = request_of(request)
    runtime = named(asked.runtime)
    release = runtime.release(asked.version, asked.commit, asked.numa_build)
    if asked.launcher:
        from numatune.rules.launching import entered

        machine = entered(machine, asked).machine
    if asked.threads is None:
        default = runtime.default_threads(machine, asked, release)
        least = 0 if default is not None and default.is_derived else 1
        if default is None or default.threads is None or default.threads < least:
            raise UsageError(f"the request has no thread count ({runtime.THREADS_OPTION})")
        asked = asked._replace(threads=default.threads)
    return runtime.simulate(machine, asked, release)


def diagnose(machine: Machine, request: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return the findings for a request on a machine, gravest first.

    Never raises LaunchRefused: such a launch is a finding. For a runtime that is not known, or
    without a thread count, it gives what the machine and the rest of the request show.
    """
    from numatune.diagnosis import diagnose as diagnosed
    from numatune.placement.requests import request_of

    return tuple(diagnosed(machine, request_of(request)).findings)
