"""What cgroups leave to a process, in every layout that containers and hosts have."""

from __future__ import annotations

from pathlib import Path

import pytest

from numatune.machine import CpuSet, Limits
from numatune.sources.cgroup import read_limits
from numatune.sources.tree import Tree
from tests.sources.trees import write_files

ONLINE = CpuSet.parse("0-15")
STATUS = "Name:\tcat\nCpus_allowed:\tffff\nCpus_allowed_list:\t{}\nMems_allowed_list:\t{}\n"
BASE = "sys/fs/cgroup"
V2 = "31 23 0:28 {} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "{} 31 0:3{} {} /sys/fs/cgroup/{} rw,relatime shared:9 - cgroup cgroup rw,{}\n"


def limits(root: Path, files: dict[str, str]) -> Limits:
    (root / "sys").mkdir(exist_ok=True)
    files = {"proc/self/status": STATUS.format("0-15", "0-1"), **files}
    return read_limits(Tree(str(write_files(root, files))), ONLINE)


def parsed(cpus: str | None, mems: str | None, quota: float | None = None) -> Limits:
    sets = [None if text is None else CpuSet.parse(text) for text in (cpus, mems)]
    return Limits(sets[0], sets[1], None, quota)


def test_without_a_cgroup_the_status_tells(tmp_path: Path) -> None:
    assert limits(tmp_path, {}) == parsed(None, "0-1")


def test_an_affinity_that_takes_nothing_away_is_none(tmp_path: Path) -> None:
    """Kernels list all possible CPUs there, more than are online."""
    files = {"proc/self/status": STATUS.format("0-255", "0")}
    assert limits(tmp_path, files) == parsed(None, "0")


def test_an_inherited_affinity(tmp_path: Path) -> None:
    found = limits(tmp_path, {"proc/self/status": STATUS.format("8-15", "0-1")})
    assert found == Limits(None, CpuSet([0, 1]), CpuSet.parse("8-15"), None)


