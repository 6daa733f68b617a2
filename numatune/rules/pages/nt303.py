"""The page of NT303, numa-off-on-command-line."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
numa=off makes the kernel ignore the firmware's description of the nodes. It
shows one node with all CPUs and all memory. The hardware does not change:
the addresses of a socket's memory still lie in one piece, so the allocator
fills one socket and then the next, and threads of the other socket read it
across the interconnect. No tool can bind any more, and NUMA builds see one
node.

It looks like the interleaving of the BIOS, where the nodes vanish as well,
and is its opposite: there the addresses alternate between the sockets and
all channels work together.
""",
    look="""\
cat /proc/cmdline
dmesg | grep -i "NUMA turned off"
lscpu | grep -E "Socket|NUMA"        more sockets than nodes
""",
    fix="""\
Debian, Ubuntu    edit GRUB_CMDLINE_LINUX in /etc/default/grub; update-grub
Fedora, RHEL      grubby --update-kernel=ALL --remove-args=numa=off
then              reboot; numactl --hardware

If one node is what you want for a runtime without NUMA handling, use the
BIOS: node interleaving, or NPS0 on two-socket EPYC.
""",
    harmless="""\
On a machine with one socket and one node.
""",
)
