"""The page of NT506, quota-below-workers."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A CPU quota (docker --cpus, a Kubernetes limit) is no set of CPUs but an
amount of time: 4 CPUs are 400 ms of CPU time in each period of 100 ms, over
all threads. Eight workers on eight CPUs use it up in 50 ms, and then all of
them stop until the next period. Spinning counts as use, so waiting at a
barrier burns the budget of those that still compute.

  8 CPUs, quota of 4, llama3.2 3B (ollama issue 17916)
    8 threads (the default)     0.27 tokens/s    throttled in 3115 of 4567
                                                 periods
    4 threads                  12.07
    2 threads                   9.09

  Ryzen 7840U, quota of 2 (llmman issue 322)
    threads of the host         1
    2 threads                   4.1 times as fast

A part of a CPU carries no spinning worker: round down. With 7.65 CPUs eight
threads collapse and seven do not.
""",
    look="""\
cat /sys/fs/cgroup/cpu.max           "400000 100000" is 4 CPUs
cat /sys/fs/cgroup/cpu.stat          nr_throttled grows while it decodes

Neither nproc nor /proc/cpuinfo shows a quota, so most runtimes do not see
it.
""",
    fix="""\
ktransformers    --cpu_infer QUOTA+1 at most (rounded down), better QUOTA
kt-kernel        --kt-cpuinfer QUOTA at most
llama.cpp        --threads QUOTA
ollama           num_thread
docker           --cpus larger, or --cpuset-cpus in place of --cpus
Kubernetes       whole CPUs, requests = limits, static CPU manager
""",
    harmless="""\
Where workers sleep while they wait and are seldom all busy.
""",
)