def test_nothing_readable_is_nothing_known(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    assert read_limits(Tree(str(tmp_path)), ONLINE) == Limits()


def test_v2_takes_the_nearest_cpuset_and_the_tightest_quota(tmp_path: Path) -> None:
    """The cpuset controller need not reach down to the process's own group."""
    files = {
        "proc/self/cgroup": "0::/a.slice/b.scope/leaf\n",
        "proc/self/mountinfo": V2.format("/"),
        f"{BASE}/cpuset.cpus.effective": "0-15\n",
        f"{BASE}/a.slice/cpuset.cpus.effective": "0-11\n",
        f"{BASE}/a.slice/cpuset.mems.effective": "0-1\n",
        f"{BASE}/a.slice/cpu.max": "400000 100000\n",
        f"{BASE}/a.slice/b.scope/cpuset.cpus.effective": "0-7\n",
        f"{BASE}/a.slice/b.scope/cpu.max": "250000 50000\n",
        f"{BASE}/a.slice/b.scope/leaf/cpu.max": "max 100000\n",
        "proc/self/status": STATUS.format("0-7", "0"),
    }
    assert limits(tmp_path, files) == parsed("0-7", "0-1", 4.0)


def test_an_affinity_within_a_cpuset(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/box\n",
        "proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
        f"{BASE}/box/cpuset.cpus.effective": "0-7\n",
        f"{BASE}/box/cpuset.mems.effective": "0\n",
        "proc/self/status": STATUS.format("0-3", "0"),
    }
    found = limits(tmp_path, files)
    assert found == Limits(CpuSet.parse("0-7"), CpuSet([0]), CpuSet.parse("0-3"), None)


@pytest.mark.parametrize(
    ("own", "shown"),
    [
        ("/", "/"),  # a cgroup namespace: the container's group looks like the top
        ("/docker/abc", "/docker/abc"),  # the host's names, the container's group mounted
        ("/", "/docker/abc"),  # a namespace made after the mount
        ("/system.slice/abc.scope", "/docker/abc"),  # no relation: the mount is all there is
    ],
)
def test_a_container_sees_its_own_group_as_the_top(tmp_path: Path, own: str, shown: str) -> None:
    files = {
        "proc/self/cgroup": f"0::{own}\n",
        "proc/self/mountinfo": V2.format(shown),
        f"{BASE}/cpuset.cpus.effective": "4-7\n",
        f"{BASE}/cpuset.mems.effective": "0\n",
        f"{BASE}/cpu.max": "150000 100000\n",
        "proc/self/status": STATUS.format("4-7", "0"),
    }
    assert limits(tmp_path, files) == parsed("4-7", "0", 1.5)


def test_a_group_inside_a_container_with_the_names_of_the_host(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/docker/abc/inner\n",
        "proc/self/mountinfo": V2.format("/docker/abc"),
        f"{BASE}/cpu.max": "max 100000\n",
        f"{BASE}/inner/cpu.max": "50000 100000\n",
    }
    assert limits(tmp_path, files) == parsed(None, "0-1", 0.5)


def test_a_group_outside_of_the_namespace_cannot_be_seen(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/../other\n",
        "proc/self/mountinfo": V2.format("/"),
        f"{BASE}/cpu.max": "50000 100000\n",
        f"{BASE}/other/cpu.max": "50000 100000\n",
        f"{BASE}/cpuset.cpus.effective": "4-7\n",
    }
    assert limits(tmp_path, files) == parsed(None, "0-1")


def test_a_mount_of_another_namespace_is_passed_over(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/box\n",
        "proc/self/mountinfo": V2.format("/../..").replace("/sys/fs/cgroup", "/host")
        + V2.format("/"),
        "host/box/cpu.max": "50000 100000\n",
        f"{BASE}/box/cpu.max": "200000 100000\n",
    }
    assert limits(tmp_path, files).cpu_quota == 2.0


def test_of_two_mounts_the_one_that_shows_the_group_is_taken(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/box\n",
        "proc/self/mountinfo": V2.format("/").replace("/sys/fs/cgroup", "/empty") + V2.format("/"),
        "empty/cgroup.procs": "1\n",
        f"{BASE}/box/cpu.max": "200000 100000\n",
    }
    assert limits(tmp_path, files).cpu_quota == 2.0


def test_an_empty_set_is_not_stated(tmp_path: Path) -> None:
    """A group that sets no CPUs of its own shows an empty file in v1."""
    files = {
        **v1(own="/docker/abc"),
        f"{BASE}/cpuset/docker/abc/cpuset.cpus": "\n",
        f"{BASE}/cpuset/docker/cpuset.cpus": "2-5\n",
        "proc/self/status": STATUS.format("2-5", "1"),
    }
    assert limits(tmp_path, files) == parsed("2-5", "1")


def v1(own: str = "/docker/abc", shown: str = "/") -> dict[str, str]:
    mounts = [
        V1.format(40 + i, i, shown, folder, options)
        for i, (folder, options) in enumerate(
            [("cpuset", "cpuset"), ("cpu,cpuacct", "cpu,cpuacct")]
        )
    ]
    return {
        "proc/self/cgroup": f"3:cpuset:{own}\n2:cpu,cpuacct:{own}\n1:name=systemd:/x\n",
        "proc/self/mountinfo": "22 27 0:21 / /proc rw - proc proc rw\n" + "".join(mounts),
    }


def test_v1(tmp_path: Path) -> None:
    files = {
        **v1(),
        f"{BASE}/cpuset/cpuset.cpus": "0-15\n",
        f"{BASE}/cpuset/docker/abc/cpuset.cpus": "2-5\n",
        f"{BASE}/cpuset/docker/abc/cpuset.mems": "1\n",
        f"{BASE}/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
        f"{BASE}/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        f"{BASE}/cpu,cpuacct/docker/cpu.cfs_quota_us": "120000\n",
        f"{BASE}/cpu,cpuacct/docker/cpu.cfs_period_us": "100000\n",
        f"{BASE}/cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "400000\n",
        f"{BASE}/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n",
        "proc/self/status": STATUS.format("2-5", "1"),
    }
    assert limits(tmp_path, files) == parsed("2-5", "1", 1.2)


def test_v1_effective_wins(tmp_path: Path) -> None:
    """A CPU that went offline stays in cpuset.cpus, and leaves the effective set."""
    files = {
        **v1(own="/", shown="/docker/abc"),
        f"{BASE}/cpuset/cpuset.cpus": "2-5\n",
        f"{BASE}/cpuset/cpuset.effective_cpus": "2-4\n",
        f"{BASE}/cpuset/cpuset.mems": "0\n",
        f"{BASE}/cpuset/cpuset.effective_mems": "0\n",
    }
    found = limits(tmp_path, files)
    assert (str(found.cpuset_cpus), str(found.cpuset_mems)) == ("2-4", "0")


def test_v1_and_v2_together(tmp_path: Path) -> None:
    """Hybrid: v2 is mounted, and the controllers are those of v1."""
    files = v1(own="/box")
    files["proc/self/cgroup"] += "0::/user.slice\n"
    files["proc/self/mountinfo"] += V2.format("/").replace("cgroup rw", "cgroup/unified rw")
    files |= {
        f"{BASE}/unified/user.slice/cgroup.procs": "1\n",
        f"{BASE}/unified/user.slice/cpu.max": "100000 100000\n",
        f"{BASE}/cpuset/box/cpuset.cpus": "0-3\n",
        f"{BASE}/cpuset/box/cpuset.mems": "0\n",
        f"{BASE}/cpu,cpuacct/box/cpu.cfs_quota_us": "300000\n",
        f"{BASE}/cpu,cpuacct/box/cpu.cfs_period_us": "100000\n",
        "proc/self/status": STATUS.format("0-3", "0"),
    }
    assert limits(tmp_path, files) == parsed("0-3", "0", 3.0)


def test_the_first_cpusets_had_no_prefix(tmp_path: Path) -> None:
    files = {
        "proc/self/cpuset": "/batch/1\n",
        "proc/mounts": "none /dev/cpuset cgroup rw,cpuset,noprefix 0 0\n",
        "dev/cpuset/batch/1/cpus": "8-11\n",
        "dev/cpuset/batch/1/mems": "1\n",
        "proc/self/status": STATUS.format("8-11", "1"),
    }
    assert limits(tmp_path, files) == parsed("8-11", "1")


def test_the_usual_places_serve_without_a_table_of_mounts(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/box\n",
        f"{BASE}/cgroup.controllers": "cpuset cpu\n",
        f"{BASE}/box/cpuset.cpus.effective": "0-3\n",
        f"{BASE}/box/cpu.max": "200000 100000\n",
        "proc/self/status": STATUS.format("0-3", "0-1"),
    }
    assert limits(tmp_path, files) == parsed("0-3", "0-1", 2.0)


def test_a_mount_point_with_a_blank(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/\n",
        "proc/self/mountinfo": V2.format("/").replace("/sys/fs/cgroup", "/mnt/my\\040groups"),
        "mnt/my groups/cpu.max": "100000 100000\n",
    }
    assert limits(tmp_path, files).cpu_quota == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "max",
        "max 100000",
        "100000",
        "100000 0",
        "0 100000",
        "-1 100000",
        "a b",
        "1 2 3",
        "a 1 2",
    ],
)
def test_no_quota(tmp_path: Path, text: str) -> None:
    files = {
        "proc/self/cgroup": "0::/\n",
        "proc/self/mountinfo": V2.format("/"),
        f"{BASE}/cpu.max": f"{text}\n",
    }
    assert limits(tmp_path, files).cpu_quota is None


@pytest.mark.parametrize(
    "path", ["/../../etc", "/a/../b", "/" + "a/" * 1500, "", "no slash", "/\0"]
)
def test_hostile_group_paths(tmp_path: Path, path: str) -> None:
    files = {
        "proc/self/cgroup": f"0::{path}\nnonsense\n::\n",
        "proc/self/mountinfo": V2.format("/") + "short - cgroup2\nx\n - \n",
        **{f"{folder}/cpu.max": "100000 100000\n" for folder in ("etc", "sys/etc", f"{BASE}/b")},
    }
    assert limits(tmp_path, files) == parsed(None, "0-1")


def test_an_unreadable_status_is_named(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    files = {"proc/self/status": "Cpus_allowed_list:\t5-3\nMems_allowed_list:\t0\n"}
    tree = Tree(str(write_files(tmp_path, files)))
    assert read_limits(tree, ONLINE) == parsed(None, "0")
    assert tree.refused == {"proc/self/status": "holds no list of ids in Cpus_allowed_list"}
