"""Indexes and maps in the memory of a GPU, and arrays there: of CuPy, of torch, and of every library with
__cuda_array_interface__ or DLPack.

The compiled part (_core.DeviceIndex, _core.DeviceMap) takes addresses and stream handles. Each file uses those before
it: `devices` (numbers of GPUs, handles of streams), `arrays` (what reads arrays of other libraries, DeviceArray),
`calls` (a call allocates its answers by the library of the array that asked, and orders streams), `index` and `map`.
No library of arrays is imported before an array of it comes.
"""

from . import devices
from .arrays import DeviceArray
from .index import GpuIndex
from .map import GpuMap

__all__ = ["DeviceArray", "GpuIndex", "GpuMap", "devices"]
