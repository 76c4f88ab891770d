import ast
import threading
from pathlib import Path

import pytest

from app.core.errors import ContentError, InputError, NotFoundError
from app.core.expressions import Quantity
from app.core.folders import ROOT
from app.core.simulators.pipeline import Times, build, simulate_schedule
from app.core.units import scale_of
from app.labs import spec
from app.labs.results.analysis import known_quantities, measure_statistics, predict_measure
from app.labs.results.report import Measure
from app.labs.runner.job import write_whole
from app.labs.spec import Lab, known_labs, lab_called, read_job
from app.site.markdown import html
from tests.each import each

RANKS = ROOT / "app" / "labs" / "ranks"
FORMS = {
    f"{lab.name}{on}": form for lab in known_labs().values() for on, form in (("", lab), ("-on-gpus", lab.gpu)) if form
}


@each("name", known_labs())
def test_every_lab_says_what_it_needs(name: str) -> None:
    lab = lab_called(name)
    job = read_job(lab, {})
    assert lab.worker.exists()
    assert lab.question.endswith("?")
    assert html(lab.explains)
    assert set(job.values) == set(lab.parameters)
    assert job.command.startswith(f"wallclock lab run {name} ranks=")
    given = dict(pair.split("=", 1) for pair in job.command.split()[4:])
    assert read_job(lab, given).values == job.values


