"""The page of NT108, smt-siblings-in-mask."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
ktransformers ties a worker to all CPUs of its node, both threads of every
core among them. The scheduler prefers idle cores, but it does not promise
them: two workers may meet on the two threads of one core while a core
beside them idles, and every step waits for these two.

  2 x 18 cores with SMT, cpu_infer 36: 18 and 17 workers. Each has 36 CPUs to
  choose from on its node, although 18 cores would do.

kt-kernel pins each worker to the first thread of a core of its own and does
not have this.
""",
    look="""\
grep Cpus_allowed_list /proc/PID/task/*/status | sort | uniq -c
lscpu -e=CPU,NODE,CORE

If the lists hold CPUs of the same CORE twice, the mask has both threads.
Whether two workers really meet shows in the psr column:

watch -n1 "ps -Lo psr,pcpu,comm -p PID --sort=-pcpu | head -40"
""",
    fix="""\
Measure before and after; the scheduler often gets it right.

  a cpuset of first threads    docker run --cpuset-cpus 0-35 ...
  SMT off until reboot         echo off > /sys/devices/system/cpu/smt/control
  kt-kernel                    one worker a core

Taskset and numactl do not help with ktransformers: it replaces what it
inherits (NT503).
""",
    harmless="""\
Mostly. A user of a 2 x 18 core machine found SMT off much slower
(ktransformers issue 1073); others leave it off. It is worth a measurement
and no more.
""",
)
