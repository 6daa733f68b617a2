"""Variables of OpenMP that a library does not read, or reads and leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from numatune.errors import NumatuneError
from numatune.machine import Machine
from numatune.rules.options import Idle
from numatune.rules.rule import Case
from numatune.runtimes import libgomp, openmp
from numatune.words import listed

#: Variables of GNU's library that LLVM does not list among its own.
GNU_ONLY = ("GOMP_SPINCOUNT",)


def idle(case: Case) -> Iterator[Idle]:
    """Yield what the launch states in vain."""
    if case.request is None or case.release is None:
        return
    env = case.request.env
    release = openmp.chosen(case.request, case.release)
    if release.behaviour == openmp.GNU:
        foreign = [name for name in env if name.startswith("KMP_")]
        why, fix = "of Intel's and LLVM's library, not of libgomp", "use OMP_PLACES, OMP_PROC_BIND"
        source = libgomp.SOURCE
        yield from misread(case.machine, env)
    else:
        foreign = [name for name in GNU_ONLY if name in env]
        why, fix = "of GNU's library, not documented for libiomp", "use KMP_BLOCKTIME"
        source = openmp.VARIABLES_SOURCE
    if foreign:
        kind = "are variables" if len(foreign) > 1 else "is a variable"
        value = " ".join(f"{name}={env[name]}" for name in foreign)
        yield Idle(listed(foreign), f"{kind} {why}", fix, source, value)


def misread(machine: Machine, env: Mapping[str, str]) -> Iterator[Idle]:
    """Yield what libgomp finds not valid, and what another variable switches off."""
    for name, read in libgomp.READERS.items():
        error = libgomp.flaw(env, name, read)
        if error is not None:
            yield flawed(env, name, f"is not valid ({error}): libgomp warns and goes on without it")
    try:
        bound = libgomp.binding(machine, env)
    except NumatuneError:  # the machine does not show what places are made of
        return
    for said in bound.complaints:
        name = next((name for name in libgomp.BINDING if name in said), "OMP_PLACES")
        start, end = f"libgomp warns that {name} ", " and goes on without it"
        why = f"is not used as a whole: {said}"
        if said.startswith(start) and said.endswith(end):
            why = f"{said[len(start) : -len(end)]}: libgomp warns and goes on without it"
        yield flawed(env, name, why)
    said_of = " ".join(bound.complaints)
    off = env.get("OMP_PROC_BIND", "").strip().lower() == "false"
    for name in ("OMP_PLACES", "GOMP_CPU_AFFINITY"):
        if name not in env or name in said_of:
            continue
        if off:
            yield flawed(env, name, "is switched off by OMP_PROC_BIND=false")
        elif name == "GOMP_CPU_AFFINITY" and "OMP_PLACES" in env and "OMP_PLACES" not in said_of:
            yield flawed(env, name, "is not read beside OMP_PLACES")


def flawed(env: Mapping[str, str], name: str, why: str) -> Idle:
    """Return a variable that libgomp leaves out."""
    fix = "write it as libgomp reads it, or leave it out"
    return Idle(name, why, fix, libgomp.SOURCE, env.get(name, ""))
