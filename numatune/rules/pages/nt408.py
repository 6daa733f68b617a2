"""The page of NT408, bios-node-interleaving-on."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
With node interleaving (NPS0 on EPYC) the firmware puts neighbouring pieces
of memory on different sockets in turn and tells the kernel of one node.
Every core then finds half of its memory near and half far, whatever it
does. Nothing can go wrong any more, and nothing can be placed.

For a program that does nothing about NUMA this is the best that can be had
without effort. One report, to which there is no link and which nobody has
repeated, has:

  two nodes of 6 cores, DeepSeek-R1 Q8_0, llama.cpp    0.66 tokens/s
  the same, interleaved by the firmware                1.06

That would be a gain against bad placement, not against good. Where one
author compared the modes on one machine (2-socket EPYC, ik_llama.cpp pull
request 2396; decoding, prompt):

  NPS0, no --numa             35.2       888   tokens/s
  NPS1, --numa distribute     32.1     1,008
  NPS1, --numa mirror         35.0     1,001

On two EPYC 9575F with NPS0 the latency of memory is above 220 ns, about 90
ns more than on a one-socket 9355P in NPS1.
""",
    look="""\
lscpu | grep -E "Socket|NUMA node"      2 sockets, 1 node
cat /proc/cmdline                       no numa=off
numactl --hardware

The menu entries: Node Interleaving (Dell, HPE on Intel), NUMA nodes per
socket (Supermicro, Dell and HPE on AMD; the value is 0 or NPS0). Intel's
reference BIOS has an entry named Numa.
""",
    fix="""\
llama.cpp, ktransformers without     keep it
USE_NUMA, programs without NUMA
kt-kernel, vLLM, SGLang, one         switch it off: Node Interleaving
instance a socket                    disabled, or NPS1; then bind

Measure before and after a change; it needs a reboot. `numactl
--interleave=all` gives a program the same spread without one (not with a
GPU, see NT204).
""",
    harmless="""\
It is a state and no fault. On a virtual machine numatune does not name it:
there the hypervisor invents packages (NT412).
""",
)
