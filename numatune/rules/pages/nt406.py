"""The page of NT406, start-node-beyond-limit."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
--numa isolate ties all threads to the node on which the process starts, as
getcpu() tells it. ggml takes the number of that node as an index into its
table of eight nodes. From 8 on it reads what lies behind the table, as a
count and a list of CPUs, and dies of a segmentation fault.

  16 nodes of 8 cores, --numa isolate, started on CPU 127 (node 15)
    crash at the first graph

Where the process starts is up to the scheduler, so that one and the same
command line works at times. It need not have so many nodes: of ids 0, 1, 8
and 9 two are beyond the table.

On a node below 8 that was not counted, as after a gap in the ids, the mask
is empty: the kernel refuses it, and the threads float.
""",
    look="""\
cat /sys/devices/system/node/online      ids from 8 on
dmesg | tail                             the segmentation fault
""",
    fix="""\
Start it on one of the first nodes, or do without isolate:

  numactl -N 3 -m 3 llama-server --numa numactl -t 8
  llama-server --numa distribute -t 64
""",
    harmless="""\
Never: it does not start.
""",
)
