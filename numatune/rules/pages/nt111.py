"""The page of NT111, no-workers."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A thread count can be too small to be divided. ktransformers up to 0.3 takes
one of cpu_infer N for itself: cpu_infer 1 leaves none, and the first job
divides by zero (the process ends with SIGFPE). kt-kernel divides the
threads by its pools: with fewer threads than pools the last pools have
none, but a thread is created for them all the same and works on an array of
length zero, which is undefined behaviour.

  ktransformers 0.2, cpu_infer 1                        exit status 136
  kt-kernel, --kt-cpuinfer 1 --kt-threadpool-count 2    pool 1 is empty

The same happens when the numbers are right and the cpuset leaves no CPU
that the runtime accepts.
""",
    look="""\
numatune plan --cpu-infer 1
echo $?                          136 after "Floating point exception"
grep Cpus_allowed_list /proc/self/status
""",
    fix="""\
ktransformers    --cpu_infer 2 or more, better the cores plus one
kt-kernel        --kt-cpuinfer at least --kt-threadpool-count, better the
                 physical cores less one on each node
""",
    harmless="""\
Never: nothing is computed, or nobody can say what is.
""",
)