def test_the_form_with_gpus_says_only_what_is_different(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "one_lab"
    folder.mkdir()
    (folder / "lab.yaml").write_text(
        "title: A\nlinks: counted\nsummary: S.\nquestion: Q?\nasks: held\nranks: [2, 4, 2]\n"
        "seconds: 9\nexplains: E.\nlet: {a: ranks}\n"
        "parameters: {width: {says: width, start: 8, least: 1, most: 9}}\n"
        "measures: {held: {says: held, unit: B, exact: true}}\n"
        "gpu:\n  links: real\n  let: null\n  parameters: {width: {start: 4096, most: 8192}}\n"
        "  measures: {allocated: {says: allocated, unit: B}}\n"
    )
    monkeypatch.setattr(spec, "LIBRARY", tmp_path)
    spec.known_labs.cache_clear()
    lab = lab_called("one-lab")
    monkeypatch.undo()
    spec.known_labs.cache_clear()
    assert (lab.links, lab.let, lab.starts) == ("counted", {"a": "ranks"}, {"width": "8"})
    there = lab.on("nccl")
    assert (there.links, there.let, there.starts) == ("real", {}, {"width": "4096"})
    assert there.parameters["width"].least == 1
    assert list(there.measures) == ["held", "allocated"]
    assert lab.on("gloo") is lab


def test_a_lab_for_processors_alone_says_so() -> None:
    with pytest.raises(InputError, match="ring-bytes runs on processors only, over gloo: what it c"):
        lab_called("ring-bytes").on("nccl")


def test_where_one_number_is_allowed_that_is_said() -> None:
    form = lab_called("recomputation").on("nccl")
    with pytest.raises(InputError, match="^ranks must be 1, not 2$"):
        read_job(form.model_copy(update={"ranks": (1, 1, 1)}), {"ranks": "2"})


@each("form", FORMS.values(), ids=FORMS)
def test_what_is_predicted_is_in_the_unit_of_what_is_measured(form: Lab) -> None:
    job = read_job(form, {})
    names = known_quantities(form, job.ranks, job.values)
    byte = scale_of("B").unit.dimension
    places = {"size": Quantity(1e6, byte), "every": Quantity(3.0), "micro": Quantity(8.0)}
    places["columns"] = Quantity(512.0)
    if form.name == "ddp-overlap":
        places["size"] = Quantity(2.0)
    medians = {
        name: Quantity(0.004, scale_of(one.unit).unit.dimension) for name, one in form.measures.items() if one.unit
    }
    for measure in form.measures:
        if form.measures[measure].predicted:
            value = predict_measure(form, measure, {**medians, **names, **places}, form.words(job.values))
            assert value is not None
            assert value > 0


def test_a_prediction_takes_the_medians_of_other_measures() -> None:
    form = lab_called("tensor-parallel").on("nccl")
    values = read_job(form, {"ranks": "4"}).values
    alone = Measure(name="alone", where={}, samples=(0.08, 0.02, 0.05))
    reduce, step = Measure(name="reduce", where={}, samples=(0.003,)), Measure(name="step", where={}, samples=(0.02,))
    *_, found = measure_statistics(form, 4, values, (alone, reduce, step))
    assert found.predicted == pytest.approx(0.05 / 4 + 2 * 0.003)
    (early,) = measure_statistics(form, 4, values, (step,))
    assert early.predicted is None
    assert early.trouble == ""  # it may still come; if it could not be taken, the run says why


def test_a_parameter_is_not_replaced_by_a_measure() -> None:
    """Of ring attention, what is a parameter on processors is measured on GPUs."""
    lab = lab_called("ring-attention")
    values = read_job(lab, {"compute": "50 ms", "bandwidth": "500 MB/s", "latency": "1 ms"}).values
    taken = (Measure(name="step", where={}, samples=(0.3,)),)
    assert measure_statistics(lab, 4, values, taken)[0].predicted == pytest.approx(0.2)
    form = lab.on("nccl")
    known = (
        Measure(name="compute", where={}, samples=(0.01,)),
        Measure(name="message", where={}, samples=(0.03,)),
        *taken,
    )
    assert measure_statistics(form, 4, read_job(form, {}).values, known)[2].predicted == pytest.approx(0.1)


@each("name", known_labs())
def test_a_lab_runs_on_gpus_or_says_why_not(name: str) -> None:
    lab = lab_called(name)
    if lab.gpu is None:
        assert lab.why_processors.endswith(" machine")
        return
    assert not lab.processors_only
    assert lab.gpu.links == "real"
    assert not any(one.least for one in lab.gpu.measures.values())
    assert lab.gpu.question.endswith("?")
    assert "emulated" not in html(lab.gpu.explains)
    assert lab.gpu.asked_of(lab.gpu.starts) in lab.gpu.measures


@each("path", sorted(RANKS.glob("*.py")), ids=lambda path: path.stem)
def test_what_runs_in_ranks_imports_nothing_else_of_ours(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("app"):
            assert (node.module or "").startswith(("app.labs.ranks", "app.labs.runner"))


@each(
    ("given", "says"),
    [
        ({"rank": "2"}, "has no 'rank'; did you mean 'ranks'"),
        ({"ranks": "1"}, "ranks must be from 2 to 8, not 1"),
        ({"ranks": "2.5"}, "ranks must be a whole number"),
        ({"ranks": "two"}, "ranks: cannot read 'two'"),
        ({"operation": "all_redcue"}, "did you mean 'all_reduce'"),
        ({"sizes": "1 MiB..1 KiB"}, "is not a range"),
        ({"sizes": "1 TB"}, "from 64 B to 1 GiB, not 1 TB"),
        ({"sizes": "1 s"}, "sizes: "),
        ({"sizes": ""}, "sizes: "),
        ({"sizes": "nan"}, "sizes must be from"),
    ],
)
def test_a_wrong_parameter_is_told_before_anything_runs(given: dict[str, str], says: str) -> None:
    with pytest.raises(InputError) as caught:
        read_job(lab_called("all-reduce"), given)
    assert says in str(caught.value)


def test_a_parameter_is_arithmetic_with_units() -> None:
    lab = lab_called("all-reduce")
    job = read_job(lab, {"ranks": "2 * 2", "sizes": "2 * 3/4 MiB, 1 GB/s * 4 ms"})
    assert (job.ranks, job.values["sizes"]) == (4, (1.5 * 2**20, 4e6))
    with pytest.raises(InputError, match="sizes: cannot read '9\\^9\\^9\\^9'"):
        read_job(lab, {"sizes": "9^9^9^9"})


def test_several_sizes_are_a_range_or_a_list() -> None:
    lab = lab_called("all-reduce")
    assert read_job(lab, {"sizes": "1KiB..64KiB"}).values["sizes"] == (1024, 4096, 16384, 65536)
    assert read_job(lab, {"sizes": "1 kB, 2 kB"}).values["sizes"] == (1000, 2000)
    with pytest.raises(NotFoundError, match="did you mean 'all-reduce'"):
        lab_called("allreduce")


def test_a_wrong_lab_file_is_told_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "lab.yaml").write_text("title: Broken\nlinks: imagined\n")
    monkeypatch.setattr(spec, "LIBRARY", tmp_path)
    spec.known_labs.cache_clear()
    with pytest.raises(ContentError, match=r"lab.yaml:2"):
        spec.known_labs()
    monkeypatch.undo()
    spec.known_labs.cache_clear()


@each("schedule", ["gpipe", "1f1b", "interleaved", "zb_v"])
def test_a_pipelines_prediction_is_what_a_simulation_plays_out(schedule: str) -> None:
    lab, unit = lab_called("pipeline"), 0.03
    least, most, _ = lab.ranks
    for ranks in range(least, most + 1):
        for text in lab.parameters["microbatches"].one_of:
            micro = int(text)
            given = {"ranks": str(ranks), "schedule": schedule, "microbatches": text}
            job = read_job(lab, {**given, "unit": "30 ms"})
            names = known_quantities(lab, ranks, job.values)
            value = predict_measure(lab, schedule, {**names, "micro": Quantity(float(micro))}, lab.words(job.values))
            virtual = 2 if schedule == "interleaved" else 1
            played = simulate_schedule(build(schedule, ranks, micro, virtual), Times(unit, unit, unit))
            assert value == pytest.approx(played.makespan), (ranks, micro)


def test_a_list_has_as_many_values_as_a_range_can() -> None:
    lab = lab_called("all-reduce")
    assert len(read_job(lab, {"sizes": ",".join(["1KiB"] * 24)}).values["sizes"]) == 24  # type: ignore[arg-type]
    with pytest.raises(InputError, match="sizes takes at most 24 values"):
        read_job(lab, {"sizes": ",".join(["64"] * 25)})
    with pytest.raises(InputError, match="sizes has more than 500 characters"):
        read_job(lab, {"sizes": "64," * 100_000})


def test_a_file_is_seen_whole_or_not_at_all(tmp_path: Path) -> None:
    """However often it is written, and by however many at once."""
    path, texts = tmp_path / "outcome.json", [str(n).encode() * 50_000 for n in range(4)]
    ended = threading.Event()

    def write(text: bytes) -> None:
        while not ended.is_set():
            write_whole(path, text)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    try:
        write_whole(path, texts[0])
        assert {path.read_bytes() for _ in range(300)} <= set(texts)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


@each("path", sorted((ROOT / "app" / "labs").rglob("*.py")), ids=str)
def test_no_file_of_a_run_is_written_but_whole(path: Path) -> None:
    """What another process reads goes through write_whole; lines are added to a file of events."""
    if path.name == "job.py" and path.parent.name == "runner":
        return
    found = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("write_text", "write_bytes")
    ]
    allowed = 1 if path.name == "leader.py" else 0  # a knob of the kernel
    assert len(found) <= allowed, found


