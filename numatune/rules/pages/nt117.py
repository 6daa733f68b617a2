"""The page of NT117, no-headroom."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Workers are not all that runs. ktransformers' main thread waits for the
workers by spinning, GPU callbacks and the HTTP server wake up at every
token, and the kernel has work of its own. If the workers take every CPU,
each of these pushes a spinning worker aside, and the others wait for it.

ktransformers' documents say so in their way: "total number of cores - 2",
"slightly below the number of cores", physical cores minus the number of
GPUs.

  2 x 32 cores without SMT, cpu_infer 65: 64 workers, 64 CPUs, none free

Under a CPU quota it is worse: what the others use is missing from the
budget of the workers, and at its end the whole group stops until the next
period.
""",
    look="""\
ps -Lo tid,psr,pcpu,comm -p PID --sort=-pcpu | head
cat /sys/fs/cgroup/cpu.stat      nr_throttled must not grow
""",
    fix="""\
two nodes of 32    --cpu_infer 63 (31 + 31) or --kt-cpuinfer 62
any                one worker less on each node
quota of 4 CPUs    3 workers, or a quota of 5
""",
    harmless="""\
With SMT, as many workers as cores leave the second threads, and numatune
says nothing. llama.cpp's main thread is one of its workers, so without a
busy server the loss is small; in the one published measurement 4 threads on
a quota of 4 were the best of three.
""",
)
