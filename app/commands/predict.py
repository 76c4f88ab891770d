"""`wallclock predict`: the time and memory of one step, or of every step in a file."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import NoReturn

from tqdm import tqdm

from app.commands.files import STANDARD, add_output, line_count, output, record_text, source_of
from app.core.errors import InputError
from app.core.formulas.presets.stacks import STACK_CHOICES, STACK_KEYS, STACKS
from app.core.line_reader import short_lines
from app.core.predicting.estimate import Estimate, estimate, explain_estimate, part_name
from app.core.predicting.lines import Predictor, prediction_row
from app.core.predicting.reader import OPTIONS, RECORDS, PredictionReader
from app.core.units import BYTE, RATIO, SECOND, Unit, show
from app.server.config import Settings

_AT_ONCE = 2000  # lines of a file that are predicted in columns


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock predict`."""
    parser.add_argument("file", nargs="?", metavar="FILE.jsonl", help="one JSON object per line; -: standard input")
    for name, example in (
        ("model", "Llama-3.1-8B, 'Llama-3.1-8B layers=40', or a config.json"),
        ("cluster", "'64 H100'"),
        ("layout", "'tensor=2 data=32', or a file of DeepSpeed, torchtitan or Megatron"),
        ("recipe", "mixed"),
        ("shares", "product=0.66, what kernels reach of the peak"),
        ("stack", "'FSDP2 compiled=yes': " + ", ".join(name for name in STACKS if name != "unknown")),
    ):
        parser.add_argument(f"--{name}", help=f"instead of a file: such as {example}")
    for name in STACK_KEYS:
        choices = ", ".join(STACK_CHOICES.get(name, ("a number",)))
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="VALUE", help=f"of the stack: {choices}")
    add_output(parser, "OUT.jsonl")
    parser.add_argument("--json", action="store_true", help="print JSON, the summary included")


def run(arguments: Namespace) -> int:
    """Predict one step, or each line of a file in order; 1 if a line has an error."""
    given = {name: text for name in (*RECORDS, *OPTIONS) if (text := getattr(arguments, name))}
    if arguments.file is None:
        return _predict_one(given, arguments)
    if given:
        raise InputError(f"--{next(iter(given))} is for one step, without {arguments.file}")
    return _predict_file(arguments)


def _predict_file(arguments: Namespace) -> int:
    limit = Settings().body_limit
    predictor = Predictor(limit)
    with source_of(arguments.file) as source, output(arguments.output) as target:
        bar: tqdm[NoReturn]
        total = line_count(source, arguments.file)
        with tqdm(total=total, unit=" lines", disable=None, leave=False) as bar:
            at_once = 1 if total is None else _AT_ONCE  # what another program writes is answered line by line
            for row in predictor.results(short_lines(source, limit), at_once):
                target.write(row)
                bar.update()
    tally = predictor.tally
    sys.stderr.write(f"{tally.text if arguments.json else tally}\n")
    return 1 if tally.errors else 0


def _predict_one(given: Mapping[str, str], arguments: Namespace) -> int:
    if not given:
        raise InputError("name a file of lines, or one step: --model M --cluster C --layout L")
    if missing := [f"--{name}" for name in RECORDS if name not in given]:
        raise InputError(f"one step also needs {' and '.join(missing)}")
    try:
        texts = {name: text if name in STACK_KEYS else record_text(text) for name, text in given.items()}
        found = estimate(PredictionReader().asked(texts))
    except ArithmeticError:
        raise InputError("the result is too large for a number") from None
    for_people = arguments.output == STANDARD and sys.stdout.isatty() and not arguments.json
    with output(arguments.output) as target:
        if for_people:
            doubts = [f"Doubt: {doubt}" for doubt in found.doubts]
            target.write("\n".join([*_prediction_rows(found), "", explain_estimate(found), *doubts, ""]).encode())
        else:
            target.write(prediction_row(None, found))
    return 0


def _prediction_rows(found: Estimate) -> Iterator[str]:
    shown = show(found.total, SECOND)
    if found.low < found.high:
        shown += f" ({show(found.low, SECOND)} to {show(found.high, SECOND)})"
    yield f"step        {shown}"
    yield f"throughput  {show(found.token_rate, RATIO)} tokens per second and GPU"
    yield f"MFU         {100 * found.utilization:.1f} %"
    yield f"memory      {show(found.allocated, BYTE)} allocated, {show(found.room, BYTE)} available"
    yield f"cluster     {found.cluster.understood}"
    usual = STACKS["unknown"]
    told = [f"{name}={value}" for name in STACK_KEYS if (value := getattr(found.stack, name)) != getattr(usual, name)]
    yield f"stack       {' '.join((found.stack.name, *told))}"
    yield from _parts_table("time of a step", found.parts, SECOND)
    yield from _parts_table("memory of the fullest GPU", found.memory, BYTE)


def _parts_table(title: str, parts: Mapping[str, float], unit: Unit) -> Iterator[str]:
    """A table of the *parts* that are not 0, the largest first."""
    total = sum(parts.values())
    yield f"\n{title}"
    for part, amount in sorted(parts.items(), key=lambda item: -item[1]):
        if amount:
            yield f"  {part_name(part):<26}{show(amount, unit):>10}{100 * amount / total:8.1f} %"
