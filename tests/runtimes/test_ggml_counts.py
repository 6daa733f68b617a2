"""Default thread counts of llama.cpp and ik_llama.cpp."""

from __future__ import annotations

from typing import Any

import pytest

from numatune.errors import UsageError
from numatune.machine import Core, Cpu, CpuSet, Machine
from numatune.placement.request import Request
from numatune.runtimes import ik_llama_cpp, llama_cpp
from numatune.runtimes.ggml_counts import CORES, FALLBACK, HYBRID, POWER, VARIABLE
from tests.runtimes.machines import machine, two_sockets

RAPTOR_LAKE = Cpu("x86_64", "GenuineIntel", "13th Gen Intel(R) Core(TM) i9-13900K")
ARROW_LAKE = Cpu("x86_64", "GenuineIntel", "Intel(R) Core(TM) Ultra 7 265K")
XEON = Cpu("x86_64", "GenuineIntel", "Intel(R) Xeon(R) Platinum 8480+")


def count(box: Machine, version: str | None = None, **env: str) -> tuple[int | None, str]:
    release = llama_cpp.release(version, None, None)
    found = llama_cpp.default_threads(box, Request("llama.cpp", env=env), release)
    return found.threads, found.counted


def hybrid(performance: int, efficient: int, **more: Any) -> Machine:
    """Build a client CPU: P-cores of two adjacent CPUs first, then E-cores of one."""
    total = 2 * performance + efficient
    pairs = [Core(CpuSet((2 * i, 2 * i + 1))) for i in range(performance)]
    singles = [Core(CpuSet((cpu,))) for cpu in range(2 * performance, total)]
    box = machine({0: f"0-{total - 1}"}, **more)
    return box._replace(cores=(*pairs, *singles), cpu=RAPTOR_LAKE)


def test_physical_cores_of_the_host_are_counted() -> None:
    assert count(two_sockets(24, siblings=48)) == (48, CORES)
    assert count(two_sockets(24)) == (48, CORES)


def test_affinity_cpuset_and_quota_are_ignored() -> None:
    box = two_sockets(24, siblings=48, cpuset_cpus="0-3", affinity="0-1")
    box = box._replace(limits=box.limits._replace(cpu_quota=2.0))
    release = llama_cpp.release(None, None, None)
    found = llama_cpp.default_threads(box, Request("llama.cpp"), release)
    assert (found.threads, found.ignores) == (48, ("affinity", "cpuset", "quota"))
    assert found.source.endswith("0c1e57098/common/common.cpp")


def test_the_count_ends_at_the_first_offline_cpu() -> None:
    box = machine({0: "0-11", 1: "24-47"})._replace(offline_cpus=CpuSet(range(12, 24)))
    assert count(box) == (12, CORES)


@pytest.mark.parametrize(("online", "threads"), [("1-3", 3), ("1-4", 4), ("1-5", 2), ("1-16", 8)])
def test_without_cpu_0_half_of_the_cpus_are_taken(online: str, threads: int) -> None:
    assert count(machine({0: online})) == (threads, FALLBACK)


def test_what_is_known_of_cores_may_be_their_number() -> None:
    bare = two_sockets(24, cores_known=False)
    assert count(bare) == (None, CORES)
    assert count(bare._replace(smt=2))[0] == 24
    assert count(bare._replace(core_count=24))[0] == 24
    assert count(bare._replace(smt=1))[0] == 48
    gap = machine({0: "0-3,6-7"}, cores_known=False)
    assert count(gap._replace(smt=2))[0] is None
    assert count(gap._replace(smt=1))[0] == 4
    assert count(Machine("counts", core_count=12))[0] == 12
    partly = two_sockets(2)._replace(cores=(Core(CpuSet([0])),))
    assert count(partly)[0] is None


def test_of_a_hybrid_cpu_the_performance_cores_are_counted() -> None:
    assert count(hybrid(8, 16)) == (8, HYBRID)
    assert count(hybrid(8, 16, affinity="0-1")) == (8, HYBRID)
    # Pinning to a CPU outside of a cpuset fails, and physical cores are counted after all.
    assert count(hybrid(8, 16, cpuset_cpus="0-7")) == (24, CORES)
    # Builds before pull request 6414 did not tell the cores apart.
    assert count(hybrid(8, 16), "b2684") == (24, CORES)
    assert count(hybrid(8, 16), "b2685") == (8, HYBRID)


def test_a_cpu_after_a_performance_core_is_passed_over_whatever_it_is() -> None:
    # Five CPUs: E, P P, E, E. The walk is 0 (E), 1 (P, passes over 2), 3, 4.
    cores = tuple(Core(CpuSet(ids)) for ids in ((0,), (1, 2), (3,), (4,)))
    box = machine({0: "0-4"})._replace(cores=cores, cpu=RAPTOR_LAKE)
    assert count(box) == (1, HYBRID)


def test_hybrid_cpus_without_smt_do_not_show_their_cores() -> None:
    # Upstream takes 4 threads on 20 cores there: https://github.com/ggml-org/llama.cpp/issues/28625
    box = machine({0: "0-19"})._replace(cpu=ARROW_LAKE)
    assert count(box) == (None, HYBRID)
    offline = hybrid(2, 2)._replace(offline_cpus=CpuSet([6]))
    assert count(offline) == (None, HYBRID)


def test_uneven_cores_are_no_sign_of_a_hybrid_cpu_where_its_model_says_otherwise() -> None:
    assert count(hybrid(2, 4)._replace(cpu=XEON)) == (6, CORES)
    assert count(hybrid(2, 4)._replace(cpu=Cpu("aarch64"))) == (6, CORES)
    assert count(hybrid(2, 4)._replace(cpu=Cpu("x86_64", "AuthenticAMD"))) == (6, CORES)
    assert count(hybrid(2, 4)._replace(cpu=Cpu())) == (None, HYBRID)
    even = two_sockets(2)._replace(nodes=two_sockets(2).nodes[:1], cpu=XEON)
    assert count(even) == (4, CORES)
    # A small one of the same family has P-cores only.
    i3 = Cpu("x86_64", "GenuineIntel", "12th Gen Intel(R) Core(TM) i3-12100")
    assert count(hybrid(4, 0)._replace(cpu=i3)) == (4, CORES)


@pytest.mark.parametrize(("smt", "threads"), [(1, 8), (2, 16), (4, 16)])
def test_power_takes_two_threads_a_core(smt: int, threads: int) -> None:
    cores = tuple(Core(CpuSet(range(smt * i, smt * i + smt))) for i in range(8))
    box = machine({0: f"0-{8 * smt - 1}"})._replace(cores=cores, cpu=Cpu("ppc64le"))
    assert count(box) == (threads, POWER)
    release = ik_llama_cpp.release(None, None, None)
    other = ik_llama_cpp.default_threads(box, Request("ik_llama.cpp"), release)
    assert (other.threads, other.counted) == (8, CORES)
    assert "ik_llama.cpp" in other.source


def test_the_variable_wins() -> None:
    assert count(two_sockets(), LLAMA_ARG_THREADS=" 7 ") == (7, f"{VARIABLE} in the environment")
    assert count(two_sockets(), LLAMA_ARG_THREADS="") == (48, CORES)
    with pytest.raises(UsageError, match="LLAMA_ARG_THREADS x"):
        count(two_sockets(), LLAMA_ARG_THREADS="x")
