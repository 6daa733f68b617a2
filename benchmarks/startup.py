"""Time whole commands beside an interpreter that does nothing, in one run.

    python benchmarks/startup.py [RUNS]

Prints the median of each command in milliseconds, and its ratio to `python -I -c pass`: only the
ratio compares between machines. Compile the package first (`python -m compileall -q numatune`),
as an installation does.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

FIXTURE = str(Path(__file__).parent.parent / "fixtures/machines/pr685-2x24/numactl.txt")

BASE = (sys.executable, "-I", "-c", "pass")

#: Name -> the command, and how many times the base it may take.
COMMANDS = {
    "check": (("check", "--from", FIXTURE, "--json"), 8),
    "inspect": (("inspect", "--from", FIXTURE), 10),
    "plan": (("plan", "--cpu-infer", "42", "--from", FIXTURE), 10),
}


def seconds(*command: str) -> float:
    """Return how long a process takes, from its start to its end."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def measure(runs: int) -> dict[str, list[float]]:
    """Time the base and all commands in turn, so that a drift of the machine meets all alike."""
    times: dict[str, list[float]] = {"base": []}
    for run in range(runs + 1):
        for name in ("base", *COMMANDS):
            words = COMMANDS[name][0] if name in COMMANDS else ()
            command = (sys.executable, "-m", "numatune", *words) if words else BASE
            took = seconds(*command)
            if run:  # the first one warms the caches
                times.setdefault(name, []).append(took)
    return times


def main() -> None:
    """Measure and print."""
    times = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
    base = statistics.median(times["base"])
    for name, values in times.items():
        median = statistics.median(values)
        allowed = f"  (at most {COMMANDS[name][1]})" if name in COMMANDS else ""
        print(f"{name:8} {median * 1000:7.1f} ms  {median / base:5.2f} times the base{allowed}")


if __name__ == "__main__":
    main()
