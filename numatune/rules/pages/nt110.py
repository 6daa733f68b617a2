"""The page of NT110, instances-share-cores."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Each instance of kt-kernel counts its cores from the first one of each node
and knows nothing of the others. Two instances with 8 workers a node both
pin to cores 0-7 of both nodes: 16 cores carry two spinning workers each
while the rest idles, as if every step of both had twice its workers (see
NT101).

  2 x 24 cores, two instances, --kt-cpuinfer 16 --kt-threadpool-count 2

    node 0   cores 0-7 taken twice, 8-23 idle
    node 1   cores 0-7 taken twice, 8-23 idle

An offset for this was proposed (pull request 1712) and closed without being
merged.
""",
    look="""\
grep Cpus_allowed_list /proc/PID1/task/*/status /proc/PID2/task/*/status

The same single CPU in both processes is it. In htop a few CPUs are at 100 %
and the others idle although two models run.
""",
    fix="""\
Give every instance a cpuset; inside of it kt-kernel counts the cores that
it was left, so they no longer collide:

  docker run --cpuset-cpus 0-23  --cpuset-mems 0 ...   --kt-threadpool-count 1
  docker run --cpuset-cpus 24-47 --cpuset-mems 1 ...   --kt-threadpool-count 1

  systemd-run -p AllowedCPUs=24-47 -p AllowedMemoryNodes=1 ...

In a cpuset with one node the map is 0, whichever node it is. Taskset and
numactl do not help: the pinning replaces them. --kt-numa-nodes 1 with one
pool reads beyond an array (NT114).
""",
    harmless="""\
Only where the instances never compute at the same time.
""",
)
