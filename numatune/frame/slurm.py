"""srun: what Slurm's task/affinity plugin binds a task to.

Sources: doc/man/man1/srun.1 and src/plugins/task/affinity of
https://github.com/SchedMD/slurm/tree/284c3b95f08a2dc2478499837b03355e1b9c5c75
Which CPUs a job gets is the scheduler's choice: they stay unknown, and -c counts like a quota. What
names CPUs or nodes itself (map_cpu, mask_cpu, map_ldom, mask_ldom, map_mem, mask_mem) is taken for
the first task.
"""

from __future__ import annotations

from numatune.errors import UsageError
from numatune.frame import kernel
from numatune.frame.frame import BIND, PREFERRED, Entered, Framed
from numatune.frame.lists import hex_mask, kernel_list, value_of
from numatune.frame.options import Options, names, number, read_options
from numatune.machine import CpuSet, Machine
from numatune.words import listed, shown

NAME = "srun"

OPTIONS = Options(
    values=names(
    "account acctg-freq bb bbf bcast-exclude begin chdir cluster-constraint clusters comment"
        " constraint container container-id core-spec cores-per-socket cpu-bind cpu-freq"
        " cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution epilog error"
        " exclude export extra extra-node-info gpu-bind gpu-freq gpus gpus-per-node"
        " gpus-per-socket gpus-per-task gres gres-flags het-group hint input job-name jobid"
        " licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus mpi"
        " msg-timeout network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu"
        " ntasks-per-node ntasks-per-socket open-mode output partition power prefer priority"
        " profile prolog qos relative reservation segment signal slurmd-debug sockets-per-node"
        " switches task-epilog task-prolog thread-spec threads threads-per-core time time-min tmp"
        " treewidth tres-bind tres-per-task wait wckey"
),
    flags=names(
    "async contiguous disable-status exact external-launcher help hold label multi-prog"
        " no-allocate overcommit overlap oversubscribe parsable preserve-env quiet"
        " quit-on-interrupt reboot spread-job stepmgr test-only unbuffered usage use-min-nodes"
        " verbose version whole"
),
    optional=names(
    "bcast compress exclusive immediate kill-on-bad-exit nice no-kill oom-kill-step propagate"
        " pty resv-ports send-libs x11"
),
    short={
        "A": "account", "b": "begin", "D": "chdir", "M": "clusters", "C": "constraint",
        "S": "core-spec", "c": "cpus-per-task", "d": "dependency", "X": "disable-status",
        "m": "distribution", "e": "error", "x": "exclude", "B": "extra-node-info", "G": "gpus",
        "h": "help", "H": "hold", "I": "immediate", "i": "input", "J": "job-name",
        "K": "kill-on-bad-exit", "l": "label", "L": "licenses", "Z": "no-allocate", "k": "no-kill",
        "F": "nodefile", "w": "nodelist", "N": "nodes", "n": "ntasks", "o": "output",
        "O": "overcommit", "s": "oversubscribe", "p": "partition", "E": "preserve-env", "q": "qos",
        "Q": "quiet", "r": "relative", "T": "threads", "t": "time", "u": "unbuffered",
        "v": "verbose", "V": "version", "W": "wait",
    },
)  # fmt: skip

WORDS = ("quiet", "q", "verbose", "v")
NOT_BINDING = ("none", "no", *WORDS)
#: Bindings that Slurm works out from its own allocation.
AUTOMATIC = ("threads", "cores", "sockets", "ldoms", "rank", "rank_ldom")
HINTS = ("compute_bound", "memory_bound", "multithread", "nomultithread")


def enter(frame: Framed, words: list[str], host: Machine) -> Entered:
    """Return the frame of the first task. Raises UsageError."""
    found, rest = read_options(NAME, words[1:], OPTIONS)
    given = dict(found)
    if given.keys() & {"help", "usage", "version"}:
        raise UsageError("srun with --help, --usage or --version starts no program")
    frame = kernel.started_anew(frame, host, NAME)
    effects: list[str] = []
    if "cpus-per-task" in given:
        frame, effect = cpus_counted(frame, given["cpus-per-task"])
        effects.append(effect)
    hint = given.get("hint")
    if hint is not None and hint not in HINTS:
        raise UsageError(f"srun: --hint is {listed(HINTS, 'or')}, not {shown(hint)}")
    if hint == "nomultithread" or given.get("threads-per-core") == "1":
        frame = frame.noted("srun uses one CPU of each core: with SMT half of the CPUs stay idle"
                            " (documented, not verified)")  # fmt: skip
    if frame.refusal is None and "cpu-bind" in given:
        frame, effect = cpus_bound(frame, given["cpu-bind"])
        effects.append(effect)
    if frame.refusal is None and "mem-bind" in given:
        kind = chosen("cpu-bind", given.get("cpu-bind", ""))[0]
        frame = memory_bound(frame, given["mem-bind"], not kind.startswith(("map_", "mask_")))
        effects.append(f"memory policy {frame.memory.kind} {frame.memory.nodes or ''}".strip())
    if not given.keys() & {"cpus-per-task", "cpu-bind"}:
        frame = frame.noted("srun gives a task one CPU unless -c says more, and binds it as the"
                            " site configured: its CPUs are not known")  # fmt: skip
    return Entered(frame, rest, listed([e for e in effects if e]) or "no limit that is known")


def cpus_counted(frame: Framed, text: str) -> tuple[Framed, str]:
    """Take -c as a number of CPUs whose ids are not known."""
    count = int(number(NAME, "-c", text, 1, 1e6))
    usable = frame.machine.usable_cpus
    if usable is not None and frame.machine.cpus is not None and count > len(usable):
        reason = f"srun -c {count}: this machine has {len(usable)} CPUs to give"
        return kernel.refused(frame, NAME, reason), ""
    frame = frame.noted(
        f"srun -c {count}: which {count} CPUs is the choice of Slurm, so they are counted like a"
        " quota; a site may also leave tasks unconfined"
    )
    return kernel.with_quota(frame, count), f"{count} CPUs"


