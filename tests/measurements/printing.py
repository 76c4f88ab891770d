"""Prints tables as the versions of nccl-tests do, for measurements whose numbers are known."""

from collections.abc import Callable, Iterator, Mapping, Sequence

SIZES = tuple(1 << power for power in range(12, 31))
FACTORS: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "alltoall": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,
    "reduce": lambda n: 1.0,
    "sendrecv": lambda n: 1.0,
}  # nccl-tests, doc/PERFORMANCE.md
SHARED = {"all_gather", "reduce_scatter", "alltoall"}
ALPHA, BANDWIDTH = 25e-6, 180e9


def time_of(size: int) -> float:
    return ALPHA + size / BANDWIDTH


def microseconds(seconds: float) -> str:
    """As printf of nccl-tests has it: fewer decimals, the longer it takes."""
    value = seconds * 1e6
    return f"{value:.2f}" if value < 1000 else f"{value:.1f}" if value < 10000 else f"{value:.0f}"


def values(collective: str, ranks: int, size: int, *, milliseconds: bool = False) -> str:
    time = time_of(size)
    algbw = size / time / 1e9
    shown = f"{1e3 * time:.3f}" if milliseconds else microseconds(time)
    return f"{shown:>8} {algbw:7.2f} {algbw * FACTORS[collective](ranks):7.2f}"


def rows(collective: str, ranks: int, *, middle: str, wrong: str = "0", sizes: Sequence[int] = SIZES) -> Iterator[str]:
    for size in sizes:
        count = size // 4 // (ranks if collective in SHARED else 1)
        value = values(collective, ranks, size)
        yield f"{size:>12} {count:>13} {'float':>9}{middle}{value} {wrong:>6}{value} {wrong:>6}"


def today(collective: str, ranks: int, *, named: bool = True) -> str:
    """Version 2.13 and later."""
    reduces = collective in {"all_reduce", "reduce", "reduce_scatter"}
    rooted = collective in {"broadcast", "reduce"}
    middle = f" {'sum' if reduces else 'none':>7} {0 if rooted else -1:>7} "
    head = [
        f"# Collective test starting: {collective}_perf" if named else "#",
        "# nThread 1 nGpus 1 minBytes 4096 maxBytes 1073741824 step: 2(factor) warmup iters: 5"
        " iters: 20 agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Using devices",
        *(
            f"#  Rank {rank:2} Group  0 Pid {100 + rank:6} on  node{rank // 8} device {rank % 8:2}"
            f" [0000:0{rank % 8}:00] NVIDIA H100 80GB HBM3"
            for rank in range(ranks)
        ),
        "#",
        "#                                              out-of-place                in-place",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong"
        "     time   algbw   busbw #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)",
    ]
    tail = ["# Out of bounds values : 0 OK", "#"]
    return "\n".join([*head, *rows(collective, ranks, middle=middle), *tail])


def in_2020(collective: str, ranks: int, middle: str, columns: str) -> str:
    """Before version 2.11: columns that a collective has no use for are left out."""
    head = [
        f"$ ./build/{collective}_perf -b 4K -e 1G -f 2 -g {ranks}",
        *(f"#   Rank {r:2} Pid 7 on a device {r:2} [0x0{r % 8}] A100-SXM4-40GB" for r in range(ranks)),
        "#",
        f"#       size         count    type  {columns}   time   algbw   busbw  error     time   algbw   busbw  error",
        "#        (B)    (elements)            (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)",
    ]
    return "\n".join([*head, *rows(collective, ranks, middle=middle, wrong="4e-07")])


def in_2016(collective: str, ranks: int) -> str:
    """NCCL 1: milliseconds, and devices without ranks."""
    head = [
        f"$ ./build/test/single/{collective}_test 10000000",
        "# Using devices",
        *(f"#   Device  {rank} ->  {rank} [0x0a] GeForce GTX TITAN X" for rank in range(ranks)),
        "",
        "#                                                 out-of-place                    in-place",
        "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res",
    ]
    for size in SIZES[8:]:
        value = values(collective, ranks, size, milliseconds=True)
        head.append(f"{size:>12} {size:>13}    char     sum {value}    0e+00 {value}    0e+00")
    return "\n".join(head)
