"""The machine model: frozen values that read nothing and know no format."""

from numatune.machine.cpuset import CpuSet as CpuSet
from numatune.machine.machine import Machine as Machine
from numatune.machine.topology import Access as Access
from numatune.machine.topology import Core as Core
from numatune.machine.topology import Cpu as Cpu
from numatune.machine.topology import Dimm as Dimm
from numatune.machine.topology import Distances as Distances
from numatune.machine.topology import Gpu as Gpu
from numatune.machine.topology import Limits as Limits
from numatune.machine.topology import Memory as Memory
from numatune.machine.topology import MemoryCache as MemoryCache
from numatune.machine.topology import MemoryTier as MemoryTier
from numatune.machine.topology import Node as Node
from numatune.machine.topology import Package as Package
from numatune.machine.topology import Settings as Settings
from numatune.machine.topology import Warning as Warning
