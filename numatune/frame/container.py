"""docker run and podman run: cpusets, CPU quota, and whether memory policies are allowed inside.

Sources: verifyPlatformContainerResources in daemon/daemon_unix.go and the default seccomp profile
of https://github.com/moby/moby/tree/b985e2313a8676e18072b442911fc8f64f17d440, and
https://github.com/containers/common/blob/08bbb0dfae71da36afd3be1ca104701e6cfa4406/pkg/seccomp/seccomp.json
Both profiles allow get_mempolicy, set_mempolicy and mbind with CAP_SYS_NICE alone. What docker's
daemon refuses is not verified for podman; the refusal says so.
"""

from __future__ import annotations

from numatune.errors import UsageError
from numatune.frame import kernel
from numatune.frame.frame import Entered, Framed
from numatune.frame.lists import kernel_list
from numatune.frame.options import Options, names, number, read_options
from numatune.machine import CpuSet, Machine
from numatune.words import listed, shown

VALUES = names(
    "add-host annotation arch attach blkio-weight blkio-weight-device cap-add cap-drop"
    " cgroup-parent cgroupns cgroups cidfile cpu-period cpu-quota cpu-rt-period cpu-rt-runtime"
    " cpu-shares cpus cpuset-cpus cpuset-mems detach-keys device device-cgroup-rule device-read-bps"
    " device-read-iops device-write-bps device-write-iops dns dns-option dns-search domainname"
    " entrypoint env env-file expose gpus group-add health-cmd health-interval health-retries"
    " health-start-interval health-start-period health-timeout hostname ip ip6 ipc isolation"
    " kernel-memory label label-file link link-local-ip log-driver log-opt mac-address memory"
    " memory-reservation memory-swap memory-swappiness mount name network network-alias net"
    " oom-score-adj pid pids-limit platform pod publish pull restart runtime secret security-opt"
    " shm-size stop-signal stop-timeout storage-opt sysctl systemd timezone tmpfs ulimit umask user"
    " userns uts volume volume-driver volumes-from workdir"
)
#: They may be followed by =true or =false.
SWITCHES = names(
    "detach disable-content-trust env-host help http-proxy init interactive no-healthcheck no-hosts"
    " oom-kill-disable passwd privileged publish-all quiet read-only read-only-tmpfs replace rm rmi"
    " sig-proxy tls-verify tty unsetenv-all use-api-socket"
)
OPTIONS = Options(
    VALUES,
    optional=SWITCHES,
    short={
        "a": "attach", "c": "cpu-shares", "d": "detach", "e": "env", "h": "hostname",
        "i": "interactive", "l": "label", "m": "memory", "p": "publish", "P": "publish-all",
        "q": "quiet", "t": "tty", "u": "user", "v": "volume", "w": "workdir",
    },
    shortens=False,
)  # fmt: skip

NO = ("false", "0", "f", "FALSE", "False", "F")
#: The period of cpu.max where none is given, in microseconds.
PERIOD = 100_000


class Given:
    """The options of one container; of an option that counts once, the last."""

    def __init__(self, launcher: str, found: list[tuple[str, str]]) -> None:
        self.launcher = launcher
        self.found = found
        self.once = dict(found)

    def all_of(self, name: str) -> list[str]:
        """Return every value of an option, lists of them taken apart."""
        return [part for n, v in self.found if n == name for part in v.split(",")]

    def is_on(self, name: str) -> bool:
        """Tell whether a switch is on."""
        return name in self.once and self.once[name] not in NO

    def whole(self, name: str) -> int:
        """Return a whole number, 0 where the option is not given. Raises UsageError."""
        text = self.once.get(name, "0")
        if text.startswith("-") and text[1:].isdecimal():
            return 0  # a quota of -1 is none
        return int(number(self.launcher, f"--{name}", text, 0, 1e15))

    def set_of(self, name: str) -> CpuSet:
        """Return a set of ids, empty where the option is not given. Raises UsageError."""
        return kernel_list(self.launcher, f"--{name}", self.once.get(name, ""))


