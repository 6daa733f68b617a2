"""The page of NT503, affinity-overridden."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
taskset and numactl set an affinity that child threads inherit, and that any
thread may change. ktransformers built with NUMA support and kt-kernel do:
each worker is bound to the node, or to the core, that the runtime computed
from the whole machine. `numactl -N 1 -m 1` around such a process confines
only the threads that are not bound.

  2 x 24 cores, numactl -N 1, ktransformers 0.2.3 with NUMA, cpu_infer 9
    4 workers on node 0, 4 on node 1, a copy of the weights on each

Only a cgroup cpuset is enforced by the kernel, and only where the node is
left out whole does binding fail (NT504).
""",
    look="""\
grep Cpus_allowed_list /proc/PID/status          the process: as started
grep -H Cpus_allowed_list /proc/PID/task/*/status   its workers: overridden
""",
    fix="""\
ktransformers    a build without USE_NUMA keeps what it inherits
kt-kernel        one pool stays on node 0: --kt-threadpool-count 1
either of them    in a cpuset: docker run --cpuset-cpus 0-23 --cpuset-mems 0
                 systemd-run --scope -p AllowedCPUs=0-23
                   -p AllowedMemoryNodes=0 ...
                 A NUMA build is worse off in a cpuset of one node (NT504).
llama.cpp        --numa numactl keeps the mask, --numa distribute does not
""",
    harmless="""\
Where the affinity came by accident and all nodes are meant.
""",
)
