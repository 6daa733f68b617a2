"""The page of NT414, platform-limit."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Some platforms were made for smaller machines, and what lies beyond their
limit is not used or not told apart.

The topology manager of the kubelet tries every set of NUMA nodes, which grows
like 2 to the power of their number. Above eight nodes it gives up: with any
policy but none it is not loaded, and an error is all there is (unsupported on
machines with more than 8 NUMA Nodes). Two sockets with NPS4 or SNC4 have
eight; HBM, CXL or GPU memory as nodes come on top, and a GB200 has 34.

WSL 2 runs Linux in a virtual machine that has one NUMA node, on two sockets
too. Older versions show the CPUs of one socket only: 40 of 80.
""",
    look="""\
ls -d /sys/devices/system/node/node*
journalctl -u kubelet | grep -i numa
wmic computersystem get NumberOfProcessors       in Windows
""",
    fix="""\
Kubernetes    topologyManagerPolicyOptions:
                max-allowable-numa-nodes: "16"
              or the policy none, and cpusets by another way
BIOS          NPS1 or SNC off: fewer nodes
WSL           run Linux on the machine itself
""",
    harmless="""\
With the policy none the kubelet does not look at nodes. WSL on one socket
with one node hides nothing.
""",
)
