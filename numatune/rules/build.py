"""Rules about how ktransformers was built."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.placement.request import Request
from numatune.rules.facts import NO_LAUNCH
from numatune.rules.rule import Case, Evidence, Hit, Rule, Skip

#: Values of USE_NUMA by which people mean "no"; the build only looks whether it is set.
MEANT_NO = frozenset(("", "0", "off", "no", "false", "n"))

BUILD_UNKNOWN = (
    "whether the build has NUMA support is not known (--numa-build or --no-numa-build);"
    " `ldd` of its extension names libnuma where it has"
)


def inactive(case: Case) -> Iterator[Hit | Skip]:
    """NT501: NUMA support was asked for, and the build does not have it.

    Source: https://github.com/kvcache-ai/ktransformers/issues/634
    """
    request = case.request
    if request is None:
        yield Skip(NO_LAUNCH)
    elif request.runtime != "kt-kernel" and asks_for_numa(request):
        if request.numa_build is None:
            yield Skip(BUILD_UNKNOWN)
        elif not request.numa_build:
            yield Hit(
                subject="build",
                message="NUMA support was asked for, but the build in use does not have it:"
                " USE_NUMA counts when it is built, not when it runs",
                fix="apt install libnuma-dev; rm -rf build; export USE_NUMA=1; bash install.sh",
                expected="a build with USE_NUMA",
                actual="a build without",
                evidence=use_numa_evidence(request),
            )


def unintended(case: Case) -> Iterator[Hit | Skip]:
    """NT502: NUMA support is built in against the user's will, as with USE_NUMA=0.

    Source: https://github.com/kvcache-ai/ktransformers/blob/main/archive/csrc/ktransformers_ext/
    CMakeLists.txt
    """
    request = case.request
    if request is None:
        yield Skip(NO_LAUNCH)
        return
    if request.runtime != "ktransformers" or request.numa_build is False:
        return
    value = request.env.get("USE_NUMA")
    if value is not None and value.strip().lower() in MEANT_NO and request.numa_requested is None:
        wrong = f"USE_NUMA={value} switches NUMA support on: the build looks whether it is set"
    elif request.numa_requested is False and request.numa_build:
        wrong = "the build has NUMA support although it was not wanted"
    elif request.numa_requested is False:
        yield Skip(BUILD_UNKNOWN)
        return
    else:
        return
    yield Hit(
        subject="build",
        message=wrong,
        fix="unset USE_NUMA; rm -rf build; bash install.sh",
        expected="a build without USE_NUMA",
        actual="a build with it",
        evidence=use_numa_evidence(request),
    )


def asks_for_numa(request: Request) -> bool:
    """Tell whether the user wants NUMA support, by word or by the variable."""
    if request.numa_requested is not None:
        return request.numa_requested
    return request.env.get("USE_NUMA", "").strip().lower() not in MEANT_NO


def use_numa_evidence(request: Request) -> tuple[Evidence, ...]:
    """Return the variable as it is set."""
    value = request.env.get("USE_NUMA")
    return () if value is None else (Evidence("environment", "USE_NUMA", value),)


CMAKE = (
    "https://github.com/kvcache-ai/ktransformers/blob/main/archive/csrc/ktransformers_ext/"
    "CMakeLists.txt"
)

RULES = (
    Rule(
        "NT501",
        "numa-build-inactive",
        "warning",
        "NUMA support was asked for, but this ktransformers build does not have it.\n"
        "Workers and weights are then tied to no node, and nothing says so.",
        (
            "https://github.com/kvcache-ai/ktransformers/issues/634",
            "https://github.com/kvcache-ai/ktransformers/issues/1429",
            "https://github.com/kvcache-ai/ktransformers/issues/896",
            CMAKE,
        ),
        inactive,
    ),
    Rule(
        "NT502",
        "numa-build-unintended",
        "warning",
        "ktransformers was built with NUMA support against the user's will.\n"
        "The build tests whether USE_NUMA exists and not its value, so USE_NUMA=0\n"
        "switches it on.",
        (CMAKE, "https://github.com/kvcache-ai/ktransformers/issues/634"),
        unintended,
    ),
)
