"""Time `inspect --root` on large trees beside lstopo on the same ones, in one run.

    python -m benchmarks.scale [RUNS]

Needs lstopo-no-graphics (the package hwloc-nox of Debian). Prints the median of each in
milliseconds and the ratio. Compile the package first (`python -m compileall -q numatune`).
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.sources.trees import large_machine, write_tree

#: CPUs -> nodes, cores a node, threads a core; and how many times lstopo's time is allowed.
SIZES = {256: ((8, 16, 2), 14.0), 1024: ((16, 32, 2), 4.0), 4096: ((64, 32, 2), 0.6)}


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """Return how long a process takes, from its start to its end."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)
    return time.perf_counter() - start


def main() -> None:
    """Write the trees, measure and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    lstopo = shutil.which("lstopo-no-graphics")
    if lstopo is None:
        sys.exit("lstopo-no-graphics is not here; it comes with hwloc")
    for cpus, (shape, allowed) in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            write_tree(large_machine(*shape), Path(folder))
            inspect = [sys.executable, "-m", "numatune", "inspect", "--root", folder]
            other = {
                **os.environ,
                "HWLOC_FSROOT": folder,
                "HWLOC_THISSYSTEM": "0",
                "HWLOC_COMPONENTS": "linux,stop",
            }
            ours, theirs = [], []
            for _ in range(runs + 1):
                ours.append(seconds(inspect, dict(os.environ)))
                theirs.append(seconds([lstopo, "--of", "xml"], other))
        mine, their = statistics.median(ours[1:]), statistics.median(theirs[1:])
        print(
            f"{cpus:5} CPUs  inspect {mine * 1000:7.1f} ms  lstopo {their * 1000:7.1f} ms  "
            f"{mine / their:5.2f} times (at most {allowed:g})"
        )


if __name__ == "__main__":
    main()
