"""The page of NT107, workers-unbound."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A worker that is tied to no node runs wherever the scheduler puts it, and is
moved when something else wakes up. The weights stay where they were first
touched. On two nodes about half of the reads then cross the interconnect,
and the other half may not either after the next move. On two-socket Xeons a
node reads 0.42 to 0.52 times as much from the other socket as from its own
(measured with Intel's mlc).

  2 x Xeon Gold 6462C, DeepSeek-R1 Q4_K_M, ktransformers 0.2.1 (issue 432)
    without NUMA build, cpu_infer 65      5.24 tokens/s
    with NUMA build,    cpu_infer 65     13    tokens/s

Some runtimes bind nothing by design (ktransformers without USE_NUMA,
llama.cpp without --numa). Others mean to and fail, and say so in one line
among many:

  a node outside of the cpuset              NT504
  a node without CPUs                       NT402
  a node number that is not there           NT403, NT113
  a node 0 without memory (ktransformers)   NT401
""",
    look="""\
for t in /proc/PID/task/*; do
  echo $(cat $t/comm) $(grep Cpus_allowed_list $t/status)
done

Bound workers list the CPUs of one node, unbound ones all CPUs. The log of
ktransformers has "numa_sched_setaffinity_v2_int() failed: Invalid argument"
for each that failed, that of kt-kernel "NUMA node 1 not found".
""",
    fix="""\
ktransformers    build with USE_NUMA=1 if memory holds a copy of the experts
                 on each node, or confine it: numactl -N 0 -m 0
kt-kernel        --kt-threadpool-count NODES (the default is 2, also on a
                 machine with one node)
llama.cpp        --numa distribute, or --numa numactl under numactl
any              one process a node; or interleave the memory, which makes
                 all nodes equally good: numactl --interleave=all (not with
                 a GPU, see NT204)
""",
    harmless="""\
On a machine with one node, or in a cpuset within one node, there is nowhere
to wander to, and numatune says nothing unless the runtime meant to bind.

Under numactl --interleave=all every node is equally near to the memory: the
finding is then no more than a note.
""",
)
