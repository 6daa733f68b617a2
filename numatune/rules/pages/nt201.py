"""The page of NT201, memory-bound-to-other-node."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
kt-kernel pins the distributor thread of pool i to a core of the node that
the map names, but it binds the memory of that thread to the node whose
number is i. While the map is 0 1 2 ... these are the same. With any other
map they are not:

  --kt-numa-nodes 1      pool 0 runs on node 1, memory bound to node 0
  --kt-numa-nodes 1 0    pool 0 runs on node 1, memory bound to node 0
                         pool 1 runs on node 0, memory bound to node 1

The other workers of the pool bind their memory to the node they run on.

ktransformers built with NUMA support ends up here in another way: a worker
that is meant for a node without CPUs, or for a node whose CPUs the cpuset
leaves out, can't run there, but its memory is bound there all the same.

A runtime that binds no memory itself (llama.cpp, OpenMP programs) has that of
the launcher, whose CPUs and memory may be of different nodes:

  numactl -N 1 -m 0              all workers on node 1 read from node 0
  numactl -m 0, or a cpuset with --cpuset-mems 0, and workers on both nodes:
                                 those of node 1 read from node 0

On two-socket Xeons a node reads 0.42 to 0.52 times as much from the other
socket as from its own memory (measured with Intel's mlc).
""",
    look="""\
numastat -p PID                  memory of the process on each node
grep bind: /proc/PID/numa_maps | head
grep -H Cpus_allowed_list /proc/PID/task/*/status | sort -k2

A mapping marked bind:0 in a process whose threads are allowed on node 1
alone is this finding.
""",
    fix="""\
kt-kernel, all nodes    leave --kt-numa-nodes out, or write 0 1 ... in order
kt-kernel, one socket   a cpuset of that node and one pool: inside of it the
                        node is number 0 and no map is needed
                        docker run --cpuset-cpus 24-47 --cpuset-mems 1 ...
numactl                 the same nodes twice: numactl -N 1 -m 1; for workers
                        on all nodes numactl --interleave=all
docker                  --cpuset-mems 0,1 for workers on both nodes
ktransformers           use kt-kernel where nodes have no CPUs (NT402); give
                        a cpuset CPUs and memory of the same nodes (NT505)
""",
    harmless="""\
How many of kt-kernel's pages follow the distributor's policy was not
measured. Compare the map with the identity before you trust either.

A binding to nodes without CPUs (HBM, CXL) is taken to be meant, and numatune
says nothing of it.
""",
)
