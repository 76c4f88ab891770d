"""The forms for GPUs of the labs that train, with real numbers: on processors, over gloo."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from app.labs import spec
from app.labs.analysis import report_of
from app.labs.launch.local import LocalLauncher
from app.labs.report import Report
from app.labs.spec import lab_called, read_job
from tests.labs.test_running import ended

pytestmark = pytest.mark.slow(30)
WORKER = Path(__file__).with_name("on_processors.py")
Ran = Callable[..., Report]
SMALL = {"width": "64", "tokens": "64"}
CASES = [
    ("recomputation", {"every": "3", "tokens": "256", "width": "64"}),
    ("recomputation", {"every": "1", "tokens": "256", "width": "64"}),
    ("zero", {"scheme": "ddp", "layers": "2", "ranks": "3", **SMALL}),
    ("zero", {"scheme": "zero-1", "layers": "3", "ranks": "2", **SMALL}),
    ("zero", {"scheme": "fsdp", "layers": "2", "ranks": "2", **SMALL}),
    ("zero", {"scheme": "fsdp", "layers": "1", "ranks": "3", **SMALL}),
    ("ddp-overlap", {"buckets": "2", "ranks": "2", **SMALL}),
    ("tensor-parallel", {"ranks": "4", **SMALL}),
    ("pipeline", {"schedule": "1f1b", "ranks": "3", "layers": "2", **SMALL}),
    ("pipeline", {"schedule": "zb_v", "ranks": "2", "layers": "4", **SMALL}),
    ("ring-attention", {"ranks": "3", "heads": "2", "tokens": "64"}),
]


@pytest.fixture
def ran(
    labs_runner: LocalLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ran]:
    """The report of a run of a lab's form for GPUs."""

    def run(lab: str, given: dict[str, str], broken: str = "") -> Report:
        form = lab_called(lab).on("nccl").model_dump(mode="json", exclude_defaults=True)
        folder = tmp_path / lab.replace("-", "_")
        folder.mkdir()
        del form["name"]
        (folder / "lab.yaml").write_text(yaml.safe_dump(form))
        text = WORKER.read_text().replace('BROKEN = ""', f"BROKEN = {broken!r}")
        (folder / "worker.py").write_text(text)
        monkeypatch.setattr(spec, "LIBRARY", tmp_path)
        spec.known_labs.cache_clear()
        job = read_job(lab_called(lab), given)
        return report_of(ended(labs_runner.start(job, "gloo", patience=30)))

    yield run
    monkeypatch.undo()
    spec.known_labs.cache_clear()


@pytest.mark.parametrize(("lab", "given"), CASES)
def test_what_is_counted_is_what_the_formula_says(
    ran: Ran, lab: str, given: dict[str, str]
) -> None:
    report = ran(lab, given)
    assert (report.state, report.cause) == ("done", "")
    assert report.checks
    for one in report.measures:
        assert not one.trouble
        assert one.right in (True, None), (one.name, one.samples, one.predicted)
        if one.name.startswith("allocated"):  # beside the formula: statistics of norms, padding
            assert one.ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("lab", "given", "broken", "what"),
    [
        ("recomputation", CASES[0][1], "segments", "gradients"),
        ("zero", CASES[2][1], "averages", "gradients"),
        ("ddp-overlap", {"buckets": "8", "ranks": "2", **SMALL}, "averages", "gradients"),
        ("tensor-parallel", CASES[7][1], "sums", "result"),
        ("pipeline", CASES[8][1], "microbatches", "gradients"),
        ("ring-attention", CASES[10][1], "blocks", "attention"),
    ],
)
def test_a_wrong_result_is_found(
    ran: Ran, lab: str, given: dict[str, str], broken: str, what: str
) -> None:
    report = ran(lab, given, broken)
    assert f"{what}: the data is wrong" in report.cause
