"""The page of NT505, cpuset-cpus-mems-mismatch."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A cpuset has two halves, CPUs and memory nodes, and they are set apart.
`docker run --cpuset-cpus 24-47` alone limits the CPUs to node 1 and leaves
the memory of both nodes: pages that another process or thread touched first
may lie on node 0, and a runtime that takes the first allowed memory node
for its own looks for CPUs there and finds none.

  CPUs of node 1, memory of 0-1: vLLM 0.33.0 with automatic binding looks on
  node 0 and ends with no thread

  CPUs of node 0, memory of node 1 only: every access is remote
""",
    look="""\
grep _allowed_list /proc/self/status
cat /sys/fs/cgroup/cpuset.{cpus,mems}.effective
numastat -p PID
""",
    fix="""\
docker        --cpuset-cpus 24-47 --cpuset-mems 1
systemd       AllowedCPUs=24-47
              AllowedMemoryNodes=1
Kubernetes    the static CPU manager and the memory manager with the Static
              policy, both
""",
    harmless="""\
Where a model needs more memory than the nodes of its CPUs have, the wider
memory set is on purpose. Then interleave it: numactl --interleave=0,1.
""",
)
