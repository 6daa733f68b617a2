"""The page of NT508, memory-policy-forbidden."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
The default seccomp profiles of docker and podman allow get_mempolicy,
set_mempolicy and mbind only to a container with the capability SYS_NICE. In
every other one these calls fail with EPERM:

  numactl -N 1 -m 1 python -m ktransformers.local_chat ...
  set_mempolicy: Operation not permitted
  setting membind: Operation not permitted

Here numactl ends, and the program is not started. A runtime that binds its
memory itself goes on: libnuma prints the first of these lines for each thread
and the memory comes from the node that touches it first. Threads are bound to
their CPUs all the same, so that everything looks right but the speed.

numactl after version 2.0.18 takes the refused get_mempolicy for a machine
without NUMA, and says so.
""",
    look="""\
numactl -m 0 true                   in the container: it must say nothing
grep -e Seccomp -e CapEff /proc/self/status
numastat -p PID                     where the memory is
""",
    fix="""\
docker, podman  --cap-add SYS_NICE
Kubernetes      securityContext:
                  capabilities:
                    add: [SYS_NICE]
without it      --cpuset-cpus 24-47 --cpuset-mems 1 confines the memory from
                outside, and needs no policy; start one container a node
""",
    harmless="""\
Where the cpuset of the container has one memory node, all memory is there
anyway.
""",
)
