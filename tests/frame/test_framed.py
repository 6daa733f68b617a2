"""What holds for every frame: it is read back, it can be laid twice, and it never widens."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from numatune.errors import NumatuneError, UsageError
from numatune.frame import framed
from numatune.frame.registry import LAUNCHERS
from numatune.machine import CpuSet, Machine
from tests.frame.machines import limited, text_of, tree_of

NAMES = ("two-node-smt", "memoryless-node", "nodes-without-cpus", "node-ids-0-2-3", "cpus-offline")
machines = st.sampled_from([*map(text_of, NAMES), *map(tree_of, NAMES)])
cpu_sets = st.sets(st.integers(0, 23), min_size=1).map(CpuSet)


def strided(cpus: CpuSet) -> str:
    """The set as taskset takes it, pairs two apart as a range with a stride."""
    ids, parts = list(cpus), []
    while ids:
        first = ids.pop(0)
        if ids[:1] == [first + 2]:
            parts.append(f"{first}-{ids.pop(0)}:2")
        else:
            parts.append(str(first))
    return ",".join(parts)


@given(cpu_sets)
def test_a_set_of_cpus_is_read_back_from_every_grammar(cpus: CpuSet) -> None:
    machine = text_of("two-node-smt")
    plain = ",".join(map(str, cpus))
    hexed = ",".join(f"{i:#x}" for i in cpus)
    places = ",".join(map(str, cpus))
    for line in (
        f"numactl -C {cpus}",
        f"numactl --physcpubind={plain}",
        f"numactl -C {hexed}",
        f"numactl --all -C +{places}",
        f"taskset -c {cpus}",
        f"taskset -c {strided(cpus)}",
        f"taskset {cpus.mask:x}",
        f"taskset {cpus.mask:#x}",
        f"systemd CPUAffinity={cpus}",
        f"srun --cpu-bind=mask_cpu:{cpus.mask:#x}",
    ):
        assert framed(machine, line).machine.limits.affinity == cpus, line
    for line in (
        f"docker run --cpuset-cpus {cpus} image",
        f"systemd 'AllowedCPUs={' '.join(map(str, cpus))}'",
        f"kubernetes cpuset={plain}",
    ):
        assert framed(machine, line).machine.limits.cpuset_cpus == cpus, line


@given(cpu_sets)
def test_an_inverse_is_the_rest(cpus: CpuSet) -> None:
    rest = CpuSet(range(24)) - cpus
    frame = framed(text_of("two-node-smt"), f"numactl -C !{cpus}")
    assert frame.machine.limits.affinity == (rest or None)
    assert (frame.refusal is None) is bool(rest)


nodes = st.sampled_from(["0", "1", "2", "3", "0-1", "0,2", "all"])
lines = st.one_of(
    st.builds("numactl -N {}".format, nodes),
    st.builds("numactl -a -N {}".format, nodes),
    st.builds("numactl -m {0} -N {0}".format, nodes),
    st.builds("numactl -C {}".format, cpu_sets),
    st.builds("numactl --all -C {}".format, cpu_sets),
    st.builds("taskset -c {}".format, cpu_sets),
    st.builds("docker run --cap-add SYS_NICE --cpuset-cpus {} --cpus 1.5 image".format, cpu_sets),
    st.builds("systemd AllowedCPUs={} CPUAffinity={}".format, cpu_sets, cpu_sets),
    st.builds("srun --cpu-bind=mask_cpu:{:#x}".format, cpu_sets.map(lambda cpus: cpus.mask)),
    st.builds("kubernetes cpu={} policy=static".format, st.integers(1, 30)),
)
chains = st.lists(lines, min_size=1, max_size=3).map(" ".join)


# A limit holds online CPUs alone, so that an offline one is not accepted a second time.
@given(machines.filter(lambda machine: not machine.offline_cpus), lines)
def test_a_frame_laid_twice_is_laid_once(machine: Machine, line: str) -> None:
    once = framed(machine, line)
    twice = framed(once.machine, line)
    assert (twice.refusal is None) is (once.refusal is None)
    assert twice.machine == once.machine
    assert twice.memory == once.memory


@given(machines, st.none() | cpu_sets, st.none() | cpu_sets, chains)
def test_a_frame_never_gives_what_the_machine_forbids(
    machine: Machine, cpuset: CpuSet | None, affinity: CpuSet | None, chain: str
) -> None:
    limits = {"cpuset_cpus": cpuset, "affinity": affinity}
    machine = limited(machine, **{name: str(cpus) for name, cpus in limits.items() if cpus})
    usable = machine.usable_cpus
    assert usable is not None
    frame = framed(machine, chain)
    inside = frame.machine.usable_cpus
    assert inside is not None
    assert inside <= usable
    if frame.refusal is None:
        assert frame.memory.nodes is None or frame.memory.nodes
        assert frame.machine._replace(limits=machine.limits) == machine
        if usable and (affinity is None or affinity & usable):
            assert frame.machine.inherited_cpus


@given(st.text(max_size=80))
@example("numactl -N 0 'x")
@example('"')
@example("taskset -c 0 \x1b[2Jx")
@example("numactl -C \u0661")
def test_any_text_is_read_or_refused(text: str) -> None:
    machine = text_of("two-node-smt")
    for line in (text, f"numactl {text}", f"taskset -c {text}", f"docker run {text}"):
        try:
            frame = framed(machine, line)
        except NumatuneError:
            continue
        assert all(part.isprintable() for layer in frame.layers for part in layer)
        assert all(note.isprintable() for note in frame.notes)
        assert frame.refusal is None or frame.refusal.reason.isprintable()


WORDS = st.sampled_from(
    [*LAUNCHERS, "run", "-N", "-m", "-C", "-c", "-p", "--all", "0", "1", "0-3", "!0", "+0", "all",
     "same", "--", "image", "--cpuset-cpus", "cpu=4", "policy=static", "CPUAffinity=0", "A=b", "-",
     "--cpu-bind=cores", "--mem-bind=local", "ff", "-i", "--cpus=2", "-1", ""]
)  # fmt: skip


@given(machines, st.lists(WORDS, max_size=8).map(" ".join))
def test_any_words_are_read_or_refused(machine: Machine, line: str) -> None:
    try:
        frame = framed(machine, line)
    except UsageError:
        return
    assert frame.layers


@pytest.mark.parametrize(
    "text",
    [
        "x" * 100_000,
        "numactl -N 0 " * 8000,
        "numactl -C " + "0-9999," * 14_000,
        "numactl -C 'x",
        "numactl -N 0 \x00",
        "numactl -C 1" + "0" * 20,
        "taskset -c 0-1" + "0" * 20,
        "docker run --cpuset-cpus 1" + "0" * 20,
        "",
        " \n",
        "python run.py",
        "A=b",
        "numctl -N 0",
    ],
)
def test_hostile_text_is_refused_at_once(text: str) -> None:
    start = time.monotonic()
    with pytest.raises(UsageError) as error:
        framed(text_of("two-node-smt"), text)
    assert len(str(error.value)) < 300
    assert time.monotonic() - start < 1


def test_the_longest_text_is_read_at_once() -> None:
    start = time.monotonic()
    for line in (
        "taskset -c " + "0-9999:2," * 1800 + "0",
        "numactl -C " + "0-16383," * 2000 + "0",
        "numactl -N 0 " * 1200,
        "nice " * 3000 + "taskset 1",
    ):
        framed(text_of("two-node-smt"), line)
    assert time.monotonic() - start < 4


def test_what_is_passed_over() -> None:
    line = (
        "sudo -E -u user env -u X OMP_NUM_THREADS=4 nice -n -5 ionice -c 2 -n 0 chrt -f 10"
        " stdbuf -oL time -p nohup timeout -k 5 60 /usr/bin/taskset -c 0-3 ./program --threads 4"
    )
    frame = framed(text_of("two-node-smt"), line)
    assert str(frame.machine.limits.affinity) == "0-3"
    assert [layer.name for layer in frame.layers] == [
        "sudo", "env", "nice", "ionice", "chrt", "stdbuf", "time", "nohup", "timeout", "taskset",
    ]  # fmt: skip
    assert any("--env" in note for note in frame.notes)
    assert (
        str(framed(text_of("two-node-smt"), "A=b nice -5 taskset 3").machine.limits.affinity)
        == "0-1"
    )


def test_a_typing_error_is_met_with_the_right_word() -> None:
    with pytest.raises(UsageError, match="did you mean numactl"):
        framed(text_of("two-node-smt"), "numctl -N 0")
    with pytest.raises(UsageError, match="did you mean cpuset-cpus"):
        framed(text_of("two-node-smt"), "docker run --cpusetcpus 0-3 image")
    with pytest.raises(UsageError, match="numactl, taskset, docker"):
        framed(text_of("two-node-smt"), "python run.py")


def test_a_line_may_go_on_below() -> None:
    frame = framed(text_of("two-node-smt"), "numactl \\\n  -N 1 \\\n\t-m 1\n")
    assert str(frame.memory.nodes) == "1"


def test_the_words_that_are_passed_over_are_those_that_can_be_read() -> None:
    from numatune.frame import passed, registry

    assert tuple(passed.PASSED) == registry.PASSED
    assert all(registry.reader_of(word) is not None for word in registry.LAUNCHERS)
    assert registry.reader_of("mpirun") is None
