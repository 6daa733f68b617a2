"""The page of NT403, sparse-node-ids."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Node ids need not be 0, 1, 2 ...: an IBM machine has 0 and 8, a machine with
a failed or empty socket 0 and 2. Programs that ask for the number of nodes
and count from 0 then use ids that are not there.

  ids 0 and 2, ktransformers 0.2.2, cpu_infer 9
    4 workers on node 0; the other 4 ask for node 1, are refused and float

  ids 0 and 2, kt-kernel, two pools
    works: hwloc numbers the nodes itself, so entry 1 is the second one

  llama.cpp    stops looking at the first missing id; without a node 0 it
               finds none
""",
    look="""\
cat /sys/devices/system/node/online
numactl --hardware | head -1         "available: 2 nodes (0,2)"
numatune plan --cpu-infer 9
""",
    fix="""\
ktransformers    use kt-kernel, or one node: numactl -N 0 -m 0 and a build
                 without USE_NUMA
kt-kernel        leave --kt-numa-nodes out; never write the ids themselves
                 there (NT114)
llama.cpp        --numa numactl under numactl

An empty socket between two others, or a node that failed at boot, is worth
a look in the firmware's log.
""",
    harmless="""\
For all software that asks for the ids instead of counting.
""",
)
