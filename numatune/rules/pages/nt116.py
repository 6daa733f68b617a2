"""The page of NT116, default-threads-unsuitable."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Without a number a runtime counts something itself, and most look at the
host and not at what the process may use.

  runtime          counts                          does not look at
  llama.cpp        physical cores of the host      affinity, cpuset, quota
  ik_llama.cpp     the same                        the same
  kt run           0.8 x logical CPUs of the host  affinity, cpuset, quota
  ktransformers    from 0.2.4 on cores less 3,     affinity, cpuset, quota
                   before that 10
  libgomp          the CPUs of the affinity,       quota
                   SMT siblings included

Too many is the worse mistake, as threads that spin for each other are
stopped in turn. A container with 4 of 8 CPUs (ollama, issue 17916):

    8 threads, the default    0.27 tokens/s, stopped in 3115 of 4567 periods
    4 threads                12.07 tokens/s

Sensible here are the physical cores of the CPUs that the process may use,
or the quota rounded down if that is less. A default above is always named,
one below from half of it on: between the two the memory bandwidth is most
often used up anyway, while half or less has missed a socket, or halved
cores that have no SMT.
""",
    look="""\
numatune plan                         shows the default of each runtime here
nproc; cat /sys/fs/cgroup/cpu.max     what the process may use
grep -c . /proc/PID/task/*/comm       the threads that there are
""",
    fix="""\
llama.cpp        -t 16, or LLAMA_ARG_THREADS=16
ktransformers    --cpu_infer 17 (one of them is no worker)
kt-kernel        --kt-cpuinfer 16
OpenMP           OMP_NUM_THREADS=16

Leave a core for the server where every other one has a worker (NT117).
""",
    harmless="""\
A default of half of the cores is enough where a GPU computes most layers.
For the performance cores of a hybrid CPU it is meant so and not named.
""",
)
