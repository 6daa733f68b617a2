"""The JSON documents: the keys of the published contract, the same bytes for the same input.

Ids and bytes are integers, CPU sets kernel lists, and what is unknown is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numatune
from numatune.machine import CpuSet, Limits, Machine, Node, Warning
from numatune.rules.rule import Finding, Rule, Skipped

if TYPE_CHECKING:
    from numatune.advice.plan import Launch, Phase, Plan
    from numatune.advice.pool_sweeps import PoolSweep
    from numatune.advice.recommendation import Recommendation
    from numatune.frame.frame import Framed
    from numatune.placement.load import NodeLoad
    from numatune.placement.placement import Worker
    from numatune.placement.request import Request
    from numatune.placement.sweep import Sweep

SCHEMA_VERSION = 1

Document = dict[str, Any]


def render(document: Document) -> str:
    """Return a document as text: nested parts indented, each flat part on one line."""
    import json

    encode = json.JSONEncoder(ensure_ascii=False).encode

    def one_line(value: object) -> str:
        text = encode(value)
        if text.isprintable():
            return text
        # JSON allows control characters from 0x7f on and bidi marks; a terminal obeys them.
        return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)

    def lines(value: object, indent: str) -> str:
        inner = indent + "  "
        if isinstance(value, dict) and not is_flat(value.values()):
            parts = [f"{one_line(k)}: {lines(v, inner)}" for k, v in value.items()]
        elif isinstance(value, list) and not is_flat(value):
            parts = [lines(v, inner) for v in value]
        else:
            return one_line(value)
        start, end = "{}" if isinstance(value, dict) else "[]"
        return f"{start}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{end}"

    return lines(document, "") + "\n"


def is_flat(values: Iterable[object]) -> bool:
    """Tell whether values hold no further values."""
    return not any(isinstance(v, dict | list) and v for v in values)


def head(command: str, source: str, warnings: Iterable[Warning] = ()) -> Document:
    """Return what every document starts with."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool_version": numatune.__version__,
        "command": command,
        "source": source,
        "warnings": [{"code": w.code, "message": w.message} for w in warnings],
    }


def text(cpus: CpuSet | None) -> str | None:
    """Return a CPU or node set as a kernel list."""
    return None if cpus is None else str(cpus)


def inspect_document(machine: Machine, findings: Iterable[Finding]) -> Document:
    """Return the document of `inspect`."""
    return {
        **head("inspect", machine.source, machine.warnings),
        "topology": topology(machine),
        "limits": limits(machine),
        "settings": settings(machine),
        "findings": [finding(f) for f in findings],
    }


def topology(machine: Machine) -> Document:
    """Return packages, nodes, cores, distances, and what is not known of them."""
    table = machine.distances
    return {
        "architecture": machine.cpu.architecture,
        "cpu_model": machine.cpu.model,
        "cpu_features": None if machine.cpu.features is None else sorted(machine.cpu.features),
        "efficiency_cpus": text(machine.cpu.efficiency_cpus),
        "is_guest": machine.is_guest,
        "threads_per_core": machine.threads_per_core,
        "package_count": machine.packages_known,
        "core_count": machine.cores_known,
        "packages": None
        if machine.packages is None
        else [{"id": p.id, "cpus": str(p.cpus)} for p in machine.packages],
        "cores": None
        if machine.cores is None
        else [
            {"package_id": c.package_id, "node_id": c.node_id, "cpus": str(c.cpus)}
            for c in machine.cores
        ],
        "nodes": nodes(machine),
        "distances": None
        if table is None
        else {"node_ids": list(table.node_ids), "values": [list(row) for row in table.values]},
        "gpus": None
        if machine.gpus is None
        else [{"name": g.name, "node_id": g.node_id, "cpus": text(g.cpus)} for g in machine.gpus],
        "dimms": None if machine.dimms is None else [dict(d._asdict()) for d in machine.dimms],
        "memory": None if machine.memory is None else machine.memory.document(),
        "online_cpus": text(machine.cpus),
        "offline_cpus": text(machine.offline_cpus),
        "gaps": list(machine.gaps),
        "origins": dict(sorted(machine.origins.items())),
    }


