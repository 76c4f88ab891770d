"""The forms for GPUs of the labs that train, with real numbers: on processors, over gloo."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from app.labs import spec
from app.labs.launch.local import LocalLauncher
from app.labs.results.analysis import report_of
from app.labs.results.report import Report
from app.labs.spec import lab_called, read_job
from tests.labs.conftest import PATIENCE
from tests.labs.test_running import ended

pytestmark = pytest.mark.slow(60)
WORKER = Path(__file__).with_name("on_processors.py")
Ran = Callable[..., Report]
SMALL = {"width": "64", "tokens": "64"}
# What a model needs is more than what its check needs; activations are a good part of it.
LARGE = {"width": "384", "tokens": "256"}
CASES = [
    ("recomputation", {"every": "3", "tokens": "256", "width": "64"}),
    ("recomputation", {"every": "1", "tokens": "256", "width": "64"}),
    ("zero", {"scheme": "ddp", "layers": "3", "ranks": "3", **LARGE}),
    ("zero", {"scheme": "zero-1", "layers": "3", "ranks": "2", **LARGE}),
    ("zero", {"scheme": "fsdp", "layers": "3", "ranks": "2", **LARGE}),
    ("zero", {"scheme": "fsdp", "layers": "1", "ranks": "3", **SMALL}),
    ("ddp-overlap", {"buckets": "2", "ranks": "2", **LARGE}),
    ("tensor-parallel", {"ranks": "4", **LARGE}),
    ("pipeline", {"schedule": "gpipe", "microbatches": "8", "ranks": "2", **LARGE}),
    ("pipeline", {"schedule": "zb_v", "ranks": "2", "layers": "4", **SMALL}),
    ("ring-attention", {"ranks": "3", "heads": "2", "tokens": "512"}),
]
BROKEN = [
    ("recomputation", CASES[0][1], "segments", "gradients"),
    ("zero", {"scheme": "ddp", "layers": "2", **SMALL}, "averages", "gradients"),
    ("ddp-overlap", {"buckets": "8", **SMALL}, "averages", "gradients"),
    ("tensor-parallel", SMALL, "sums", "result"),
    ("pipeline", {"ranks": "2", "layers": "2", **SMALL}, "microbatches", "gradients"),
    ("ring-attention", {"ranks": "3", "heads": "2", "tokens": "64"}, "blocks", "attention"),
]


def imported(folder: Path) -> Iterator[str]:
    """What a lab imports of PyTorch; named in its worker, it is imported once, before its ranks."""
    for path in folder.glob("*.py"):
        lines = path.read_text().splitlines()
        yield from (line for line in lines if line.startswith("from torch.distributed"))


@pytest.fixture
def ran(labs_runner: LocalLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ran]:
    """The report of a run of a lab's form for GPUs."""

    def run(lab: str, given: dict[str, str], broken: str = "", watched: bool = False) -> Report:
        form = lab_called(lab).on("nccl").model_dump(mode="json", exclude_defaults=True)
        folder = tmp_path / lab.replace("-", "_")
        folder.mkdir()
        del form["name"]
        (folder / "lab.yaml").write_text(yaml.safe_dump(form))
        told = f"BROKEN, WATCHED = {broken!r}, {watched}"
        text = WORKER.read_text().replace('BROKEN, WATCHED = "", False', told)
        text += "".join(f"# {line}\n" for line in imported(lab_called(lab).worker.parent))
        (folder / "worker.py").write_text(text)
        monkeypatch.setattr(spec, "LIBRARY", tmp_path)
        spec.known_labs.cache_clear()
        job = read_job(lab_called(lab), given)
        return report_of(ended(labs_runner.start(job, "gloo", patience=PATIENCE)))

    yield run
    monkeypatch.undo()
    spec.known_labs.cache_clear()


@pytest.mark.sweep
@pytest.mark.parametrize(("lab", "given"), CASES)
def test_what_is_counted_is_what_the_formula_says(ran: Ran, lab: str, given: dict[str, str]) -> None:
    watched = LARGE.items() <= given.items()
    report = ran(lab, given, watched=watched)
    assert (report.state, report.cause) == ("done", "")
    assert report.checks
    assert ("room" in report.checks) == watched  # the memory it asked for was right
    for one in report.measures:
        assert not one.trouble
        assert one.right in (True, None), (one.name, one.samples, one.predicted)
        if one.name.startswith("allocated"):  # beside the formula: statistics of norms, padding
            assert one.ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("lab", "given", "broken", "what"), BROKEN)
def test_a_wrong_result_is_found(ran: Ran, lab: str, given: dict[str, str], broken: str, what: str) -> None:
    report = ran(lab, given, broken)
    assert f"{what}: the data is wrong" in report.cause
