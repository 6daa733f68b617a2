"""The page of NT412, guest-topology."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A hypervisor shows a guest what it was told to: 32 packages with one core
each, one node over all of them, two threads a core that are no siblings on
the host. The node distances are 10 and 20 unless somebody set others. Under
it the host's scheduler may move virtual CPUs between sockets while the
guest carefully binds its workers.

So nothing follows about the firmware: fewer nodes than packages is no node
interleaving here, and more nodes than packages is no clustering. numatune
judges the placement inside the guest all the same, as the guest's kernel
enforces it.

Eight or more nodes that are all equally far apart are a sign that the real
distances are hidden.
""",
    look="""\
systemd-detect-virt
grep -o -m1 hypervisor /proc/cpuinfo
lscpu -e
""",
    fix="""\
KVM, libvirt    <cpu><numa>... with the host's layout, <vcpupin> and
                <numatune> (libvirt's element, not this program) to pin it
cloud           choose a size that covers whole sockets, or bare metal
WSL             one node is shown even on two sockets; use Linux
""",
    harmless="""\
Mostly. If the host pins virtual CPUs and memory as shown, a guest is as
good as the hardware.
""",
)