def nodes(machine: Machine) -> list[Document]:
    """Return the nodes. A node spanned by several packages, or of unknown package, has null."""
    packages: dict[int | None, set[int | None]] = {}
    for core in machine.cores or ():
        packages.setdefault(core.node_id, set()).add(core.package_id)
    result = []
    for node in machine.nodes:
        of_package = packages.get(node.id, set())
        result.append(
            {
                **node._asdict(),
                "cpus": text(node.cpus),
                "cores": node_cores(machine, node),
                "package_id": next(iter(of_package)) if len(of_package) == 1 else None,
            }
        )
    return result


def node_cores(machine: Machine, node: Node) -> int | None:
    """Return how many cores a node has, whether or not this process may use them."""
    return machine._replace(limits=Limits()).node_core_count(node.id)


def limits(machine: Machine) -> Document:
    """Return what this process may use."""
    own = machine.limits
    return {
        "allowed_cpus": text(machine.inherited_cpus if own.cpuset_cpus or own.affinity else None),
        "allowed_mems": text(own.cpuset_mems),
        "cpu_quota": own.cpu_quota,
        "cpuset_cpus": text(own.cpuset_cpus),
        "affinity": text(own.affinity),
        "start_cpu": own.start_cpu,
    }


def settings(machine: Machine) -> Document:
    """Return the settings, null where they were not read."""
    values: Document = dict(machine.settings._asdict())
    values["isolated_cpus"] = text(machine.settings.isolated_cpus)
    return values


def finding(f: Finding) -> Document:
    """Return one finding."""
    return {
        "rule": f.rule,
        "name": f.name,
        "severity": f.severity,
        "subject": f.subject,
        "message": f.message,
        "numbers": plain(f.numbers),
        "expected": f.expected,
        "actual": f.actual,
        "evidence": [dict(e._asdict()) for e in f.evidence],
        "fix": f.fix,
        "source_url": f.source_url,
    }


def plain(value: object) -> object:
    """Return a value in JSON's types; CPU sets become kernel lists, keys become text."""
    if isinstance(value, CpuSet):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in (sorted(value) if isinstance(value, set | frozenset) else value)]
    return value


def plan_document(plan: Plan) -> Document:
    """Return the document of `plan`."""
    return {
        **head("plan", plan.machine.source, plan.machine.warnings),
        "request": request(plan.request),
        "frame": frame(plan.frame),
        "placements": [launch(one) for one in plan.launches],
        "sweep": [
            {**sweep(one), "pools": [pool_sweep(p) for p in (plan.pools[i] if plan.pools else ())]}
            for i, one in enumerate(plan.sweeps)
        ],
        "recommendations": [recommendation(one) for one in plan.recommendations],
        "findings": [finding(f) for f in plan.findings],
    }


def frame(entered: Framed | None) -> Document | None:
    """Return what the launchers around the process leave to it."""
    if entered is None:
        return None
    return {
        "launchers": [layer._asdict() for layer in entered.layers],
        "limits": limits(entered.machine),
        "memory_policy": {"kind": entered.memory.kind, "nodes": text(entered.memory.nodes)},
        "may_set_policy": entered.may_set_policy,
        "notes": list(entered.notes),
        "refused": None if entered.refusal is None else entered.refusal.reason,
    }


def request(asked: Request) -> Document:
    """Return what was asked for."""
    return {
        "runtime": asked.runtime or None,
        "version": asked.version,
        "threads": asked.threads,
        "launcher": asked.launcher,
        "numa_build": asked.numa_build,
        "options": plain(asked.options),
        "env": dict(asked.env),
        "model": None if asked.model is None else dict(asked.model._asdict()),
    }


