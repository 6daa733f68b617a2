import pytest

from numatune.errors import UsageError
from numatune.frame import MemoryPolicy, framed
from numatune.machine import CpuSet, Machine
from tests.frame.machines import limited, text_of, tree_of

RUN = "docker run -it --rm --gpus all -v /models:/models"


def two_nodes() -> Machine:
    """Two nodes: 0-5,12-17 and 6-11,18-23."""
    return text_of("two-node-smt")


def test_a_cpuset_is_enforced_and_no_affinity() -> None:
    for line in (
        f"{RUN} --cpuset-cpus 0-5,12-17 --cpuset-mems=0 image",
        "docker --cpuset-cpus=0-5,12-17 --cpuset-mems 0",
        "podman run --cpuset-mems=0 --cpuset-cpus '0-5,12-17' -- image",
        "docker container run --cpuset-cpus 9 --cpuset-cpus 0-5,12-17 --cpuset-mems 0 image",
    ):
        frame = framed(two_nodes(), line)
        assert frame.refusal is None, line
        assert str(frame.machine.limits.cpuset_cpus) == "0-5,12-17"
        assert str(frame.machine.limits.cpuset_mems) == "0"
        assert frame.machine.limits.affinity is None


@pytest.mark.parametrize(
    ("options", "quota"),
    [
        ("--cpus=1.5", 1.5),
        ("--cpus 8", 8.0),
        ("--cpu-quota 200000", 2.0),
        ("--cpu-quota=50000 --cpu-period=25000", 2.0),
        ("--cpu-quota -1", None),
        ("--cpus 0", None),
        ("--cpu-shares 512", None),
    ],
)
def test_the_quota_is_in_cpus(options: str, quota: float | None) -> None:
    assert framed(two_nodes(), f"{RUN} {options} image").machine.limits.cpu_quota == quota


def test_a_smaller_quota_of_the_host_stays() -> None:
    machine = two_nodes()
    machine = machine._replace(limits=machine.limits._replace(cpu_quota=2.0))
    assert framed(machine, f"{RUN} --cpus 8 image").machine.limits.cpu_quota == 2.0
    assert framed(machine, f"{RUN} --cpus 1 image").machine.limits.cpu_quota == 1.0


def test_what_the_daemon_refuses() -> None:
    refusals = {
        "--cpuset-cpus 20-25": {"cpus": [24, 25]},
        "--cpuset-mems 0,2": {"nodes": [2]},
        "--cpus 25": {},
        "--cpus 2 --cpu-quota 100000": {},
        "--cpu-quota 999": {},
        "--cpu-quota 1000 --cpu-period 500": {},
    }
    for options, numbers in refusals.items():
        refusal = framed(two_nodes(), f"{RUN} {options} image").refusal
        assert refusal is not None, options
        assert refusal.numbers == numbers
        assert refusal.launcher == "docker"
    refusal = framed(text_of("memoryless-node"), f"{RUN} --cpuset-mems 1 image").refusal
    assert refusal is not None
    assert refusal.nodes == (1,)
    refusal = framed(tree_of("cpus-offline"), f"{RUN} --cpuset-cpus 4-5 image").refusal
    assert refusal is not None
    assert refusal.cpus == (5,)


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ("", False),
        ("--cap-add SYS_NICE", True),
        ("--cap-add=cap_sys_nice", True),
        ("--cap-add ALL", True),
        ("--cap-add SYS_PTRACE", False),
        ("--privileged", True),
        ("--privileged=false", False),
        ("--security-opt seccomp=unconfined", True),
        ("--security-opt=seccomp:unconfined", True),
        ("--security-opt seccomp=/etc/profile.json", None),
        ("--security-opt no-new-privileges", False),
    ],
)
def test_whether_a_memory_policy_is_allowed(options: str, allowed: bool | None) -> None:
    for name in ("docker", "podman"):
        frame = framed(two_nodes(), f"{name} run {options} image numactl -m 0 program")
        assert frame.may_set_policy is allowed
        assert (frame.refusal is None) is (allowed is not False)


