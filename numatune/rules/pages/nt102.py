"""The page of NT102, workers-share-core."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Two SMT threads share one core: its load ports, its caches, its path to
memory. Decoding waits for memory, so the second thread brings no bandwidth,
but it halves what the first can do in between, and a step is as slow as its
slowest worker.

  machine                          threads    tokens/s    source
  2 x EPYC 7713, 128 cores             96       3.6       colibri 234
                                      128       3.55
                                      256       0.15
  Xeon w7-3465X, 28 cores              28      10.3       kt 1816
                                       52      11.8

The second row is why this is a warning and not an error: there 52 workers
on 28 cores were 15 % faster. Which of the two a machine is can only be
measured.

kt-kernel pins one worker to each physical core. Those that find no core
keep the mask of their node and float over cores on which a pinned worker
spins already.
""",
    look="""\
Compare the workers with the cores of each node:

  numatune plan --cpu-infer 65
  lscpu -e=CPU,NODE,SOCKET,CORE

Threads whose CPUs have the same CORE number share it:

  ps -eLo pid,tid,psr,pcpu,comm --sort=-pcpu | head -80
""",
    fix="""\
Measure two counts, one worker a core and the one you have, with the page
cache warm both times:

  ktransformers, NUMA build    --cpu_infer CORES+1   (one of N is no worker)
  kt-kernel                    --kt-cpuinfer CORES, less one on each node
  kt run                       --cpu-threads CORES; its default is 0.8 times
                               the logical CPUs, which is 1.6 times the cores
  llama.cpp                    --threads CORES
""",
    harmless="""\
Where the larger count is faster in your own measurement, keep it.
""",
)