def node_load(load: NodeLoad) -> Document:
    """Return what one node carries."""
    return {
        **load._asdict(),
        "idle_cores": load.idle_cores,
        "sharing_cores": load.sharing_cores,
        "oversubscribed_by": load.oversubscribed_by,
    }


def phase(one: Phase) -> Document:
    """Return another phase of a launch."""
    placement, asked = one.case.placement, one.case.request
    return {
        "name": one.name,
        "threads": None if asked is None else asked.threads,
        "workers": [worker(w) for w in (() if placement is None else placement.workers)],
        "nodes": [node_load(load) for load in one.loads],
    }


def default(one: Launch) -> Document | None:
    """Return the count that the runtime takes by itself, where it was simulated."""
    counted = one.case.default
    if counted is None:
        return None
    return {
        "threads": counted.threads,
        "counted": counted.counted,
        "ignores": list(counted.ignores),
        "source_url": counted.source,
    }


def launch(one: Launch) -> Document:
    """Return one placement, or why the runtime would refuse it."""
    release = one.case.release
    if release is None:
        return {"runtime": None, "version": None, "refused": "no runtime"}
    name = {"runtime": release.runtime, "version": release.version, "versions": release.versions}
    if one.case.refusal is not None:
        return {
            **name,
            "numa_build": release.numa_build,
            "threads": one.threads,
            "refused": one.case.refusal.reason,
            "findings": [finding(f) for f in one.findings],
        }
    placement = one.case.placement
    return {
        **name,
        "numa_build": release.numa_build,
        "threads": one.threads,
        "default_threads": default(one),
        "weight_copies": 1 if placement is None else placement.weight_copies,
        "workers": [worker(w) for w in (() if placement is None else placement.workers)],
        "nodes": [node_load(load) for load in one.loads],
        "phases": [phase(other) for other in one.phases],
        "findings": [finding(f) for f in one.findings],
        "source_url": release.source,
    }


def worker(w: Worker) -> Document:
    """Return one worker."""
    return {**w._asdict(), "cpus": text(w.cpus)}


def pool_sweep(one: PoolSweep) -> Document:
    """Return what a sweep with another map of pools to nodes found."""
    found = sweep(one.sweep)
    kept = ("highest", "safe", "cliffs", "recommended", "lacks")
    return {"threadpool_count": one.pools, **{key: found[key] for key in kept}}


def sweep(one: Sweep) -> Document:
    """Return what a sweep found."""
    release = one.release
    return {
        "runtime": release.runtime,
        "version": release.version,
        "versions": release.versions,
        "numa_build": release.numa_build,
        "highest": one.highest,
        "safe": str(one.safe),
        "cliffs": [
            {
                "from": c.start,
                "to": c.end,
                "node": c.node,
                "workers": c.workers,
                "cpus": c.cpus,
                "kind": c.kind,
            }
            for c in one.cliffs
        ],
        "recommended": one.recommended,
        "lacks": list(one.lacks),
    }


def recommendation(one: Recommendation) -> Document:
    """Return one recommendation."""
    return {**one._asdict(), "commands": list(one.commands)}


def check_document(
    machine: Machine,
    policy: Document,
    findings: Iterable[Finding],
    skipped: Iterable[Skipped],
    verdict: str,
) -> Document:
    """Return the document of `check`."""
    return {
        **head("check", machine.source, machine.warnings),
        "policy": policy,
        "verdict": verdict,
        "findings": [finding(f) for f in findings],
        "skipped": [{"rule": s.rule, "name": s.name, "reason": s.reason} for s in skipped],
    }


def explain_document(rules: Iterable[Rule]) -> Document:
    """Return the document of `explain`: the pages of some rules."""
    pages = [
        {
            "rule": r.id,
            "name": r.name,
            "severity": r.severity,
            "summary": r.summary,
            "why": r.why,
            "look": r.look,
            "fix": r.fix,
            "harmless": r.harmless,
            "sources": list(r.sources),
        }
        for r in rules
    ]
    return {**head("explain", "numatune"), "rules": pages}
