"""The page of NT103, uneven-worker-split."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Every step ends when its slowest worker does. A node with more workers than
the others has less memory bandwidth for each, and may run out of CPUs long
before the others are full.

ktransformers built with NUMA support did this up to 0.2.2rc1: a worker's
node is its number times the nodes, divided by the number of tasks of the
first job it takes part in. With DeepSeek-V3/R1 shapes (first jobs of 32 and
112 tasks) on two nodes:

  cpu_infer    before 0.2.2       from 0.2.2 on
               node 0   node 1    node 0   node 1
     24           12       11        12       11
     41           16       24        20       20
     56           16       39        28       27
     65           16       48        32       32
    126           40       85        63       62

From 0.2.2 on the divisor is the number of workers, and the counts differ by
one at most.
""",
    look="""\
numatune plan --cpu-infer 65 --runtime ktransformers==0.2.1

On a running process, count its threads by the node of the CPU they are on
(lscpu -e gives the node of each CPU):

ps -Lo tid,psr,pcpu,comm -p PID --sort=psr

An uneven build also fills memory unevenly in time, not in size: each node
has a whole copy of the experts (numastat -p PID).
""",
    fix="""\
ktransformers    upgrade to 0.2.2 or later, or stay at a count at which the
                 split is even: up to cpu_infer 34 with DeepSeek-V3/R1
kt-kernel        name each node equally often in --kt-numa-nodes
""",
    harmless="""\
On a machine whose nodes have different numbers of cores an uneven split may
be what you want. At small counts, where no node comes near its cores, it
costs little.
""",
)
