import pytest

from numatune.errors import UsageError
from numatune.frame import framed
from tests.frame.machines import limited, text_of, tree_of


@pytest.mark.parametrize(
    ("words", "cpus"),
    [
        ("-c 0-7", "0-7"),
        ("--cpu-list 0-7", "0-7"),
        ("-ac 0,3,7-11", "0,3,7-11"),
        ("-c 0-15:2", "0,2,4,6,8,10,12,14"),
        ("-c 1-10:4,20", "1,5,9,20"),
        ("ff", "0-7"),
        ("0xff", "0-7"),
        ("03", "0-1"),
        ("f,00000001", "0"),
        ("0x800001", "0,23"),
    ],
)
def test_lists_and_masks(words: str, cpus: str) -> None:
    frame = framed(text_of("two-node-smt"), f"taskset {words} python run.py -c 9")
    assert frame.refusal is None
    assert str(frame.machine.limits.affinity) == cpus
    assert frame.machine.limits.cpuset_cpus is None


def test_what_is_not_there_is_dropped_and_an_empty_rest_refused() -> None:
    machine = text_of("two-node-smt")
    frame = framed(machine, "taskset -c 20-40 true")
    assert str(frame.machine.limits.affinity) == "20-23"
    assert "24-40" in frame.notes[0]
    refusal = framed(machine, "taskset -c 24-25 true").refusal
    assert refusal is not None
    assert refusal.numbers == {"cpus": [24, 25]}
    assert refusal.launcher == "taskset"
    refusal = framed(tree_of("cpus-offline"), "taskset -c 5,12 true").refusal
    assert refusal is not None
    assert refusal.cpus == (5, 12)
    refusal = framed(machine, "taskset 0x0 true").refusal
    assert refusal is not None
    assert refusal.cpus == ()


def test_an_affinity_is_replaced_but_a_cpuset_stays() -> None:
    machine = limited(text_of("two-node-smt"), affinity="0-3", cpuset_cpus="0-11")
    assert str(framed(machine, "taskset -c 8-15 true").machine.limits.affinity) == "8-11"


@pytest.mark.parametrize(
    "words",
    [
        "", "-c", "-c 0-", "-c 3-1", "-c 0-7:0", "-c 0-7:", "-c x", "-c 0,", "-c '0, 1'", "xyz",
        "0x", "-p 123", "-pc 0-3 123", "--cpu-list=0-3 x", "-c 123456789012345678901", "-h",
        "f" * 5000, "-c 1:2",
    ],
)  # fmt: skip
def test_what_taskset_does_not_take(words: str) -> None:
    with pytest.raises(UsageError):
        framed(text_of("two-node-smt"), f"taskset {words}")
