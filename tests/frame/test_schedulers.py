"""systemd, Slurm and Kubernetes: launchers that choose CPUs, or leave the choice to a daemon."""

import pytest

from numatune.errors import UsageError
from numatune.frame import Framed, MemoryPolicy, framed
from numatune.machine import CpuSet, Machine
from tests.frame.machines import limited, text_of, tree_of


def two_nodes() -> Machine:
    """Two nodes: 0-5,12-17 and 6-11,18-23."""
    return text_of("two-node-smt")


def limits_of(frame: Framed) -> tuple[str, str, str, float | None]:
    assert frame.refusal is None, frame.refusal
    limits = frame.machine.limits
    sets = (limits.cpuset_cpus, limits.cpuset_mems, limits.affinity)
    cpus, mems, affinity = ("" if s is None else str(s) for s in sets)
    return cpus, mems, affinity, limits.cpu_quota


@pytest.mark.parametrize(
    ("properties", "limits"),
    [
        (["AllowedCPUs=0-3 8"], ("0-3,8", "", "", None)),
        (["AllowedCPUs=0-3", "AllowedCPUs=8"], ("0-3,8", "", "", None)),
        (["AllowedCPUs=0-3", "AllowedCPUs=", "AllowedCPUs=8"], ("8", "", "", None)),
        (["AllowedMemoryNodes=1", "AllowedCPUs=6-11"], ("6-11", "1", "", None)),
        (["CPUQuota=250%"], ("", "", "", 2.5)),
        (["CPUAffinity=0,2-4"], ("", "", "0,2-4", None)),
        (["CPUAffinity=0-7", "AllowedCPUs=4-11"], ("4-11", "", "4-7", None)),
        (["CPUAffinity=numa", "NUMAPolicy=bind", "NUMAMask=1"], ("", "", "6-11,18-23", None)),
        (["MemoryMax=1G"], ("", "", "", None)),
        (["AllowedCPUs=99"], ("", "", "", None)),
    ],
)
def test_properties_of_a_unit(
    properties: list[str], limits: tuple[str, str, str, float | None]
) -> None:
    run = " ".join(f"-p '{text}'" for text in properties)
    unit = " ".join(f"'{text}'" for text in properties)
    for line in (f"systemd-run --user --pty {run} python run.py", f"systemd {unit} python run.py"):
        assert limits_of(framed(two_nodes(), line)) == limits


def test_a_cpuset_with_nothing_of_its_parent_says_so() -> None:
    frame = framed(two_nodes(), "systemd AllowedCPUs=99 AllowedMemoryNodes=7")
    assert len([note for note in frame.notes if "parent" in note]) == 2


@pytest.mark.parametrize(
    ("properties", "policy"),
    [
        ("NUMAPolicy=bind NUMAMask=0-1", MemoryPolicy("bind", CpuSet([0, 1]))),
        ("NUMAPolicy=interleave NUMAMask=all", MemoryPolicy("interleave", CpuSet([0, 1]))),
        ("NUMAPolicy=preferred NUMAMask=1", MemoryPolicy("preferred", CpuSet([1]))),
        ("NUMAPolicy=preferred", MemoryPolicy("local")),
        ("NUMAPolicy=local", MemoryPolicy("local")),
        ("NUMAPolicy=default", MemoryPolicy()),
    ],
)
def test_numa_policy_of_a_unit(properties: str, policy: MemoryPolicy) -> None:
    frame = framed(two_nodes(), f"systemd {properties} program")
    assert frame.refusal is None
    assert frame.memory == policy


def test_what_makes_a_unit_fail() -> None:
    for properties, numbers in {
        "NUMAPolicy=bind": {},
        "NUMAPolicy=preferred NUMAMask=0-1": {"nodes": [0, 1]},
        "NUMAPolicy=bind NUMAMask=5": {"nodes": [5]},
        "CPUAffinity=99": {"cpus": [99]},
    }.items():
        refusal = framed(two_nodes(), f"systemd {properties} program").refusal
        assert refusal is not None, properties
        assert refusal.numbers == numbers


def test_a_scope_inherits_and_has_no_affinity_of_its_own() -> None:
    frame = framed(
        two_nodes(), "taskset -c 0-3 systemd-run --scope -p CPUAffinity=8 -p CPUQuota=100%"
    )
    assert limits_of(frame) == ("", "", "0-3", 1.0)
    assert any("CPUAffinity" in note for note in frame.notes)
    frame = framed(two_nodes(), "taskset -c 0-3 systemd-run -p CPUQuota=100% true")
    assert limits_of(frame) == ("", "", "", 1.0)


