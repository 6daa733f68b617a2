"""The page of NT405, cpu-limit-exceeded."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
ggml counts CPUs up to 512 (GGML_NUMA_MAX_CPUS) and fills the masks of nodes
with those alone. CPUs from number 512 on get no thread.

  2 sockets of 192 cores with SMT, 768 CPUs, siblings 384 apart
    node 0    CPUs 0-191,384-575     of which 0-191,384-511 are used: 320
    node 1    CPUs 192-383,576-767   of which 192-383 are used: 192

Here one thread a core still fits, but node 0 has siblings to give and
node 1 has none. Where the first threads of some cores are beyond 512, whole
cores are missing.

CPU masks (-C, -Cr) end at 512 as well.
""",
    look="""\
cat /sys/devices/system/cpu/online
grep Cpus_allowed_list /proc/PID/task/*/status
""",
    fix="""\
Leave --numa out and interleave the memory, so that threads may run anywhere:

  numactl --interleave=all llama-server -t 384

Or switch SMT off in the firmware, so that there are fewer CPUs; the siblings
add no memory bandwidth.
""",
    harmless="""\
Where the CPUs beyond are second threads of cores that are used already, and
there is one thread a core or fewer.
""",
)
