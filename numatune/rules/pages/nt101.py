"""The page of NT101, node-oversubscribed."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
The workers of a decode step run a piece of work each and then wait on a
barrier until all are done. ktransformers, kt-kernel, llama.cpp and most
OpenMP programs wait by spinning: a waiting worker keeps its CPU busy. As
long as every worker has a CPU of its own, the barrier costs next to
nothing. With one worker too many, somebody has no CPU, and the spinning
ones do not give theirs up before the scheduler takes it away at a tick or
at the end of a slice.

Measured with a small pool on two CPUs (Linux 6.18, a virtual machine; jobs
of 7.7 us, each followed by a barrier):

  workers on 2 CPUs    jobs per second, spinning    with sched_yield
         2                     126,391                  125,366
         3                         249                   59,803
         4                         237                   56,155

About 4 ms a barrier from the first worker too many on, whatever the size of
the job.

How it came about on a machine with two sockets of 24 cores (ktransformers
pull request 685): up to 0.2.2rc1, a build with NUMA support computed the
node of a worker from the number of tasks of its first job and not from the
number of workers. With DeepSeek-V3/R1 the first job has 32 tasks, so
workers 0-31 are spread over both nodes and all later ones land on node 1:

  cpu_infer    workers    node 0    node 1    CPUs a node    reported
     41          40         16        24          24         fast
     42          41         16        25          24         1 token/s
     42          41         21        20          24         (from 0.2.2 on)

The same with SMT (issue 432, two sockets of 32 cores, 64 CPUs each):
cpu_infer 126 puts 85 workers on the 64 CPUs of node 1 and gave 0.518
tokens/s; cpu_infer 65 gave 13.
""",
    look="""\
Ask for the placement, and where the cliff is:

  numatune plan --cpu-infer 42

While it decodes, count the threads on each CPU. In the list of psr (the CPU
a thread runs on) a number that shows up twice among the busy threads, while
CPUs of another node are missing, is this problem:

  ps -eLo pid,tid,psr,pcpu,comm --sort=-pcpu | head -60

In htop (F2, Display options, show custom thread names) all CPUs of one node
are at 100 %, some of the other are idle, and the token rate is far below
that of a smaller count.
""",
    fix="""\
Use a thread count that fits, or a version that spreads the workers evenly.
`numatune plan` names the largest safe count; these are the rules behind it:

  ktransformers to 0.2.2rc1,    --cpu_infer N at which no node is too full:
    built with NUMA             41 on 2 x 24 CPUs
  ktransformers 0.2.2 - 0.3.2,  --cpu_infer N: N - 1 workers, as many on each
    built with NUMA             node, give or take one
  ktransformers without NUMA    N - 1 at most the CPUs that it may use
  kt-kernel                     --kt-cpuinfer N at most the physical cores,
                                better one less on each node
  any other                     at most the CPUs that the process may use; in
                                a container these are fewer

The first fixed release of ktransformers is 0.2.2. The releases 0.2.1,
0.2.1.post1 and 0.2.2rc1 do not have the fix.
""",
    harmless="""\
Workers that sleep or yield while they wait lose little more than their
share of the CPU (the right column above).
""",
)