@pytest.mark.parametrize(
    "line",
    [
        "systemd-run -p CPUQuota=2 x", "systemd-run -p AllowedCpus=0 x", "systemd-run -p CPUQuota x",
        "systemd-run -p CPUAffinity=x x", "systemd-run -p NUMAPolicy=strict x", "systemd-run --foo x",
        "systemd-run -p AllowedCPUs=100000000000000000000 x",
    ],
)  # fmt: skip
def test_what_systemd_does_not_take(line: str) -> None:
    with pytest.raises(UsageError):
        framed(two_nodes(), line)


def test_srun_counts_cpus_that_it_does_not_name() -> None:
    for line in ("srun -c 12 -n1 python run.py", "srun --cpus-per-task=12 --cpu-bind=cores x"):
        frame = framed(two_nodes(), line)
        assert limits_of(frame) == ("", "", "", 12.0)
        assert any("choice of Slurm" in note for note in frame.notes)
    refusal = framed(two_nodes(), "srun -c 48 x").refusal
    assert refusal is not None
    assert "24 CPUs" in refusal.reason
    assert limits_of(framed(two_nodes(), "srun x")) == ("", "", "", None)


@pytest.mark.parametrize(
    ("binding", "cpus"),
    [
        ("map_cpu:3,5", "3"),
        ("verbose,map_cpu:0x0a*4", "10"),
        ("mask_cpu:0xff,ff00", "0-7"),
        ("v,mask_cpu:ff000", "12-19"),
        ("map_ldom:1", "6-11,18-23"),
        ("mask_ldom:0x3", "0-23"),
        ("none", ""),
        ("ldoms", ""),
        ("rank_ldom", ""),
        ("verbose", ""),
    ],
)
def test_srun_binds_the_first_task(binding: str, cpus: str) -> None:
    frame = framed(two_nodes(), f"srun --cpu-bind={binding} program")
    assert limits_of(frame) == ("", "", cpus, None)


def test_srun_binds_memory_to_the_nodes_of_known_cpus() -> None:
    frame = framed(two_nodes(), "srun --cpu-bind=map_cpu:6 --mem-bind=local x")
    assert frame.memory == MemoryPolicy("bind", CpuSet([1]))
    frame = framed(two_nodes(), "srun -c 4 --mem-bind=local x")
    assert frame.memory == MemoryPolicy("bind")
    frame = framed(two_nodes(), "srun --mem-bind=prefer,map_mem:1 x")
    assert frame.memory == MemoryPolicy("preferred", CpuSet([1]))
    frame = framed(two_nodes(), "srun --mem-bind=mask_mem:0x3 x")
    assert frame.memory == MemoryPolicy("bind", CpuSet([0, 1]))
    assert framed(two_nodes(), "srun --mem-bind=none x").memory == MemoryPolicy()


def test_locality_domains_are_not_node_ids_where_these_have_gaps() -> None:
    frame = framed(text_of("node-ids-0-2-3"), "srun --cpu-bind=map_ldom:1 x")
    assert frame.machine.limits.affinity is None
    assert any("gaps" in note for note in frame.notes)


@pytest.mark.parametrize(
    "options",
    ["--cpu-bind=map_cpu:", "--cpu-bind=map_cpu:x", "--cpu-bind=foo:1", "--mem-bind=foo", "-c x",
     "-c 0", "--hint=fast", "--cpubind=cores", "--cpu-bind=map_cpu:100000000000000000000"],
)  # fmt: skip
def test_what_srun_does_not_take(options: str) -> None:
    with pytest.raises(UsageError):
        framed(two_nodes(), f"srun {options} x")


@pytest.mark.parametrize(
    ("words", "quota"),
    [
        ("cpu=4", 4.0),
        ("cpu=1500m", 1.5),
        ("cpu=4 policy=none", 4.0),
        ("cpu=4 policy=static qos=burstable", 4.0),
        ("cpu=1.5 policy=static", 1.5),
        ("cpu=4,policy=static,topology=single-numa-node", 4.0),
        ("cpu=4 qos=besteffort", None),
        ("policy=static", None),
    ],
)
def test_a_pod_counts_its_cpus(words: str, quota: float | None) -> None:
    assert limits_of(framed(two_nodes(), f"kubernetes {words} python run.py")) == (
        "",
        "",
        "",
        quota,
    )


def test_whether_cpus_are_exclusive() -> None:
    for words, is_alone in {
        "cpu=4 policy=static": True,
        "cpu=4 policy=static qos=burstable": False,
        "cpu=4.5 policy=static": False,
        "cpu=4": False,
    }.items():
        effect = framed(two_nodes(), f"kubernetes {words}").layers[0].effect
        assert effect.endswith("exclusive CPUs") is is_alone


