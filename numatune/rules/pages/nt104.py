"""The page of NT104, threads-not-multiple-of-nodes."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A runtime that divides its work once and for all gives each thread, or each
node, a fixed part of a step. Where the threads are no multiple of the nodes
some nodes have one thread more than others, and everybody waits at the end
of the step for the slowest.

  --numa distribute of llama.cpp (thread i on node i modulo nodes)
    25 threads on 2 nodes    13 and 12
    30 threads on 4 nodes    8, 8, 7 and 7

Under --numa threads own fixed rows of each matrix, so that nobody takes over
work from a slower thread. kt-kernel divides the weights by its pools: each
pool has the same work, and one with fewer threads takes longer. The thread
that introduced the option reports losses for such counts (pull request 1556
of llama.cpp).
""",
    look="""\
numatune plan --threads 25      the threads of each node
""",
    fix="""\
llama.cpp     a multiple of the nodes: -t 24 or -t 26, the same for -tb
ik_llama.cpp  the same
kt-kernel     --kt-cpuinfer a multiple of --kt-threadpool-count
""",
    harmless="""\
One thread more or less among dozens costs little. Where a core is to stay
free for the server the better count may be one node's worth lower, not one
thread: compare both.
""",
)
