"""Every worker that trains, on a GPU that is not there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.labs.spec import LIBRARY, Lab, lab_called
from tests.labs.fake_gpu import FakeGpuRank, undeclared
from tests.labs.fake_training import train_on_fake_gpu

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
]
GIB = 2.0**30
CASES = [
    ("recomputation", {}),
    ("recomputation", {"every": "12"}),
    ("zero", {"scheme": "ddp"}),
    ("zero", {"scheme": "zero-1", "ranks": "3"}),
    ("zero", {"scheme": "fsdp", "ranks": "4"}),
    ("ddp-overlap", {"buckets": "1"}),
    ("ddp-overlap", {"buckets": "8", "ranks": "8"}),
    ("tensor-parallel", {"ranks": "4"}),
    ("pipeline", {"schedule": "gpipe"}),
    ("pipeline", {"schedule": "1f1b", "ranks": "2"}),
    ("pipeline", {"schedule": "interleaved"}),
    ("pipeline", {"schedule": "zb_v"}),
    ("ring-attention", {}),
    ("ring-attention", {"ranks": "2"}),
]
LABS = tuple(dict.fromkeys(lab for lab, _ in CASES))


def is_complete(lab: str, given: dict[str, str], found: FakeGpuRank) -> None:
    form = lab_called(lab).on("nccl")
    assert found.checks
    assert not undeclared(lab, found)
    assert form.asked_of({**form.starts, **given}) in {name for name, _ in found.measures}


@pytest.mark.sweep
@pytest.mark.parametrize(("lab", "given"), CASES)
def test_a_worker_keeps_everything_on_the_gpu(tmp_path: Path, lab: str, given: dict[str, str]) -> None:
    """On the first rank, and on the last."""
    last = int(given.get("ranks", lab_called(lab).on("nccl").ranks[2])) - 1
    for rank in sorted({0, last}):
        is_complete(lab, given, train_on_fake_gpu(lab, tmp_path, given, rank))


def places() -> Iterator[tuple[str, str, int]]:
    """Every place where a worker that trains puts something on its device: lab, file, offset."""
    for lab in LABS:
        folder = LIBRARY / lab.replace("-", "_")
        for path in sorted(folder.glob("*.py")):
            for found in re.finditer(r"(?:(?<=device=)|(?<=with )|(?<=\.to\())rank\.device(?=[,:)])", path.read_text()):
                yield lab, path.name, found.start()


@pytest.mark.parametrize(("lab", "name", "start"), list(places()))
def test_what_is_put_on_the_processor_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lab: str, name: str, start: int
) -> None:
    folder = LIBRARY / lab.replace("-", "_")
    text = (folder / name).read_text()
    path = tmp_path / name
    path.write_text(text[:start] + 'torch.device("cpu")' + text[start + len("rank.device") :])
    monkeypatch.setattr(Lab, "worker", path)
    with pytest.raises(RuntimeError, match="on the same device|on the processor"):
        train_on_fake_gpu(lab, tmp_path, {})


@pytest.mark.parametrize("lab", LABS)
def test_what_does_not_fit_is_refused_with_words(tmp_path: Path, lab: str) -> None:
    """On 24 GB the defaults fit, and are measured; on a tenth of that they do not."""
    is_complete(lab, {}, train_on_fake_gpu(lab, tmp_path, {}, free=21 * GIB))
    says = r"this takes [\d.]+ GiB of each GPU, and one of them has 0.25 GiB free: lower \w+"
    with pytest.raises(ValueError, match=says):
        train_on_fake_gpu(lab, tmp_path, {}, free=0.25 * GIB)