def test_exclusive_cpus_that_are_stated_are_a_cpuset() -> None:
    line = "kubernetes cpu=4 policy=static cpuset=0-1,12-13 mems=0 taskset -c 0,6 x"
    assert limits_of(framed(two_nodes(), line)) == ("0-1,12-13", "0", "0", None)


@pytest.mark.parametrize("machine", [tree_of("two-node-smt")])
def test_what_the_kubelet_rejects(machine: Machine) -> None:
    assert machine.threads_per_core == 2
    for words, is_rejected in {
        "cpu=12 topology=single-numa-node": False,
        "cpu=14 topology=single-numa-node": True,
        "cpu=14 topology=restricted": False,
        "cpu=14": False,
        "cpu=24": True,
        "cpu=3 full-pcpus-only": True,
        "cpu=3": False,
        "cpu=4,full-pcpus-only,distribute-cpus-across-numa": False,
        "cpu=14 qos=burstable topology=single-numa-node": False,
    }.items():
        frame = framed(machine, f"kubernetes policy=static {words}")
        assert (frame.refusal is not None) is is_rejected, words


@pytest.mark.parametrize(
    "words",
    ["cpu=x", "polcy=static", "policy=dynamic", "cpu=0", "cpu=4 cpu=5", "cpu=4,topology=numa",
     "cpu=4 policy=static cpuset=0-1", "cpuset=x", "cpu=100000000000000000000"],
)  # fmt: skip
def test_what_a_pod_is_not(words: str) -> None:
    with pytest.raises(UsageError):
        framed(two_nodes(), f"kubernetes {words}")


def test_seccomp_of_a_pod() -> None:
    for words, allowed in {
        "": None,
        "seccomp=RuntimeDefault": False,
        "seccomp=Unconfined": True,
    }.items():
        frame = framed(two_nodes(), f"kubernetes cpu=4 {words} numactl -l x")
        assert frame.may_set_policy is allowed


def test_notes_of_srun() -> None:
    for options, part in {
        "-c 4 --hint=nomultithread": "one CPU of each core",
        "-c 4 --mem-bind=rank": "number of the task",
        "-n 4": "-c says more",
        "--cpu-bind=map_ldom:0": "whole machine",
    }.items():
        frame = framed(two_nodes(), f"srun {options} x")
        assert frame.refusal is None
        assert any(part in note for note in frame.notes), options


def test_what_slurm_refuses() -> None:
    for options, numbers in {
        "--cpu-bind=map_cpu:24": {"cpus": [24]},
        "--cpu-bind=map_ldom:5": {"nodes": [5]},
        "--mem-bind=map_mem:2": {"nodes": [2]},
    }.items():
        refusal = framed(two_nodes(), f"srun {options} x").refusal
        assert refusal is not None, options
        assert refusal.numbers == numbers
        assert refusal.launcher == "srun"


def test_schedulers_on_a_machine_that_is_not_known() -> None:
    machine = Machine("nothing", gaps=("nodes", "cpus"))
    for line, limits in {
        "srun --cpu-bind=map_ldom:0 x": ("", "", "", None),
        "srun --cpu-bind=map_cpu:3 --mem-bind=local x": ("", "", "3", None),
        "srun -c 64 --mem-bind=map_mem:1 x": ("", "", "", 64.0),
        "systemd CPUAffinity=numa NUMAPolicy=bind NUMAMask=all x": ("", "", "", None),
        "systemd NUMAPolicy=bind NUMAMask=1 AllowedCPUs=0-3 x": ("0-3", "", "", None),
        "kubernetes cpu=64 policy=static full-pcpus-only topology=single-numa-node": (
            "",
            "",
            "",
            64.0,
        ),
    }.items():
        frame = framed(machine, line)
        assert limits_of(frame) == limits
        assert any("known" in note or "open" in note for note in frame.notes), line


def test_notes_of_a_pod() -> None:
    for words, part in {
        "topology=best-effort": "if these are free",
        "topology=restricted": "as few nodes",
        "topology=single-numa-node": "of one node",
        "memory-manager=static": "memory manager",
        "distribute-cpus-across-numa": "evenly",
    }.items():
        frame = framed(two_nodes(), f"kubernetes cpu=4 policy=static {words}")
        assert any(part in note for note in frame.notes), words


def test_a_daemon_may_not_have_the_affinity_of_this_process() -> None:
    machine = limited(two_nodes(), affinity="0-3")
    for line in ("srun -c 2 x", "docker run image", "systemd-run x", "kubernetes cpu=2"):
        frame = framed(machine, line)
        assert str(frame.machine.limits.affinity) == "0-3"
        assert any("daemon" in note for note in frame.notes), line
