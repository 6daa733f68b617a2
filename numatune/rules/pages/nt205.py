"""The page of NT205, bound-memory-too-small."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
`numactl -m 0`, a cpuset with one memory node, or one pool of kt-kernel on one
node mean that all weights must lie there. The kernel takes nothing from the
other nodes then, however much they have free: it drops page cache, swaps, and
at last kills the process, although `free` shows hundreds of GB.

  a model of 404 GB under numactl -m 1 on 2 x 384 GB: it does not fit node 1

  kt-kernel splits the weights over its pools: 600 GB in one pool do not fit a
  node of 512 GB, in two pools each node holds 300 GB

A file that is mapped need not be in memory as a whole. Under a bound that is
too small it is read from disk again and again.
""",
    look="""\
numactl --hardware              size and free of each node
grep Mems_allowed_list /proc/PID/status
cat /proc/PID/numa_maps | grep -c bind
dmesg | grep -i -e oom -e constraint
""",
    fix="""\
numactl       --interleave=all in place of -m, or a model that fits the node
docker        --cpuset-mems 0,1
kt-kernel     --kt-threadpool-count 2, one pool a node
llama.cpp     --numa distribute without numactl -m
""",
    harmless="""\
Where much of the model lies on a GPU, the part in memory may fit after all:
name a model of the size of that part with --model NAME.
""",
)
