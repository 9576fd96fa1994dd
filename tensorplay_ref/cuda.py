"""`tp.cuda`: what a program may ask the simulated accelerator. Simulated: no GPU is used.

The names are those of `torch.cuda` and `tensorplay.cuda` where these have the thing. Every byte is
counted and every nanosecond computed, so the numbers are the same on every machine. A `device`
argument is a Device, its name or its index; None means "cuda:0".

A plain `Device("cuda")` has the profile "default": 4 GiB, which is real memory of the laptop, at
the speeds of a lesson. `simulate` gives it another size and other speeds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from .accelerator import (
    HOST,
    NANOSECONDS_PER_SECOND,
    PROFILES,
    Accelerator,
    OutOfMemoryError,
    Profile,
)
from .arguments import call_text
from .completion import public_names
from .contexts import context
from .device import DEVICE_COUNT, Device, standing_in

__all__ = [
    "OutOfMemoryError",
    "current_device",
    "device_count",
    "get_device_name",
    "host_memory_allocated",
    "is_available",
    "is_simulated",
    "max_host_memory_allocated",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_by_category",
    "memory_summary",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "simulate",
    "simulated_time",
    "synchronize",
]

__dir__ = public_names(__name__)

DeviceLike = Device | str | int | None


def is_available() -> bool:
    """True: the simulated accelerator is always there."""
    return True


def is_simulated() -> bool:
    """True: no GPU is used."""
    return True


def device_count() -> int:
    """How many simulated accelerators there are."""
    return DEVICE_COUNT


def current_device() -> int:
    """Index of the accelerator that "cuda" means: 0."""
    return 0


def get_device_name(device: DeviceLike = None) -> str:
    """A name that says that the device is simulated, and by which profile."""
    return f"simulated accelerator (profile {accelerator_of(device).profile.name})"


def memory_allocated(device: DeviceLike = None) -> int:
    """Bytes of live storages on the device."""
    return accelerator_of(device).memory_allocated()


def max_memory_allocated(device: DeviceLike = None) -> int:
    """The most bytes that lived at once on the device since the start or the last reset."""
    return accelerator_of(device).max_memory_allocated()


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Let the peak begin again at what lives now."""
    accelerator_of(device).reset_peak_memory_stats()


def memory_by_category(device: DeviceLike = None) -> dict[str, int]:
    """Live bytes on the device for every category that has a live storage."""
    return accelerator_of(device).live_by_category()


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Bytes that are free on the device, and its capacity."""
    return accelerator_of(device).mem_get_info()


def synchronize(device: DeviceLike = None) -> None:
    """Let the simulated host wait until the device has done everything it was given."""
    accelerator_of(device).synchronize()


def simulated_time(device: DeviceLike = None) -> float:
    """Simulated seconds from the start of the clock until all work issued so far is done.

    Only differences mean something on a default device; `simulate` begins at zero.
    """
    return accelerator_of(device).elapsed() / NANOSECONDS_PER_SECOND


def host_memory_allocated() -> int:
    """Live bytes of host memory, pinned and pageable, that offloading uses."""
    return HOST.memory_allocated()


def max_host_memory_allocated() -> int:
    """The most such bytes at once since the start or the last reset."""
    return HOST.max_memory_allocated()


def reset_peak_host_memory_stats() -> None:
    """Let the host's peak begin again at what lives now."""
    HOST.reset_peak_memory_stats()


def memory_summary(device: DeviceLike = None) -> str:
    """A page of text: capacity, live and peak bytes, categories, largest owners, host, time."""
    accelerator = accelerator_of(device)
    free, total = accelerator.mem_get_info()
    lines = [
        f"{accelerator.name}: {get_device_name(device)}; no GPU is used, all numbers are counted",
        *_table(
            [
                ("capacity", total),
                ("live", accelerator.memory_allocated()),
                ("free", free),
                ("peak", accelerator.max_memory_allocated()),
            ]
        ),
        "live by category",
        *_table(list(accelerator.live_by_category().items())),
        "largest owners",
        *(f"  {owner}" for owner in accelerator.largest(3)),
        "host memory used by offloading",
        *_table([("pinned", HOST.pinned_allocated()), ("pageable", HOST.pageable_allocated())]),
        f"simulated time: {accelerator.elapsed():,} ns",
    ]
    return "\n".join(lines)


def _table(rows: list[tuple[str, int]]) -> list[str]:
    return [f"  {name:<20}{nbytes:>20,} bytes" for name, nbytes in rows]


def simulate(
    capacity: int | None = None,
    *,
    profile: str | Profile = "lesson",
    index: int = 0,
    flops_per_second: int | None = None,
    memory_bandwidth: int | None = None,
    pinned_bandwidth: int | None = None,
    pageable_bandwidth: int | None = None,
    latency: int | None = None,
    launch_latency: int | None = None,
    queue_depth: int | None = None,
) -> AbstractContextManager[Device]:
    """Give a device another size and other speeds, an empty ledger, and a clock at zero.

    `with simulate(capacity=300_000) as device:` yields `Device("cuda", index)`. Afterwards, also
    after an exception, the former accelerator is back with its own books. Tensors may outlive the
    context and may come in from outside: each is freed in the ledger that counted it, and one from
    another clock counts as ready. The change is seen by every thread; contexts nest.

    Args:
        capacity: bytes of device memory; None keeps the profile's.
        profile: "lesson", "default", "a100" or "gh200" (`accelerator.profile` has the numbers and
            their sources), or a `Profile`.
        index: which accelerator.
        flops_per_second, memory_bandwidth, pinned_bandwidth, pageable_bandwidth: whole numbers a
            second; latency, launch_latency: whole nanoseconds; queue_depth: operations. None keeps
            the profile's.

    Errors:
        ValueError, TypeError: an unknown profile or device, or a number that makes no sense.
    """
    if isinstance(profile, Profile):
        base = profile
    elif profile in PROFILES:
        base = PROFILES[profile]
    else:
        names = ", ".join(repr(name) for name in PROFILES)
        raise ValueError(f"unknown profile {profile!r}; expected a Profile or one of {names}")
    changes = {
        "capacity": capacity,
        "flops_per_second": flops_per_second,
        "memory_bandwidth": memory_bandwidth,
        "pinned_bandwidth": pinned_bandwidth,
        "pageable_bandwidth": pageable_bandwidth,
        "latency": latency,
        "launch_latency": launch_latency,
        "queue_depth": queue_depth,
    }
    given: dict[str, Any] = {n: value for n, value in changes.items() if value is not None}
    simulation = _simulation(Device("cuda", index), dataclasses.replace(base, **given))
    simulation.text = call_text("simulate", profile=base.name, index=index, **given)
    return simulation


@context
def _simulation(device: Device, profile: Profile) -> Iterator[Device]:
    with standing_in(device, Accelerator(str(device), profile)):
        yield device


def accelerator_of(device: DeviceLike = None) -> Accelerator:
    """The simulated accelerator that stands behind a device now.

    Errors:
        ValueError: the CPU, which has no ledger and no clock, or no device at all.
    """
    if isinstance(device, int):
        found = Device("cuda", device)
    else:
        found = Device("cuda" if device is None else device)
    if found.accelerator is None:
        raise ValueError(f"expected a cuda device; found {found}, which keeps no books")
    return found.accelerator
