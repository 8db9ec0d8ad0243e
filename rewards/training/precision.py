"""Whether a device is really fast in bfloat16: asked of the hardware with a stopwatch, not of a table of names.

A CPU without AMX runs bf16 several times *slower* than fp32, one with AMX several times faster, and no flag that torch
shows to users tells them apart.
"""

from __future__ import annotations

import time

import torch

from guerdon.rewards.training.config import Precision

WORTH_IT = 2.0
"""bf16 matrix products must be this many times faster; the rest of a step gains nothing and casts cost some."""


def use_bf16(precision: Precision, device: torch.device) -> bool:
    """Whether to train under bf16 autocast on this device; ``auto`` measures."""
    if precision != "auto":
        return precision == "bf16"
    return bf16_speedup(device) >= WORTH_IT


def bf16_speedup(device: torch.device) -> float:
    """How many times faster a matrix product is in bf16 than in fp32 here; best of several, against load."""
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return 0.0
    size = 2_048 if device.type == "cuda" else 512
    try:
        return _seconds(device, torch.float32, size) / _seconds(device, torch.bfloat16, size)
    except (RuntimeError, TypeError):  # the device does not know bfloat16 at all
        return 0.0


def _seconds(device: torch.device, dtype: torch.dtype, size: int) -> float:
    a = torch.ones(size, size, device=device, dtype=dtype)
    best = float("inf")
    for _ in range(8):
        start = time.perf_counter()
        product = a @ a
        product[0, 0].item()  # waits for the device
        best = min(best, time.perf_counter() - start)
    return best
