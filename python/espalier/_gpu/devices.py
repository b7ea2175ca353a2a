"""GPUs by their numbers, and CUDA streams by their handles."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core

LEGACY_STREAM = 1  # handle of the legacy default stream
COPY_HINT = "copy it there, such as with cupy.asarray() or tensor.cuda(), or to the host with .get() or .cpu()"

# Tests of everything but the kernels run without a GPU: device -1 is the CPU, and "GPU" arrays are in host memory.
host_is_a_gpu = False


def ordinal_of(device: Any) -> int:
    """The number of a GPU: "cuda", "cuda:1", 1, or an object of CuPy or torch; -1 for "cpu"."""
    if isinstance(device, (int, np.integer)) and not isinstance(device, bool):
        if device < 0:
            raise ValueError(f"device is {device}: GPUs have the numbers 0 and up.")
        return int(device)
    kind = getattr(device, "type", None)  # torch.device
    if isinstance(kind, str):
        device = kind if getattr(device, "index", None) is None else f"{kind}:{device.index}"
    elif isinstance(getattr(device, "id", None), int):  # cupy.cuda.Device
        return int(device.id)
    if device == "cpu":
        return -1
    if isinstance(device, str):
        kind, colon, number = device.partition(":")
        if kind == "cuda" and (number.isdecimal() if colon else True):
            return int(number or 0)
    raise ValueError(f"device is {device!r}: use 'cpu', 'cuda' or 'cuda:0'.")


def name_of(ordinal: int) -> str:
    return f"cuda:{ordinal}"


def open_device(ordinal: int) -> None:
    """Fails with the reason where the GPU cannot be used."""
    try:
        _core.open_device(ordinal)
    except (ValueError, RuntimeError) as error:
        reason = str(error).replace("; use device::cpu().", ".")
        raise type(error)(f"{name_of(ordinal)} cannot be used: {reason}") from None


def handle_of(stream: Any, device: int) -> int:
    """The handle of a stream: an int, or an object with __cuda_stream__, ptr (CuPy) or cuda_stream (torch)."""
    if isinstance(stream, (int, np.integer)) and not isinstance(stream, bool):
        handle = int(stream)
    elif hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        handle = int((protocol() if callable(protocol) else protocol)[1])
    elif hasattr(stream, "ptr"):
        handle = int(stream.ptr)
    elif hasattr(stream, "cuda_stream"):
        handle = int(stream.cuda_stream)
    else:
        raise TypeError(
            f"stream is of type {type(stream).__name__}: give a stream of CuPy or torch, an object with "
            "__cuda_stream__, or the handle as an int."
        )
    if handle < 0:
        raise ValueError(f"stream is {handle}: a handle is not negative.")
    own = getattr(stream, "device_id", getattr(stream, "device_index", None))
    if isinstance(own, int) and own >= 0 and own != device:
        raise ValueError(f"the stream belongs to {name_of(own)}, and the index is on {name_of(device)}.")
    return handle or LEGACY_STREAM
