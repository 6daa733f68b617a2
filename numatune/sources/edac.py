"""Memory modules and channels, where the kernel's EDAC drivers show them.

Files: https://github.com/torvalds/linux/blob/master/Documentation/ABI/testing/sysfs-devices-edac
"""

from __future__ import annotations

from numatune.sources.tree import Tree, is_number, numbered

EDAC = "sys/devices/system/edac/mc"
#: Controllers, and modules of one.
LIMIT = 1000


def read_dimms(tree: Tree) -> tuple[int | None, int | None]:
    """Return the populated modules and the channels of all controllers; (None, None) if unknown.

    Only drivers that count in channels and slots are believed: elsewhere an entry is a rank, of
    which a module may have several.
    """
    modules = channels = 0
    for controller in numbered(tree.folders(EDAC), "mc", LIMIT):
        folder = f"{EDAC}/mc{controller}"
        # The last slot reads "channel 2 slot 1"; "csrow" and "branch" layers are of ranks.
        last = (tree.text(f"{folder}/max_location") or "").split()
        names = tree.folders(folder)
        if last[::2] != ["channel", "slot"] or not all(map(is_number, last[1::2])):
            return None, None
        if any(name.startswith("rank") for name in names):
            return None, None
        channels += int(last[1]) + 1
        slots = numbered(names, "dimm", LIMIT)
        modules += sum(1 for slot in slots if tree.number(f"{folder}/dimm{slot}/size"))
    return (modules, channels) if modules else (None, None)
