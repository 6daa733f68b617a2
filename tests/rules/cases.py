"""Machines and launches for the tests of rules, and what must hold for every finding."""

from collections.abc import Mapping

from numatune.diagnosis import Diagnosis, diagnose
from numatune.machine import Machine
from numatune.machine.assume import assumed
from numatune.placement.requests import request_of
from numatune.rules.rule import SEVERITIES, Finding, Skipped
from numatune.sources.read import read_machine

TWO = "pack:2 [numa(memory=512GB)] core:24 pu:1"
TWO_SMT = "pack:2 [numa(memory=512GB)] core:32 pu:2(indexes=core:pack)"
ONE = "pack:1 [numa(memory=128GB)] core:16 pu:1"
LAPTOP = "pack:1 [numa(memory=32GB)] core:8 pu:2"

#: The numbers that every finding of a name carries.
NUMBERS: Mapping[str, frozenset[str]] = {
    name: frozenset(keys.split())
    for name, keys in {
        "node-oversubscribed": "workers cpus by",
        "workers-share-core": "workers cores by",
        "uneven-worker-split": "workers",
        "uneven-nodes": "cores",
        "node-left-idle": "nodes",
        "workers-unbound": "workers",
        "smt-siblings-in-mask": "",
        "no-core-left-for-main-thread": "workers cores",
        "instances-share-cores": "cores",
        "no-workers": "",
        "ranks-exceed-nodes": "ranks nodes",
        "pool-without-node": "pool node",
        "pool-map-out-of-range": "pool node pools",
        "idle-workers-spin": "",
        "no-headroom": "workers cpus",
        "threads-not-multiple-of-nodes": "threads nodes",
        "default-threads-unsuitable": "threads sensible",
        "page-placement-first-touch": "",
        "node-limit-exceeded": "nodes limit",
        "cpu-limit-exceeded": "cpus limit",
        "start-node-beyond-limit": "node limit",
        "option-without-effect": "option",
        "memory-bound-to-other-node": "bound_to runs_on workers",
        "weight-copies-exceed-memory": "copies",
        "interleave-with-gpu-buffers": "",
        "numa-balancing-enabled": "value",
        "zone-reclaim-enabled": "value",
        "numa-off-on-command-line": "",
        "numa-fake-on-command-line": "",
        "memoryless-node": "nodes",
        "cpuless-node-given-workers": "node workers",
        "sparse-node-ids": "",
        "no-numa-information": "",
        "bios-node-interleaving-on": "packages nodes",
        "sub-numa-clustering-on": "nodes packages",
        "dimms-unbalanced": "largest_node smallest_node",
        "channels-unpopulated": "populated channels",
        "guest-topology": "",
        "memory-only-nodes": "nodes",
        "numa-build-inactive": "",
        "numa-build-unintended": "",
        "affinity-overridden": "",
        "cpuset-excludes-node": "node workers",
        "cpuset-cpus-mems-mismatch": "",
        "quota-below-workers": "workers quota by budget",
        "launcher-refused": "",
        "memory-policy-forbidden": "",
        "binding-inherited": "cpus",
        "other-pools-oversubscribe": "threads cpus",
        "bound-memory-too-small": "nodes needed_bytes available_bytes",
        "platform-limit": "limit",
    }.items()
}


def built(description: str, **facts: object) -> Machine:
    """Build a machine from hwloc's grammar and stated facts."""
    return read_machine(synthetic=description, assume=facts)


def numactl(*nodes: tuple[int, str, int], **facts: object) -> Machine:
    """Read the numactl text of (id, CPU list, megabytes) nodes, all 20 apart."""
    ids = [node for node, _, _ in nodes]
    lines = [f"available: {len(ids)} nodes ({','.join(map(str, ids))})"]
    for node, cpus, size in nodes:
        listed = " ".join(map(str, expanded(cpus)))
        lines += [f"node {node} cpus: {listed}".rstrip(), f"node {node} size: {size} MB"]
        lines.append(f"node {node} free: {size} MB")
    lines += ["node distances:", "node " + " ".join(f"{i:>3}" for i in ids)]
    for one in ids:
        lines.append(f"{one:>3}: " + " ".join(f"{10 if i == one else 20:>3}" for i in ids))
    return assumed(read_machine(text="\n".join(lines) + "\n"), facts)


def expanded(cpus: str) -> list[int]:
    """Return the numbers of a list such as "0-3,8"."""
    found: list[int] = []
    for part in filter(None, cpus.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def judged(machine: Machine, **request: object) -> Diagnosis:
    """Diagnose a request, or the machine alone, and check what holds for every diagnosis."""
    diagnosis = diagnose(machine, request_of(request) if request else None)
    check(diagnosis)
    return diagnosis


def check(diagnosis: Diagnosis) -> None:
    """Check what holds for every diagnosis."""
    for one in diagnosis.findings:
        assert NUMBERS[one.name] <= one.numbers.keys(), one
        assert one.severity in SEVERITIES
        assert "\n" not in one.message + one.fix
        assert len(one.message) > 10
        assert one.fix[0].islower() or one.fix.startswith(("--", "GRUB")), one.fix
        assert one.source_url.startswith("https://")
    for skip in diagnosis.skipped:
        assert len(skip.reason) > 15
        assert "\n" not in skip.reason
    spoken = {one.rule for one in diagnosis.findings}
    skipped = {one.rule for one in diagnosis.skipped}
    assert not spoken & set(diagnosis.good)
    assert not skipped & set(diagnosis.good)
    full = {(f.name, f.numbers.get("node")) for f in diagnosis.findings}
    for name, node in full:
        assert name != "workers-share-core" or ("node-oversubscribed", node) not in full


def found(diagnosis: Diagnosis, name: str) -> list[Finding]:
    """Return the findings of a name."""
    assert name in NUMBERS, f"no rule {name}"
    return [one for one in diagnosis.findings if one.name == name]


def the(diagnosis: Diagnosis, name: str) -> Finding:
    """Return the only finding of a name."""
    alike = found(diagnosis, name)
    assert len(alike) == 1, alike
    return alike[0]


def skip_of(diagnosis: Diagnosis, name: str) -> Skipped:
    """Return why a rule did not judge."""
    assert not found(diagnosis, name)
    return next(one for one in diagnosis.skipped if one.name == name)


def is_good(diagnosis: Diagnosis, name: str) -> bool:
    """Tell whether a rule judged and found nothing."""
    assert name in NUMBERS, f"no rule {name}"
    spoken = {one.name for one in diagnosis.findings} | {one.name for one in diagnosis.skipped}
    return name not in spoken
