"""The page of NT409, sub-numa-clustering-on."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A package can be split into several nodes, each with a part of the cores and
of the memory channels: SNC on Xeon, NPS2 and NPS4 on EPYC, cluster-on-die
on Haswell and Broadwell. First-generation EPYC has a node for each of its
four dies without any setting. Inside of a cluster memory is a little
nearer.

Whether that helps depends on what the runtime does with the weights:

  2 x Xeon 6960P, Kimi-K2, kt-kernel splits the weights (issue 1730)
    SNC3, 6 nodes               12.8 tokens/s
    SNC off, both sockets        0.5         cause unknown
    SNC off, one socket          9.5

  ktransformers built with USE_NUMA keeps a copy of the experts on each node:
    405 GB model, 2 nodes        810 GB
    405 GB model, 4 nodes       1620 GB      killed for memory on 1 TB
""",
    look="""\
lscpu | grep -E "Socket|NUMA node"      2 sockets, 6 nodes
numactl --hardware                      11 or 12 between the nodes of a
                                        package is typical, 21 or 32 to the
                                        other one

The menu entries: Sub NUMA Cluster, SNC (Intel); NUMA nodes per socket, NPS,
L3 Cache as NUMA Domain (AMD).
""",
    fix="""\
kt-kernel        keep it: --kt-threadpool-count of all nodes (6 above)
SGLang           keep it: --tp of all nodes
ktransformers    one node a socket: SNC off, or NPS1 (a maintainer's advice
                 in issue 1147); or use kt-kernel
llama.cpp        one node a socket, or one process on one socket
""",
    harmless="""\
It is a state and no fault. Never switch it off for an engine that splits
weights by node without a measurement before and after.
""",
)