def test_a_batch_is_free_up_to_the_turn_of_two_measured_rates() -> None:
    """2^20 numbers, read at 2^32 B/s and multiplied at 2^36 FLOP/s: 2^36 x 4 / (2 x 2^32) = 32."""
    lab = lab_called("free-batch")
    values = read_job(lab, {"side": "1024"}).values
    read, product = (
        Measure(name="read", where={}, samples=(2.0**-10,)),
        Measure(name="product", where={}, samples=(2.0**-5,)),
    )
    times = [Measure(name="time", where={"columns": float(n)}, samples=(1.0,)) for n in (1, 32, 64)]
    _, wide, *found = measure_statistics(lab, 1, values, (read, product, *times))
    assert wide.derived["turn"].value == pytest.approx(32)
    assert [one.predicted for one in found] == pytest.approx([2.0**-10, 2.0**-10, 2.0**-9])


def test_what_an_earlier_version_of_a_lab_measured_is_left_out() -> None:
    lab = lab_called("free-batch")
    values = read_job(lab, {"side": "1024"}).values
    taken = (
        Measure(name="copy", where={}, samples=(1.0,)),
        Measure(name="product", where={}, samples=(1.0,)),
        Measure(name="time", where={"columns": 1.0}, samples=(1.0,)),
    )
    found = measure_statistics(lab, 1, values, taken)
    assert [(one.name, one.predicted) for one in found] == [("product", None), ("time", None)]
    assert "turn" not in found[0].derived
