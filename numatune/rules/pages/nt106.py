"""The page of NT106, node-left-idle."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A node brings its cores and its own memory channels. If no worker may run
there, its share of the bandwidth stays unused: on two sockets that is half
of the machine. ktransformers' own figures for DeepSeek-V3 Q4_K_M on two
Xeon Gold 6454S: 8.73 tokens/s on one socket, 12.2 on both with a NUMA
build.

A node is left out when the launch says so (numactl -N 1, one pool in
kt-kernel, one rank), when it has no memory and the runtime counts nodes by
memory (libnuma 2.0.16: ktransformers), or when its number is above what the
runtime can index.
""",
    look="""\
numatune plan --cpu-infer 33
htop                            a block of CPUs at 0 % during decoding
numastat -p PID                 memory of the process on each node
""",
    fix="""\
meant for one socket    nothing to do; bind the memory too:
                        numactl -N 1 -m 1
ktransformers           build with USE_NUMA=1 if a copy of the experts fits
                        on each node
kt-kernel               --kt-threadpool-count NODES
memoryless node         see NT401
""",
    harmless="""\
One socket on purpose is a good set-up: it needs one copy of the weights,
and two instances, one on each socket, often serve more requests than one
over both.
""",
)
