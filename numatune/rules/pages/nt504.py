"""The page of NT504, cpuset-excludes-node."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A cgroup cpuset (docker --cpuset-cpus, Kubernetes with a static CPU manager,
systemd AllowedCPUs) is a limit that no thread can leave. ktransformers and
kt-kernel compute nodes from the machine and not from the cpuset. Binding to
a node outside of it fails with EINVAL, and the worker keeps what it had: it
floats over the CPUs of the cpuset, beside the workers that were bound
there.

  2 x 24 cores, cpuset 0-23 with memory of node 0, cpu_infer 9
    ktransformers 0.2.2    4 workers tied to node 0, 4 loose on the same CPUs;
                           the copy of the weights on node 1 is denied
    kt-kernel, 2 pools     pool 0 pinned, pool 1 loose

A cpuset that leaves a part of each node does no such harm: there the masks
are cut.
""",
    look="""\
grep _allowed_list /proc/PID/status
cat /sys/fs/cgroup/cpuset.{cpus,mems}.effective

In a container /sys still shows all nodes of the host. The log has
"numa_sched_setaffinity_v2_int() failed: Invalid argument" or "NUMA node 1
not found".
""",
    fix="""\
kt-kernel        as many pools as the cpuset has nodes; inside of it they
                 are numbered from 0: --kt-threadpool-count 1
ktransformers    a cpuset over all nodes, or a build without USE_NUMA
llama.cpp        --numa numactl
docker           --cpuset-cpus 0-47 --cpuset-mems 0-1
""",
    harmless="""\
Never on purpose. The loose workers cost more than they bring.
""",
)
