"""The page of NT202, weight-copies-exceed-memory."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A build with USE_NUMA allocates every expert tensor once on each node that
has memory, so that each worker reads a copy of its own. The need is nodes x
experts, and the mapped model file comes on top as page cache.

  machine                     model              copies     need    result
  2 x 512 GB (issue 321)      R1 Q8_0, 713 GB       2     1426 GB   killed
  4 x 320 GB (issue 637)      R1 Q4_K_M, 405 GB     4     1620 GB   killed
  2 x 512 GB (issue 432)      R1 Q4_K_M, 405 GB     2      810 GB   runs

It is the number of nodes that counts and not that of sockets: SNC and NPS2
or NPS4 multiply the copies by two to four. 512 GB of memory are too little
for two copies of a 405 GB model in any mode (issue 890).

kt-kernel (0.4.1 and later) splits the weights over its pools and keeps one
copy in all.
""",
    look="""\
numactl --hardware | grep size
numastat -p PID          Private grows to nodes x model while it loads
dmesg | grep -i "out of memory"
""",
    fix="""\
ktransformers    rm -rf build; unset USE_NUMA; bash install.sh
                 and run it on one socket: numactl -N 0 -m 0
                 (--cpu_infer of its cores plus one)
kt-kernel        --kt-threadpool-count NODES: one share a node, no copies
BIOS             one node a socket: SNC off, or NPS1
""",
    harmless="""\
The size of the model stands for that of its experts, which are nearly all
of it. If the excess is a few percent, the rest of the model may make the
difference.
""",
)