def test_numactl_in_a_container_without_the_capability() -> None:
    frame = framed(two_nodes(), f"{RUN} image numactl -N 1 true")
    assert frame.refusal is None
    assert str(frame.machine.limits.affinity) == "6-11,18-23"
    assert any("2.0.18" in note for note in frame.notes)
    refusal = framed(two_nodes(), f"{RUN} image numactl -i all true").refusal
    assert refusal is not None
    assert refusal.launcher == "numactl"
    assert "SYS_NICE" in refusal.reason


def test_launchers_are_read_from_the_outside_in() -> None:
    frame = framed(
        two_nodes(),
        f"{RUN} --cap-add SYS_NICE --cpuset-cpus 0-11 image numactl -N 1 -m 1 taskset -c 0-7 ./x",
    )
    assert [layer.name for layer in frame.layers] == ["docker", "numactl", "taskset"]
    assert str(frame.machine.limits.cpuset_cpus) == "0-11"
    assert str(frame.machine.limits.affinity) == "0-7"
    assert frame.memory == MemoryPolicy("bind", CpuSet([1]))
    assert frame.layers[1].text == "numactl -N 1 -m 1"


def test_the_daemon_does_not_inherit_what_limits_its_client() -> None:
    frame = framed(two_nodes(), "numactl -N 1 -m 1 docker run --cpuset-cpus 0-3 image")
    assert frame.machine.limits.affinity is None
    assert frame.memory == MemoryPolicy()
    assert any("client" in note for note in frame.notes)


def test_a_container_on_a_limited_host_gets_no_more() -> None:
    machine = limited(two_nodes(), cpuset_cpus="0-7")
    frame = framed(machine, f"{RUN} --cpuset-cpus 4-11 image")
    assert str(frame.machine.limits.cpuset_cpus) == "4-7"
    refusal = framed(machine, f"{RUN} --cpuset-cpus 8-11 image").refusal
    assert refusal is not None
    assert refusal.cpus == (8, 9, 10, 11)


def test_an_entrypoint_is_not_read() -> None:
    frame = framed(two_nodes(), f"{RUN} --entrypoint numactl image -N 0 true")
    assert frame.machine.limits.affinity is None
    assert any("entrypoint" in note for note in frame.notes)


@pytest.mark.parametrize(
    "line",
    [
        "docker run --cpuset-cpu 0-3 image", "docker run --cpuset image", "docker exec box true",
        "docker ps", "docker run --cpus x image", "docker run --cpuset-cpus 3-1 image",
        "docker run --cpus", "docker run -Z image", "docker run --cpuset-cpus 99999999999 image",
        "docker run --cpu-quota 1e5 image",
    ],
)  # fmt: skip
def test_what_docker_does_not_have(line: str) -> None:
    with pytest.raises(UsageError):
        framed(two_nodes(), line)


def test_an_unknown_machine_keeps_what_is_said() -> None:
    machine = Machine("nothing", gaps=("nodes", "cpus"))
    frame = framed(machine, f"{RUN} --cpuset-cpus 0-3 --cpuset-mems 1 --cpus 4 image")
    assert frame.refusal is None
    assert str(frame.machine.limits.cpuset_cpus) == "0-3"
    assert str(frame.machine.limits.cpuset_mems) == "1"
    assert frame.machine.limits.cpu_quota == 4
    assert len([note for note in frame.notes if "not known" in note]) == 2


def test_a_refusal_of_podman_says_that_it_is_not_verified() -> None:
    refusal = framed(two_nodes(), "podman run --cpuset-cpus 99 image").refusal
    assert refusal is not None
    assert "not verified" in refusal.reason
    assert framed(two_nodes(), "podman run --cpus 99 image").refusal is None
