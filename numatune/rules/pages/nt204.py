"""The page of NT204, interleave-with-gpu-buffers."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
numactl --interleave=all sets the memory policy of the process, and so of
all it allocates: the weights, but also the pinned host buffers through
which a GPU is fed. Half of each buffer or more then lies on a node that the
GPU reaches only across the interconnect.

  4 sockets, 4 TB, 2 A100, GLM-5.2 int4 (colibri issue 82)
                    CPU only    with two GPUs
    default           0.05          2.32       tokens/s
    interleave=all    0.07          0.22

The same policy helps where there is no GPU: +7 to +40 % in the reports on
programs that load their weights with one thread. On another machine with
six GPUs it was no loss, and interleaving the weights alone was better still
(7.66, 8.66, 9.1).
""",
    look="""\
grep -c interleave /proc/PID/numa_maps
nvidia-smi topo -m               the node each GPU is attached to
numastat -p PID
""",
    fix="""\
any         start without --interleave; bind to the node of the GPU if the
            weights fit there: numactl -N 0 -m 0
any         if the runtime can interleave its weights by itself, use that
""",
    harmless="""\
Without a GPU. With one it is a risk and no proof of a loss: measure both.
""",
)
