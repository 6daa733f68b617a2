"""The page of NT302, zone-reclaim-enabled."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
With vm.zone_reclaim_mode other than 0 the kernel reclaims memory on the
node at hand before it takes any from another node. What it reclaims first
is page cache, and mapped weights are page cache: they are thrown out and
read from disk again at the next token, while another node has free memory.

Since Linux 3.16 the default is 0, whatever the distances say. A value of 1
today was set by somebody: an old tuning guide, a sysctl file that was
carried along.

The bits: 1 reclaims, 2 writes dirty pages out, 4 swaps.
""",
    look="""\
cat /proc/sys/vm/zone_reclaim_mode
grep zone_reclaim_failed /proc/vmstat        rising fast is bad
grep -r zone_reclaim /etc/sysctl.conf /etc/sysctl.d
iostat -x 1                                  reads while it decodes
""",
    fix="""\
now          sysctl -w vm.zone_reclaim_mode=0
for good     remove the line that sets it, or
             echo vm.zone_reclaim_mode=0 > /etc/sysctl.d/90-numatune.conf

It is the same for all runtimes. A container can't set it: do it on the
host.
""",
    harmless="""\
With one node, or where every node is so large that it never fills: then it
does nothing.
""",
)
