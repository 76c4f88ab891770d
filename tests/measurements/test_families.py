"""Every family of training logs reads its own sample, under its own name, without a doubt."""

from pathlib import Path

from app.core.measurements.file_reader import read_files
from app.core.measurements.logs.families import LOG_FAMILIES, LogFamily, family_titles
from app.core.measurements.logs.reader import FOREIGN_FAMILIES, FOREIGN_TOOLS
from app.core.measurements.reports import TrainingLog, UnreadFile
from tests.each import each

# Seconds of a step, tokens per second and GPU, FLOP/s and MFU, as the sample prints them.
SAYS: dict[str, tuple[float | None, float | None, float | None, float | None]] = {
    "Megatron-LM": (5.5338, 128 * 2048 / 16 / 5.5338, 236.0e12, None),
    "Primus": (4.0136, 10_205.3, 501.05e12, None),
    "Megatron-DeepSpeed": (3.4162, 4796.04, 53.655e12, None),
    "NeMo": (4.009, None, 430.3e12, None),
    "nanotron": (11.5, 11_400, 38.3e12, None),
    "DeepSpeed": (147.8385, None, None, None),
    "torchtitan": (1.3967, 5868, 339.82e12, 0.3436),
    "MaxText": (11.719, 6760.245, 348.649e12, None),
    "nanoGPT": (0.13527, None, None, None),
    "nanochat": (0.11831, None, None, None),
    "litgpt": (0.5125, None, None, None),
    "torchtune": (None, 5126.15, None, None),
    "verl": (48.8955, 3281.745, None, None),
    "OLMo-core": (1.7, 12_348, None, 0.4121),
    "prime-rl": (5.2, None, None, 0.267),
    "Hugging Face Trainer": (8.1, None, None, None),
}


def read(tmp_path: Path, text: str) -> TrainingLog:
    path = tmp_path / "printed.log"
    path.write_text(text)
    (found,) = read_files([path])
    assert isinstance(found, TrainingLog), found
    return found


def of(title: str) -> LogFamily:
    return next(family for family in LOG_FAMILIES if family.title == title)


def test_every_family_has_a_row_here_and_a_source() -> None:
    assert set(SAYS) == set(family_titles())
    assert all(family.source for family in LOG_FAMILIES)


@each("title", SAYS)
def test_a_sample_says_what_is_printed_in_it(title: str, tmp_path: Path) -> None:
    log = read(tmp_path, of(title).sample)
    assert log.family == of(title).name
    found = (log.step_time, log.tokens_per_second_per_gpu, log.flops_per_gpu, log.mfu)
    for value, expected in zip(found, SAYS[title], strict=True):
        assert (value is None) == (expected is None), (found, SAYS[title])
        assert value is None or expected is None or abs(value / expected - 1) < 2e-3, found


@each("family", LOG_FAMILIES, ids=lambda family: f"{family.name}, {family.rank}")
def test_a_sample_is_matched_by_its_own_family_first(family: LogFamily) -> None:
    lines = family.sample.splitlines()
    assert any(family.step.search(line) for line in lines)
    for line in lines:
        if family.step.search(line):
            first = next(one for one in LOG_FAMILIES if one.step.search(line))
            assert first.name == family.name


@each("name", FOREIGN_FAMILIES)
def test_a_family_that_is_not_read_is_refused_by_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "printed.log"
    path.write_text(f"some other line\n{FOREIGN_FAMILIES[name].sample}\n" * 3)
    (found,) = read_files([path])
    assert isinstance(found, UnreadFile)
    assert f"looks like a log of {name}, which is not read" in found.error
    assert "torchtitan" in found.error


@each("name", FOREIGN_TOOLS)
def test_output_of_a_tool_that_is_not_read_is_refused_with_what_to_send(name: str, tmp_path: Path) -> None:
    path = tmp_path / "printed.txt"
    path.write_text(f"some other line\n{FOREIGN_TOOLS[name].sample}\n\n" * 3)
    (found,) = read_files([path])
    assert isinstance(found, UnreadFile)
    assert f"looks like the output of {name}, which is not read" in found.error
    assert FOREIGN_TOOLS[name].instead in found.error


def test_totals_in_quotes_are_those_of_the_trainer(tmp_path: Path) -> None:
    steps = "".join(f"{{'loss': '1.{i}', 'epoch': '0.0{i}'}}\n" for i in range(1, 9))
    totals = "{'train_runtime': '201.2', 'train_steps_per_second': '0.5', 'epoch': '1'}\n"
    log = read(tmp_path, steps + totals)
    assert (log.family, log.step_time) == ("hf-trainer", 2.0)
