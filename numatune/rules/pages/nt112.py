"""The page of NT112, ranks-exceed-nodes."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
vLLM's CPU backend starts one process for each rank, that is for each part of
--tensor-parallel-size times --pipeline-parallel-size. With
VLLM_CPU_OMP_THREADS_BIND=auto, the default, rank i is bound to the CPUs of
node number i among the nodes that the process may take memory from. It ends
at its start where there are more ranks than such nodes.

  two nodes of 24 cores, VLLM_CPU_OMP_THREADS_BIND=auto
    --tensor-parallel-size 1   23 workers on node 0, node 1 is idle
    --tensor-parallel-size 2   23 workers on each node
    --tensor-parallel-size 3   refused: "Not enough allowed NUMA nodes"

What counts is Mems_allowed: a cpuset with --cpuset-mems 0 leaves one node,
and so does CPU_VISIBLE_MEMORY_NODES=0.
""",
    look="""\
grep Mems_allowed_list /proc/self/status
echo $CPU_VISIBLE_MEMORY_NODES
numatune plan --runtime vllm --tensor-parallel-size 2
""",
    fix="""\
fewer ranks      --tensor-parallel-size NODES
more nodes       widen the cpuset (--cpuset-mems), or SNC or NPS in the BIOS
lists by hand    VLLM_CPU_OMP_THREADS_BIND='0-11|12-23|24-47': one list of
                 CPUs a rank, several ranks on one node if need be

The tensor parallel size must divide the attention heads of the model.
""",
    harmless="""\
Never: the server does not start.
""",
)
