"""The page of NT105, uneven-nodes."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
ktransformers from 0.2.2 on and kt-kernel divide the workers by the number
of nodes and look at nothing else. On a machine with 24 cores on node 0 and
16 on node 1 the smaller node decides how far one can go:

  cpu_infer    workers    node 0 of 24    node 1 of 16
     33          32            16              16       full
     35          34            17              17       one too many
     41          40            20              20       four too many

kt-kernel at 48 on such a machine leaves 8 workers of node 1 without a core
while node 0 is exactly full.

Nodes become unequal by different processors, by cores switched off, and by
a cpuset that allows more of one node than of another.
""",
    look="""\
lscpu -e=CPU,NODE,CORE          cores of each node
numactl --hardware              CPUs of each node
cat /sys/devices/system/cpu/offline
grep Cpus_allowed_list /proc/self/status
""",
    fix="""\
any              give the process as many cores on each node: a cpuset
                 (docker run --cpuset-cpus), or switch the rest on again
ktransformers    --cpu_infer of nodes x smallest node + 1 at most
kt-kernel        --kt-cpuinfer of nodes x smallest node at most; or pools in
                 proportion, several on the larger node:
                 --kt-threadpool-count 3 --kt-numa-nodes 0 0 1
                 (memory of pools whose number is not their node is bound
                 elsewhere, see NT201)
""",
    harmless="""\
Below the limit of the smallest node nothing is lost but the idle cores of
the larger one. Decoding often stops gaining before all cores are used.
""",
)
