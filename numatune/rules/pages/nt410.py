"""The page of NT410, dimms-unbalanced."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Memory controllers interleave over channels whose modules are alike. Where
one socket has four modules and the other three, or sizes are mixed, only a
part of the addresses uses all channels, and the node with less fills first.
The source cited below gives a loss of 35 to 65 percent of the bandwidth for
unbalanced modules.

  2 sockets, 4 and 3 modules of 64 GB
    node 0 size: 257700 MB
    node 1 size: 193200 MB       25 % less

EPYC falls back in steps: NPS1 interleaves all eight channels if all are
alike, else four or two; NPS4 has no fallback, a channel without a partner
is not interleaved at all.
""",
    look="""\
numactl --hardware | grep size
dmidecode -t 17 | grep -E "Locator|Size|Speed"       as root
ls /sys/devices/system/edac/mc

Compare "Speed" and "Configured Memory Speed" as well: two modules on one
channel run slower.
""",
    fix="""\
Put modules of one size and speed into the same channels of every socket,
one in each channel before a second in any. The board's manual has the order
of the slots.

Until then: give kt-kernel or ktransformers no more than fits the smaller
node, or run on the larger node alone (numactl -N 0 -m 0).
""",
    harmless="""\
Where the difference comes from something that takes memory from one node on
purpose: huge pages that are reserved there, a persistent memory device, a
mirrored bank. On a virtual machine numatune does not name it.
""",
)
