"""The page of NT404, node-limit-exceeded."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
ggml keeps its nodes in a table of eight (GGML_NUMA_MAX_NODES). It counts
nodes 0, 1, 2 ... and stops at eight, without a word. --numa distribute deals
threads to these only.

  16 nodes of 8 cores (4 sockets in clusters of four), 64 threads
    nodes 0 to 7     8 threads each, one a core
    nodes 8 to 15    none; half of the cores and of the memory bandwidth idle

With --numa isolate it is worse: a process that happens to start on a node
from 8 on crashes (NT406).
""",
    look="""\
ls -d /sys/devices/system/node/node*
numatune plan --threads 64
""",
    fix="""\
Leave --numa out, or use --numa numactl: threads then keep the affinity
that they have, and the launcher interleaves the memory:

  numactl --interleave=all llama-server --numa numactl -t 64

Or make fewer nodes: NPS1 on EPYC, SNC off on Xeon, in the firmware. A cpuset
does not help, as ggml looks at the machine and not at the cpuset.
""",
    harmless="""\
Where a part of the machine is meant, and that part is the first eight nodes.
""",
)
