"""The page of NT402, cpuless-node-given-workers."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
HBM of a Xeon Max in flat mode, CXL and persistent memory appear as nodes
with memory and without CPUs. ktransformers divides its workers by the
number of nodes with memory and does not look for CPUs. The share of such a
node can't be bound: these workers float over all CPUs, while their memory
is bound to the far node and a copy of the experts is kept there, too.

  nodes 0 and 1 with 24 CPUs each, node 2 CXL memory; ktransformers 0.2.2,
  cpu_infer 9
    node 0    3 workers
    node 1    3 workers
    node 2    0 of its 2 workers: they run anywhere, memory on node 2

kt-kernel does it when a pool is mapped to such a node; `kt run` counts the
node directories and maps a pool to each.
""",
    look="""\
numactl --hardware               "node 2 cpus:" with nothing behind it
cat /sys/devices/system/node/has_cpu
numactl --hardware | grep -A9 distances

The log of ktransformers has "numa_sched_setaffinity_v2_int() failed:
Invalid argument" (issue 1136).
""",
    fix="""\
ktransformers    a cpuset without that node is refused in the same way; use
                 kt-kernel, or one node without a NUMA build:
                 numactl -N 0 -m 0
kt-kernel        --kt-threadpool-count of the nodes with CPUs
kt run           --numa-nodes 2, not the default
llama.cpp        --numa numactl under numactl -N 0,1 -m 0,1
""",
    harmless="""\
Never on purpose. Memory on such a node can be useful, workers for it are
not.
""",
)
