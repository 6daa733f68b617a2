"""The page of NT507, launcher-refused."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A launcher checks what it is asked for before it starts the program, and ends
with an error where it can't have it. The server is then never run, and its
own log says nothing.

  numactl -m 1      node 1 has no memory (no module on that socket, or it
                    holds GPUs only): out of range, exit status 1
  numactl -N 1      in a container with the memory of node 0 alone: the same
  numactl -C 8      isolated with isolcpus=: refused, though taskset takes it
  docker run --cpuset-cpus 0-63 on 48 CPUs: the daemon refuses the container
  taskset -c 48-95  with SMT switched off: no CPU is left, EINVAL

numactl looks at the nodes with memory that this process may use, so the same
line works on the host and fails in a container. A static pod is rejected
where it asks for more CPUs of one node than the largest node has.
""",
    look="""\
numactl --show
grep _allowed_list /proc/self/status
cat /sys/devices/system/node/has_memory /sys/devices/system/cpu/online
kubectl describe pod NAME       (TopologyAffinityError, SMTAlignmentError)
""",
    fix="""\
numactl       name only nodes and CPUs of `numactl --show`; +0 counts places
              among those that are allowed; --all takes isolated CPUs
docker        --cpuset-cpus and --cpuset-mems within what is online
Kubernetes    ask for a multiple of the threads of a core, and for no more
              CPUs than a node has
Slurm         srun -c with no more CPUs than the machine has
""",
    harmless="""\
Never: the program does not run. For a line that must work on machines of
different shape, ask first: numactl --show | grep membind.
""",
)