def chosen(option: str, text: str) -> tuple[str, str, bool]:
    """Return the kind of a binding, the entry of the first task, and whether it only prefers.

    Raises UsageError.
    """
    kind = entry = ""
    prefers = False
    for part in text.split(","):
        word, colon, rest = part.partition(":")
        if colon and not kind:
            kind, entry = word, rest.partition("*")[0]
        elif word in ("prefer", "p"):
            prefers = True
        elif word not in WORDS and not kind:
            kind = word
    if kind.startswith(("map_", "mask_")) and not entry:
        raise UsageError(f"srun: --{option} {shown(text)} has an empty list")
    return kind, entry, prefers


def cpus_bound(frame: Framed, text: str) -> tuple[Framed, str]:
    """Do what --cpu-bind does to the first task. Raises UsageError."""
    kind, entry, _ = chosen("cpu-bind", text)
    if not kind or kind in NOT_BINDING:
        return frame, ""
    if kind in AUTOMATIC:
        note = f"srun --cpu-bind={kind}: which {kind} the task gets follows from its allocation"
        return frame.noted(f"{note}, which is not known"), f"affinity to {kind} that are not known"
    if kind in ("map_cpu", "mask_cpu"):
        cpus = id_of(entry) if kind == "map_cpu" else hex_mask(NAME, entry)
        frame = frame.noted(
            f"srun --cpu-bind={kind} is taken for the first task; Slurm refuses CPUs outside of the"
            " allocation, and its ids may differ from the kernel's (documented, not verified)"
        )
        effect = f"affinity to {kernel.cpus_in_words(cpus)}"
        return kernel.with_affinity(frame, f"{NAME} {kind}", cpus), effect
    if kind in ("map_ldom", "mask_ldom"):
        nodes = id_of(entry) if kind == "map_ldom" else hex_mask(NAME, entry)
        effect = f"affinity to the CPUs of {kernel.nodes_in_words(nodes)}"
        return nodes_bound(frame, kind, nodes), effect
    raise UsageError(f"srun: --cpu-bind has no {shown(kind)}")


def nodes_bound(frame: Framed, kind: str, nodes: CpuSet) -> Framed:
    """Bind to the CPUs of locality domains, where these are plainly the NUMA nodes."""
    frame = frame.noted(f"srun --cpu-bind={kind} needs the whole machine allocated to the job, and"
                        " is taken for the first task")  # fmt: skip
    known = frame.machine.nodes
    if not known or [node.id for node in known] != list(range(len(known))):
        why = "its NUMA nodes are not known" if not known else "its node ids have gaps"
        return frame.noted(f"{why}, so which CPUs {kind} means is open")
    there = [node for node in known if node.id in nodes]
    if any(node.cpus is None for node in there):
        return frame.noted(
            f"the CPUs of {kernel.nodes_in_words(nodes)} are not known, so {kind} is open"
        )
    cpus = CpuSet(cpu for node in there for cpu in node.cpus or ())
    return kernel.with_affinity(frame, f"{NAME} {kind}", cpus, nodes)


def memory_bound(frame: Framed, text: str, is_open: bool) -> Framed:
    """Do what --mem-bind does to the first task: "local" binds to the nodes of its CPUs.

    `is_open` says that the CPUs are Slurm's choice. Raises UsageError.
    """
    kind, entry, prefers = chosen("mem-bind", text)
    if not kind or kind in NOT_BINDING:
        return frame
    policy = PREFERRED if prefers else BIND
    if kind == "local":
        nodes = None if is_open else nodes_of_affinity(frame.machine)
        if nodes is None:
            return kernel.with_policy(frame, NAME, policy, None).noted(
                "srun --mem-bind=local binds memory to the nodes of the task's CPUs, which are not"
                " known"
            )
    elif kind == "rank":
        return kernel.with_policy(frame, NAME, policy, None).noted(
            "srun --mem-bind=rank binds memory to a node by the number of the task"
        )
    elif kind in ("map_mem", "mask_mem"):
        nodes = id_of(entry) if kind == "map_mem" else hex_mask(NAME, entry)
        frame = frame.noted(f"srun --mem-bind={kind} is taken for the first task")
    else:
        raise UsageError(f"srun: --mem-bind has no {shown(kind)}")
    if prefers and len(nodes) > 1:
        nodes = CpuSet([nodes.first()])
    if not frame.machine.nodes:
        frame = frame.noted(kernel.UNKNOWN_NODES.format(f"--mem-bind={kind}"))
    return kernel.with_policy(frame, f"{NAME} --mem-bind={kind}", policy, nodes)


def nodes_of_affinity(machine: Machine) -> CpuSet | None:
    """Return the nodes of the CPUs of an affinity, None without one or where CPUs are unknown."""
    cpus = machine.inherited_cpus
    if machine.limits.affinity is None or cpus is None or not machine.nodes:
        return None
    if any(node.cpus is None for node in machine.nodes):
        return None
    return CpuSet(node.id for node in machine.nodes if node.cpus and node.cpus & cpus)


def id_of(text: str) -> CpuSet:
    """Return one id, in decimal or, with 0x, in hex. Raises UsageError."""
    if text.startswith("0x"):
        digits = text[2:]
        if digits and not set(digits) - set("0123456789abcdefABCDEF"):
            return kernel_list(NAME, "a list", str(value_of(NAME, digits, 16)))
    return kernel_list(NAME, "a list", text)
