"""The page of NT509, binding-inherited."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A new thread and a new process have the affinity of the one that starts them.
With OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY libgomp ties the first
thread of a process to its first place, as soon as the library is loaded.
What OpenMP does not place itself then starts on that one core and stays:

  import torch with OMP_PROC_BIND=close: the process may use CPU 0 only
  (affinity {0,1,2,...} before, {0} after)

  llama.cpp --numa numactl with OMP_PROC_BIND: it takes the affinity of the
  main thread for all, so that every thread ends on its one CPU

  an engine that starts itself anew with OMP_PROC_BIND=spread: 48 threads on
  CPUs 0-1, 0.11 tokens/s in place of 4.34

kt-kernel pins its workers itself, but its task queue, the main thread and the
GPU callbacks are tied by nobody and share that core with a pinned worker. The
workers of ktransformers without NUMA support all run there.
""",
    look="""\
grep Cpus_allowed_list /proc/PID/task/*/status
env | grep -e OMP_ -e KMP_
""",
    fix="""\
ktransformers, kt-kernel   unset OMP_PROC_BIND OMP_PLACES GOMP_CPU_AFFINITY
llama.cpp                  either --numa or OMP_PROC_BIND, not both
taskset, srun, mpirun      give the process all CPUs that it may use: srun -c
                           32, mpirun --bind-to none, taskset -c 0-31
""",
    harmless="""\
A program whose threads are all OpenMP's is placed as the variables say. One
thread on one CPU is no loss.
""",
)
