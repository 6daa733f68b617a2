"""Rules about options and variables that this version or build does not read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from numatune.errors import NumatuneError
from numatune.rules.facts import NO_LAUNCH, launch
from numatune.rules.ggml_limits import GGML
from numatune.rules.rule import Case, Evidence, Hit, Rule, Skip

#: The first kt-kernel that has a map of nodes (`numa_nodes`), and the change that brought it.
FIRST_MAP = "0.5.3"
MAP_SOURCE = "https://github.com/kvcache-ai/ktransformers/pull/1891"


class Idle(NamedTuple):
    """An option or a variable without effect: why that is so, what to do, and where it was read.

    `why` follows on the option in a sentence, such as "is not read by ...". `severity` overrides
    the rule's where the launch runs as it was meant all the same.
    """

    option: str
    why: str
    fix: str
    source: str
    value: object = ""
    severity: str | None = None


def without_effect(case: Case) -> Iterator[Hit | Skip]:
    """NT510: options and variables that do nothing here.

    Of those alone of which a source says so; an option that is not known here may well have one.
    Source: https://github.com/ggml-org/llama.cpp/issues/26997
    """
    request, release = case.request, case.release
    if request is None:
        yield Skip(NO_LAUNCH)
        return
    if release is None:
        yield Skip(f"which options {request.runtime or 'it'} reads is not known here")
        return
    for idle in idle_options(case):
        if isinstance(idle, Skip):
            yield idle
            continue
        value = f" {idle.value}" if idle.value not in ("", True) else ""
        yield Hit(
            subject=idle.option,
            message=f"{idle.option} {idle.why} ({launch(case)})",
            fix=idle.fix,
            numbers={"option": idle.option},
            expected="an option that is read",
            actual=f"{idle.option}{value}, without effect",
            evidence=(Evidence(idle.source, idle.option, str(idle.value)),),
            severity=idle.severity,
        )


def idle_options(case: Case) -> Iterable[Idle | Skip]:
    """Return what the launch states in vain, by the runtime."""
    name = case.release.runtime if case.release is not None else ""
    if name in GGML:
        from numatune.rules.ggml_options import idle

        return idle(case)
    if name == "openmp":
        from numatune.rules.openmp_options import idle as idle_in_openmp

        return idle_in_openmp(case)
    if name == "vllm":
        return idle_in_vllm(case)
    if name == "sglang":
        return idle_in_sglang(case)
    return idle_in_kt_kernel(case) if name == "kt-kernel" else ()


def idle_in_kt_kernel(case: Case) -> list[Idle]:
    """Return a map of nodes that is older than maps; of a commit it is not known."""
    from numatune.runtimes.versions import parse

    if case.request is None or case.release is None:
        return []
    nodes = case.request.options.get("numa_nodes")
    version, first = parse(case.release.version), parse(FIRST_MAP)
    if nodes is None or version is None or first is None or version >= first:
        return []
    why = f"came with kt-kernel {FIRST_MAP}: before, pool i is always on node i"
    fix = f"upgrade to kt-kernel {FIRST_MAP} or later, or leave it out"
    return [Idle("--kt-numa-nodes", why, fix, MAP_SOURCE, nodes)]


def idle_in_vllm(case: Case) -> list[Idle]:
    """Return the variables of OpenMP that vLLM sets itself, and a reserve beside lists.

    Source: `vllm_ranks.SOURCE`
    """
    from numatune.runtimes import vllm_ranks

    request = case.request
    if request is None:
        return []
    value = vllm_ranks.binding_of(request)
    found = []
    if value != vllm_ranks.NOBIND:
        for name in ("OMP_NUM_THREADS", *vllm_ranks.variables_set(case.machine, request)):
            if name in request.env:
                why = f"is set by vLLM itself for each rank, unless {vllm_ranks.BIND} is nobind"
                fix = f"leave it out; {vllm_ranks.BIND} chooses the CPUs of a rank"
                found.append(Idle(name, why, fix, vllm_ranks.SOURCE, request.env[name]))
    if value != vllm_ranks.AUTO and vllm_ranks.RESERVED in request.env:
        why = f"counts only where {vllm_ranks.BIND} is auto"
        fix = "leave the CPUs that shall be free out of the lists"
        spare = request.env[vllm_ranks.RESERVED]
        found.append(Idle(vllm_ranks.RESERVED, why, fix, vllm_ranks.SOURCE, spare))
    return found


def idle_in_sglang(case: Case) -> list[Idle]:
    """Return the count of OpenMP, which each rank sets by itself where it pins its threads.

    Other processes of the server may read it. Source: `sglang.NATIVE`
    """
    from numatune.runtimes import sglang

    request = case.request
    if request is None or sglang.COUNT not in request.env or not sglang.binds(case.machine):
        return []
    why = "is not what the ranks take: they have one thread for each of their CPUs"
    fix = f"leave it out; {sglang.BIND} chooses the CPUs of a rank"
    return [Idle(sglang.COUNT, why, fix, sglang.NATIVE, request.env[sglang.COUNT], "info")]


def changes_nothing(
    case: Case, *, options: Iterable[str] = (), variables: Iterable[str] = ()
) -> bool:
    """Tell whether every worker is where it is without some options and variables, too."""
    from numatune.runtimes import named

    request, release, placement = case.request, case.release, case.placement
    if request is None or release is None or placement is None:
        return False
    left_out, unset = set(options), set(variables)
    bare = request._replace(
        options={n: v for n, v in request.options.items() if n not in left_out},
        env={n: v for n, v in request.env.items() if n not in unset},
    )
    try:
        without = named(release.runtime).simulate(case.machine, bare, release)
    except NumatuneError:
        return False
    return without.workers == placement.workers


RULES = (
    Rule(
        "NT510",
        "option-without-effect",
        "warning",
        "An option or a variable is not read by this version or build, or not used.\n"
        "Nothing says so, and the launch runs otherwise than its command line reads.",
        (
            "https://github.com/ggml-org/llama.cpp/issues/26997",
            "https://github.com/ggml-org/llama.cpp/pull/16164",
            "https://github.com/gcc-mirror/gcc/blob/releases/gcc-12.2.0/libgomp/env.c",
            MAP_SOURCE,
        ),
        without_effect,
    ),
)
