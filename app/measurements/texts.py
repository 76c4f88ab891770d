"""What is in a text: tables of nccl-tests, lines of training logs, in any mixture."""

from pathlib import Path

from app.errors import InputError
from app.measurements.flat import FlatReader
from app.measurements.judging import judged
from app.measurements.log_lines import LogReader
from app.measurements.opening import lines_of
from app.measurements.reports import CollectiveTest, TrainingLog
from app.measurements.tables import TableReader
from app.measurements.training import training_logs


def from_text(path: Path) -> list[CollectiveTest | TrainingLog]:
    """The tests and logs in *path*.

    Raises:
        InputError: it has neither.
    """
    tables, flat, log = TableReader(), FlatReader(), LogReader()
    cut = ""
    try:
        for line in lines_of(path):
            if not (tables.take(line) or flat.take_line(line)):
                log.take(line)
    except InputError as error:
        cut = str(error)
    said = cut.replace(path.name, "the file", 1)  # a report names no file
    read = [*tables.finish(), *flat.finish()]
    for table in read:
        table.doubts += [said] * bool(said)
    found: list[CollectiveTest | TrainingLog] = [judged(table) for table in read]
    found += training_logs(log, said)
    if not found:
        raise InputError(cut or f"{path.name} has {_NOTHING}")
    return found


_NOTHING = (
    "no table of nccl-tests (a row is size, count, type, ..., time, algbw, busbw) and no step of"
    " a training log of Megatron-LM, NeMo, torchtitan, DeepSpeed or MaxText"
)
