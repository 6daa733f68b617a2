"""The page of NT301, numa-balancing-enabled."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Automatic NUMA balancing takes the access rights of pages away in turns,
notices by the fault which CPU uses each, and moves pages to where they are
used. For a model of hundreds of gigabytes that is a permanent scan with a
fault for every page it comes to, in the middle of a step in which all
workers wait for the slowest.

If workers and weights were placed on purpose there is nothing to gain:
bound pages are where they belong, and an interleave that was chosen is
undone. The kernel's own text advises to switch it off for a load that is
bound to nodes; llama.cpp prints a warning when it is on.

The value is a set of bits: 1 balances between nodes, 2 moves pages between
tiers of memory. numatune names 2 alone as information, because CXL or
persistent memory may need it.
""",
    look="""\
cat /proc/sys/kernel/numa_balancing
grep -E "numa_(pte_updates|hint_faults|pages_migrated)" /proc/vmstat

Read the counters twice, a minute apart, while it decodes: they should stand
still.
""",
    fix="""\
now            sysctl -w kernel.numa_balancing=0
for good       echo kernel.numa_balancing=0 > /etc/sysctl.d/90-numatune.conf
with tuned     tuned-adm profile hpc-compute
at boot        numa_balancing=disable on the kernel command line

It is the same for all runtimes. A container can't set it: do it on the
host.
""",
    harmless="""\
Where nothing is bound and the machine runs many small programs, balancing
helps them. Other tools (PerfSpect) recommend it on for that reason; for
this workload it is the other way round.
""",
)
