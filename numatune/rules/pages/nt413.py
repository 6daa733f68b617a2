"""The page of NT413, memory-only-nodes."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
High-bandwidth memory (Xeon Max in flat mode), CXL, persistent memory and
the memory of some GPUs (GH200) appear as nodes without CPUs. They are no
fault. But a policy over all nodes uses them as well: `numactl
--interleave=all` puts an equal share of the weights onto a slow CXL module
or onto 16 GB of HBM, and runtimes that count nodes give them workers
(NT402).

  2 x Xeon Max, flat mode     nodes 0 and 1: cores and DDR
                              nodes 2 and 3: 64 GB HBM each, distance 13 from
                              the own socket and 23 from the other
  4 x GH200                   36 nodes, most of them GPU memory
""",
    look="""\
numactl --hardware
cat /sys/devices/system/node/has_cpu
cat /sys/devices/virtual/memory_tiering/memory_tier*/nodelist

A small size and a distance below that of the other socket is HBM; a
distance above it is CXL or persistent memory.
""",
    fix="""\
any              name the nodes: numactl --interleave=0,1
kt-kernel        --kt-threadpool-count of the nodes with CPUs
ktransformers    see NT402
weighted         numactl --weighted-interleave with weights by bandwidth,
                 from Linux 6.9 on
""",
    harmless="""\
Always, until a policy or a runtime takes all nodes.
""",
)
