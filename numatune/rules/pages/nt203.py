"""The page of NT203, page-placement-first-touch."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Linux puts a page on the node of the thread that touches it first, and leaves
it there. Weights are read by all threads, again and again. Whether each
thread finds its part near is decided while they are loaded.

  who touches first in llama.cpp
    no --numa             the loading thread: everything on one node, whose
                          memory controllers then serve all cores
    --numa distribute     each thread its own rows, if nothing below is true
      Q4_0, Q4_K, ...     the loading thread, as it repacks them
      --no-mmap, --mlock  the loading thread
      a -tb unlike -t     another division of the rows
      page cache          whoever read the file before, even another program

  2 x EPYC 9175F, Llama-3.1-70B f16, --numa distribute (issue 11744)
    first touched by a prompt          2.4  tokens/s
    first touched by generation        4.31 tokens/s
  2 x Xeon E5-2698B v3, 65B q5_1, no --numa (pull request 1556)
    16 threads      1114 ms per token
    32 threads      1296 ms per token
  Xeon Silver 4514Y, Qwen3-8B Q4_K_M (pull request 18698, not merged)
    repacked by the loading thread    19.39 tokens/s
    repacked where it is read         26.92 tokens/s
""",
    look="""\
numastat -p PID             private and mapped memory on each node
grep -E 'gguf|heap' /proc/PID/numa_maps

Memory on one node while threads run on several is it.
""",
    fix="""\
any          numactl --interleave=all in front: all nodes are then equally
             good, and the result does not depend on the order of things
llama.cpp    --numa distribute --no-repack and one number for -t and -tb;
             before the first start, as root:
               echo 3 > /proc/sys/vm/drop_caches
             then load with a run that only generates:
               llama-bench -p 0 -r 1 -t N --numa distribute -m MODEL
ik_llama.cpp the same without --no-repack; -rtr and -thp load on one node
one node     numactl -N 0 -m 0, if the model and the threads fit there
""",
    harmless="""\
With one node, or confined to one (numactl -N 0 -m 0), there is no wrong
place. Of --numa distribute with one count and unrepacked weights it is only
said that the order of the first reads counts: information, no fault.
""",
)
