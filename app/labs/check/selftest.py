"""What one process can prove of the runner on this machine: `python -m app.labs.check.selftest FOLDER`.

Forced: a world of one goes through NCCL, or gloo without a GPU, though labs do without it. Own: a timing that shares
no line with the runner's, beside it. It needs the packages of the runner alone, and prints a JSON object per part.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist

from app.labs.runner.process import LIBRARY, load_worker
from app.labs.runner.rank import WorkerRank
from app.labs.runner.sniff import Sniffer

_MIB = 2.0**20
_SECONDS = 120.0
_FACTOR = 3.0  # between the two timings of a busy machine; more is a fault of one of them
_GPU_FACTOR = 1.5
Values = Mapping[str, float | str | Sequence[float]]
FORCED: Mapping[str, tuple[str, Values]] = {
    **{
        name: ("all_reduce", {"operation": name, "sizes": (1024.0, _MIB)})
        for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")
    },
    "copy": ("memory_copy", {"source": "device", "sizes": (_MIB,)}),
}


def selftest_parts(folder: Path, *, on_gpu: bool) -> Iterator[Mapping[str, object]]:
    """Each worker in a world of one, proven right; then the runner's times beside those of `sniff`."""
    for name, (lab, values) in FORCED.items():
        yield _part("forced", name, partial(_forced, folder / name, lab, values, on_gpu=on_gpu))
    yield _part("own", "timing", partial(_beside, folder / "own", on_gpu=on_gpu))


def _part(part: str, name: str, run: Callable[[], Mapping[str, object]]) -> Mapping[str, object]:
    begun, found, fault = time.monotonic(), dict[str, object](), ""
    try:
        found.update(run())
    except Exception as error:  # noqa: BLE001  # whatever it is, the other parts go on
        fault = f"{type(error).__name__}: {error}"
        if dist.is_initialized():
            dist.destroy_process_group()
    fault = fault or str(found.pop("fault", ""))
    return {"part": part, "name": name, "fault": fault, "seconds": time.monotonic() - begun, **found}


def _forced(folder: Path, lab: str, values: Values, *, on_gpu: bool) -> Mapping[str, object]:
    rank = _joined(folder, values, on_gpu=on_gpu)
    worker = load_worker(LIBRARY / lab / "worker.py")
    worker.main(rank)
    rank.leave()
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    checks = [one["right"] for one in events if "right" in one]
    measures = [one for one in events if "samples" in one and "where" in one]
    fault = "" if checks and all(checks) and measures else "no size was measured and proven right"
    return {"fault": fault, "backend": "nccl" if on_gpu else "gloo", "measures": measures}


def _beside(folder: Path, *, on_gpu: bool) -> Mapping[str, object]:
    rank = _joined(folder, {}, on_gpu=on_gpu)
    sniff = Sniffer(every=1)
    sniff()
    theirs = {name: times[0] for name, times in sniff.times.items()}
    size = int(64 * _MIB) if on_gpu else int(_MIB)
    array = torch.zeros(size // 4, dtype=torch.float32, device=rank.device)
    source, target = (torch.zeros(size, dtype=torch.uint8, device=rank.device) for _ in range(2))
    ours = {
        "copy": rank.timing.sample(lambda: target.copy_(source), 0.3),
        "all-reduce": rank.timing.sample(lambda: dist.all_reduce(array), 0.3),
    }
    rank.leave()
    both = {name: {"runner": sorted(taken)[len(taken) // 2], "own": theirs[name]} for name, taken in ours.items()}
    most = _GPU_FACTOR if on_gpu else _FACTOR
    apart = [
        f"{name}: {one['runner']:.3g} s by the runner, {one['own']:.3g} s by the own timing"
        for name, one in both.items()
        if name == "copy" and not 1 / most < one["runner"] / one["own"] < most
    ]
    return {"beside": both, "apart": apart}


def _joined(folder: Path, values: Values, *, on_gpu: bool) -> WorkerRank:
    """The only rank of a world whose collectives go through NCCL, or gloo, all the same."""
    folder.mkdir(parents=True)
    rank = WorkerRank(0, 1, folder, values=values, on_gpu=on_gpu, seconds=_SECONDS, is_forced=True)
    rank.join()
    return rank


def main() -> None:
    """Print the parts, each as a line."""
    folder, on_gpu = Path(sys.argv[1]), torch.cuda.is_available()
    for one in selftest_parts(folder, on_gpu=on_gpu):
        sys.stdout.write(json.dumps(one) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
