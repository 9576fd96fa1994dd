"""How large and how fast a simulated accelerator is: for lessons, and after two real devices.

Every duration is computed from these numbers and never measured, in whole nanoseconds rounded up,
so that a program has the same simulated time on every machine.

| profile   | what it is for             | capacity | memory     | link, one way | arithmetic   |
|-----------|----------------------------|----------|------------|---------------|--------------|
| `lesson`  | round numbers, by hand     | 1 MiB    | 1 byte/ns  | 0.5 byte/ns   | 10 flop/ns   |
| `default` | a plain `Device("cuda")`   | 4 GiB    | 1 byte/ns  | 0.5 byte/ns   | 10 flop/ns   |
| `a100`    | NVIDIA A100 80GB PCIe      | 80 GB    | 1,935 GB/s | 32 GB/s       | 19.5 Tflop/s |
| `gh200`   | NVIDIA GH200, 96 GB        | 96 GB    | 4 TB/s     | 450 GB/s      | 67 Tflop/s   |

Sources of the two real devices:

- A100: NVIDIA, "A100 Tensor Core GPU" data sheet, column 80GB PCIe: 19.5 TFLOPS in FP32, 80 GB of
  HBM2e at 1,935 GB/s, PCIe Gen4 with 64 GB/s over both directions, so 32 GB/s each way.
- GH200: NVIDIA, "GH200 Grace Hopper Superchip" data sheet: 67 TFLOPS in FP32, 96 GB of HBM3 at
  4 TB/s, NVLink-C2C with 900 GB/s over both directions, so 450 GB/s each way. These are limits:
  Schieffer et al., "Harnessing Integrated CPU-GPU System Memory for HPC" (arXiv:2407.07850),
  measured 375 GB/s to the device and 297 GB/s to the host.
- Starting an operation, 5 microseconds, and work that the host may queue, 1,000 operations: a
  measurement on NVIDIA's developer forum ("CUDA stream are blocked when luanch lots of kernels
  (>1000)", topic 68937) found 4 to 5 microseconds for a launch and a queue of about 1,000.
- Starting a copy, 6 microseconds: Wu et al., "DualPath" (arXiv:2602.21548, section 5.2) measured 5
  to 7 microseconds for a `cudaMemcpyAsync`.
- No data sheet states a speed for pageable memory. Half of the pinned speed is an assumption: the
  driver first copies pageable bytes into a pinned buffer of its own, so every byte moves twice.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

NANOSECONDS_PER_SECOND = 1_000_000_000


def _duration(amount: int, per_second: int) -> int:
    """Whole nanoseconds, rounded up, for an amount at a rate per second."""
    return -(-amount * NANOSECONDS_PER_SECOND // per_second)


@dataclass(frozen=True)
class Profile:
    """The numbers of one simulated accelerator.

    Attributes:
        name: what `tp.cuda.simulate(profile=...)` calls it.
        capacity: bytes of device memory.
        flops_per_second: floating-point operations a second.
        memory_bandwidth: bytes a second between the device's memory and its arithmetic.
        pinned_bandwidth: bytes a second over the link, each way, when the host memory is pinned.
        pageable_bandwidth: the same for ordinary host memory.
        latency: nanoseconds before a copy moves its first byte.
        launch_latency: nanoseconds before an operation begins its work.
        queue_depth: unfinished operations on one stream that the host may have issued.

    Errors:
        TypeError, ValueError: a number is not a whole number, or a size or speed is not positive.
    """

    name: str
    capacity: int
    flops_per_second: int
    memory_bandwidth: int
    pinned_bandwidth: int
    pageable_bandwidth: int
    latency: int
    launch_latency: int
    queue_depth: int

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "name":
                continue
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(
                    f"{field.name} of a simulated accelerator must be a whole number (an int); "
                    f"found {value!r}"
                )
            least = 0 if field.name in ("capacity", "latency", "launch_latency") else 1
            if value < least:
                raise ValueError(
                    f"{field.name} of a simulated accelerator must be at least {least}; "
                    f"found {value}"
                )

    def compute_time(self, bytes_moved: int, flops: int) -> int:
        """Nanoseconds of an operation: the time of its bytes or of its arithmetic, the longer one.

        This is the roofline model (Williams, Waterman and Patterson, 2009).
        """
        return self.launch_latency + max(
            _duration(bytes_moved, self.memory_bandwidth), _duration(flops, self.flops_per_second)
        )

    def copy_time(self, nbytes: int, pinned: bool) -> int:
        """Nanoseconds of a copy of `nbytes` over the link, in either direction."""
        bandwidth = self.pinned_bandwidth if pinned else self.pageable_bandwidth
        return self.latency + _duration(nbytes, bandwidth)


LESSON = Profile(
    name="lesson",
    capacity=1024**2,
    flops_per_second=10 * 10**9,
    memory_bandwidth=10**9,
    pinned_bandwidth=10**9 // 2,
    pageable_bandwidth=10**9 // 4,
    latency=1_000,
    launch_latency=0,
    queue_depth=1_000,
)
DEFAULT = replace(LESSON, name="default", capacity=4 * 1024**3)
A100 = Profile(
    name="a100",
    capacity=80 * 10**9,
    flops_per_second=19_500 * 10**9,
    memory_bandwidth=1_935 * 10**9,
    pinned_bandwidth=32 * 10**9,
    pageable_bandwidth=16 * 10**9,
    latency=6_000,
    launch_latency=5_000,
    queue_depth=1_000,
)
GH200 = replace(
    A100,
    name="gh200",
    capacity=96 * 10**9,
    flops_per_second=67_000 * 10**9,
    memory_bandwidth=4_000 * 10**9,
    pinned_bandwidth=450 * 10**9,
    pageable_bandwidth=225 * 10**9,
)
PROFILES = {profile.name: profile for profile in (LESSON, DEFAULT, A100, GH200)}