def enter(frame: Framed, words: list[str], host: Machine) -> Entered:
    """Return the frame inside of the container. Raises UsageError."""
    name = words[0].rsplit("/", 1)[-1]
    rest = words[1:]
    if rest[:1] == ["container"]:
        rest = rest[1:]
    if rest[:1] in (["run"], ["create"]):
        rest = rest[1:]
    elif rest and not rest[0].startswith("-"):
        raise UsageError(f"{name} {shown(rest[0])} starts no container; write {name} run")
    found, rest = read_options(name, rest, OPTIONS)
    given = Given(name, found)
    frame = kernel.started_anew(frame, host, name)
    frame = with_policies(frame, given)
    effects = []
    for step in (cpus_confined, mems_confined, quota_set):
        if frame.refusal is None:
            frame, effect = step(frame, given)
            effects.append(effect)
    if given.once.get("entrypoint"):
        frame = frame.noted(f"{name}: the entrypoint {shown(given.once['entrypoint'])} is not read")
        rest = []
    effects = [effect for effect in effects if effect]
    if name == "podman" and frame.refusal is not None:
        reason = f"{frame.refusal.reason} (as docker does it; not verified for podman)"
        frame = frame._replace(refusal=frame.refusal._replace(reason=reason))
    return Entered(frame, rest, listed(effects) or "no limit", takes_image=True)


def cpus_confined(frame: Framed, given: Given) -> tuple[Framed, str]:
    """Confine to --cpuset-cpus; the daemon refuses a list with a CPU that is not online."""
    asked = given.set_of("cpuset-cpus")
    if not asked:
        return frame, ""
    online = frame.machine.cpus
    if online is not None and not asked <= online:
        gone = asked - online
        reason = f"{given.launcher} --cpuset-cpus {asked}: {kernel.cpus_in_words(gone)} not online"
        return kernel.refused(frame, given.launcher, f"{reason} (online: {online})", cpus=gone), ""
    effect = f"cpuset of {kernel.cpus_in_words(asked)}"
    return kernel.with_cpuset(frame, given.launcher, asked), effect


def mems_confined(frame: Framed, given: Given) -> tuple[Framed, str]:
    """Confine to --cpuset-mems; the daemon refuses a list with a node that has no memory."""
    asked = given.set_of("cpuset-mems")
    if not asked:
        return frame, ""
    nodes = frame.machine.nodes
    there = CpuSet(node.id for node in nodes if node.memory_total_bytes != 0)
    if nodes and not asked <= there:
        gone = asked - there
        reason = (
            f"{given.launcher} --cpuset-mems {asked}: {kernel.nodes_in_words(gone)} is not here"
        )
        reason += f" or has no memory (with memory: {there})"
        return kernel.refused(frame, given.launcher, reason, nodes=gone), ""
    return kernel.with_mems(
        frame, given.launcher, asked
    ), f"memory from {kernel.nodes_in_words(asked)}"


def quota_set(frame: Framed, given: Given) -> tuple[Framed, str]:
    """Set the quota of --cpus, or of --cpu-quota and --cpu-period."""
    name = given.launcher
    cpus = number(name, "--cpus", given.once.get("cpus", "0"), 0, 1e6)
    quota, period = given.whole("cpu-quota"), given.whole("cpu-period")
    if cpus and (quota or period):
        reason = f"{name} takes --cpus or --cpu-quota with --cpu-period, not both"
        return kernel.refused(frame, name, reason), ""
    if (period and not 1000 <= period <= 1_000_000) or 0 < quota < 1000:
        reason = f"{name} takes a quota of 1000 us or more, and a period of 1000 to 1000000 us"
        return kernel.refused(frame, name, reason), ""
    usable = frame.machine.cpus
    if name == "docker" and usable is not None and cpus > len(usable):
        reason = f"{name} --cpus {cpus:g}: there are {len(usable)} CPUs"
        return kernel.refused(frame, name, reason), ""
    if quota:
        cpus = quota / (period or PERIOD)
    if not cpus:
        return frame, ""
    return kernel.with_quota(frame, cpus), f"a quota of {cpus:g} CPUs"


def with_policies(frame: Framed, given: Given) -> Framed:
    """Tell whether set_mempolicy and mbind are allowed inside."""
    capabilities = {part.upper().removeprefix("CAP_") for part in given.all_of("cap-add")}
    profiles = [
        option.replace(":", "=", 1).partition("=")[2]
        for option in given.all_of("security-opt")
        if option.startswith(("seccomp=", "seccomp:"))
    ]
    if given.is_on("privileged") or profiles[-1:] == ["unconfined"]:
        return frame._replace(may_set_policy=True)
    if profiles and profiles[-1] not in ("builtin", "default"):
        return frame.noted(f"{given.launcher}: whether its seccomp profile allows set_mempolicy is"
                           " not known")  # fmt: skip
    if capabilities & {"SYS_NICE", "ALL"}:
        return frame._replace(may_set_policy=True)
    return frame._replace(may_set_policy=False).noted(
        f"{given.launcher}: the default seccomp profile forbids set_mempolicy and mbind, so no"
        " program can bind memory; --cap-add SYS_NICE allows it"
    )
