"""The page of NT113, pool-without-node."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
kt-kernel has --kt-threadpool-count pools, by default 2, and maps pool i to
node i unless --kt-numa-nodes says otherwise. It does not look whether that
node exists. Where it does not, binding fails with a message ("NUMA node 1
not found"), and all threads of the pool run unbound with the default memory
policy.

  one node, --kt-cpuinfer 16, default of two pools
    pool 0   8 workers pinned to cores 0-7 of node 0
    pool 1   8 workers loose, also over the cores that pool 0 spins on

The weights are split between the pools, so half of each layer waits for the
loose half.
""",
    look="""\
ls -d /sys/devices/system/node/node*
numatune plan --cpu-infer 16 --runtime kt-kernel

In the log of the server: "NUMA node 1 not found".
""",
    fix="""\
one node        --kt-threadpool-count 1
more nodes      --kt-threadpool-count NODES
in a container  as many pools as its cpuset has nodes
kt run          --numa-nodes 1; its default counts the node directories,
                those without CPUs or memory as well
""",
    harmless="""\
With few threads on one node the loose pool may find free cores. It still
costs nothing to say 1.
""",
)
