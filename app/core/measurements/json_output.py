"""JSON that programs write: nccl-tests, rccl-tests and training logs, also where it ends too early."""

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import InputError
from app.core.measurements.logs.reader import LogReader
from app.core.measurements.logs.summary import training_logs
from app.core.measurements.packed_files import unpacked_blocks
from app.core.measurements.plausibility import judge_tests
from app.core.measurements.readers.nccl_tables import RecordReader
from app.core.measurements.reports import CollectiveTest, TrainingLog
from app.core.measurements.table import CollectiveTable, RawRow, collective_named

# The keys by which a file is known, all of them; what it is; and what to do instead.
_KINDS: Sequence[tuple[frozenset[str], str]] = tuple(
    (frozenset(keys.split()), what)
    for keys, what in (
        ("architectures model_type", "the configuration of a model, such as Hugging Face's"
         " config.json: name the model beside a measurement of it"),
        ("hidden_size num_hidden_layers", "the configuration of a model, such as Hugging Face's"
         " config.json: name the model beside a measurement of it"),
        ("train_micro_batch_size_per_gpu", "a configuration of DeepSpeed: send the log of the run"),
        ("zero_optimization", "a configuration of DeepSpeed: send the log of the run"),
        ("schema nodes", "an execution trace of PyTorch, a graph of operators without the times of"
         " the GPU: export a trace of the profiler with export_chrome_trace"),
        ("cells nbformat", "a notebook: paste the output of the cell"),
        ("weight_map", "the index of a checkpoint"),
        ("log_history", "the state of Hugging Face's Trainer without its times, which the last"
         " entry has after train() has returned: send the log"),
        ("current_steps", "a log of LLaMA-Factory without times"),
        ("model_max_length", "the configuration of a tokenizer"),
        ("request_throughput", "the result of a serving benchmark, which is not read"),
        ("mean_ttft_ms", "the result of a serving benchmark, which is not read"),
        ("_wandb", "a summary of Weights & Biases: send the log of the run"),
        ("_runtime _step", "a summary of Weights & Biases: send the log of the run"),
        ("benchmarks machine_info", "a result of pytest-benchmark"),
        ("benchmarks context", "a result of Google Benchmark"),
        ("log stream time", "the log of a container as JSON lines: print the lines themselves, as"
         " with docker logs or kubectl logs"),
        ("added_tokens normalizer", "a tokenizer"),
        ("peft_type", "the configuration of an adapter"),
        ("bos_token_id eos_token_id", "the configuration of a model's text generation"),
        ("name dependencies", "the description of a package"),
        ("gpus driver_version", "a listing of GPUs"),
        ("apiVersion kind", "a manifest of Kubernetes"),
    )
)  # fmt: skip
_MOST_KEYS = 4  # that are named


def shown_keys(value: object) -> str:
    """The first keys of *value*, in quotes; empty if it has none."""
    if not isinstance(value, Mapping):
        return ""
    keys = [f"'{str(key)[:40]}'" for key in list(value)[:_MOST_KEYS]]
    return ", ".join(key for key in keys if key.isprintable())


_TOTALS = ("train_runtime", "train_samples_per_second", "train_steps_per_second")
Entry = Mapping[str, object]


def _lines(value: Entry) -> Iterator[str]:
    """The entry as it is printed, and the entries within it."""
    history = value.get("log_history")
    if isinstance(history, list):
        total = value.get("max_steps", 0)
        for entry in history:
            if isinstance(entry, dict):
                yield from _entry(entry, total)
    else:
        yield from _entry(value, value.get("total_steps", 0))


def _entry(entry: Entry, total: object) -> Iterator[str]:
    if "train_steps_per_second" in entry:
        totals = {name: entry[name] for name in _TOTALS if name in entry}
        yield json.dumps({"train_runtime": 0, **totals, "epoch": 0})
    elif "loss" in entry and isinstance(number := entry.get("current_steps", entry.get("step")), int):
        yield json.dumps({"current_steps": number, "total_steps": total, **entry})
    elif "loss" in entry and "epoch" in entry:
        yield json.dumps({"loss": 0, **entry})


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|["{}\[\],]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_SPACE = " \t\r\n,"


@dataclass(frozen=True, slots=True)
class JsonPrefix:
    """The values of a text, one after the other, and the line from which on it is not JSON."""

    values: tuple[object, ...]
    ends_at: int = 0  # 0: all of it is JSON


def read_json(text: str) -> JsonPrefix:
    """The values in *text*; of one that is cut off, what is complete.

    Raises:
        RecursionError: it is nested too deeply.
        ValueError: it has a number of more digits than Python reads.
    """
    decoder, at, values = json.JSONDecoder(), 0, []
    while (at := _after_space(text, at)) < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if (rest := _completed(text[at : error.pos])) is not None:
                values.append(rest)
            return JsonPrefix(tuple(values), error.lineno)
        values.append(value)
    return JsonPrefix(tuple(values))


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _completed(text: str) -> object | None:
    """The value that *text* begins, without what is incomplete in it; None if nothing is left."""
    for end, open_ones in reversed(deque(_whole_until(text), maxlen=2)):
        closing = "".join(_CLOSING[one] for one in reversed(open_ones))
        try:
            found: object = json.loads(text[:end] + closing)
        except json.JSONDecodeError:
            continue
        return found
    return None


def _whole_until(text: str) -> Iterator[tuple[int, str]]:
    """Where all that is begun could end, and the brackets that are open there."""
    stack: list[str] = []
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign == '"':  # a string without its end
            return
        if sign in _CLOSING:
            stack.append(sign)
            yield token.end(), "".join(stack)
        elif sign in {"}", "]"} and stack:
            stack.pop()
            yield token.end(), "".join(stack)
        elif sign == "," and stack:
            yield token.start(), "".join(stack)


_LIMIT = 16 << 20  # bytes of a file; nccl-tests writes a few kB
_MOST_RANKS = 1 << 20
_MOST_GPUS = 8


def from_json(path: Path) -> list[CollectiveTest | TrainingLog]:
    """The tests or logs in *path*; of a file that is cut off, what is there.

    Raises:
        InputError: it is not JSON, or has no results.
    """
    read = _read(path)
    trouble = f"not JSON from line {read.ends_at} on: what precedes is read" if read.ends_at else ""
    values = [one for value in read.values for one in _listed(value) if isinstance(one, dict)]
    found: list[CollectiveTest | TrainingLog] = [*_tests(values, trouble)]
    log = LogReader()  # its entries are read as the lines that they would be
    for line in (line for value in values for line in _lines(value)):
        log.take(line)
    log.take("")
    found += training_logs(log, trouble)
    if found:
        return found
    if read.ends_at:
        raise InputError(f"{path.name}, line {read.ends_at}: not valid JSON")
    first = values[0] if values else None
    keys = f", but with {shown}" if (shown := shown_keys(first)) else ""
    nothing = (
        f"JSON without results of nccl-tests{keys}: expected 'results' with 'size' and"
        " 'out_of_place', or lines with 'size' and 'busBw'"
    )
    known = (what for keys, what in _KINDS if first and keys <= first.keys())
    raise InputError(f"{path.name} is {next(known, nothing)}")


def _tests(values: Sequence[Mapping[str, object]], trouble: str) -> Iterator[CollectiveTest]:
    records, tables = RecordReader(), []
    for found in values:
        if isinstance(found.get("results"), list):
            tables.append(_table(found))
        elif "size" in found and ("busBw" in found or "algBw" in found):
            records.take_record(found)
    for table in (*tables, *records.finish()):
        if table.rows:
            table.doubts += [trouble] * bool(trouble)
            yield from judge_tests(table)


def _read(path: Path) -> JsonPrefix:
    text = b"".join(unpacked_blocks(path, _LIMIT))
    try:
        return read_json(text.decode("utf-8-sig", "replace"))
    except RecursionError as error:
        raise InputError(f"{path.name} is nested too deeply to be a result") from error
    except ValueError as error:  # a number of more than 4,300 digits
        raise InputError(f"{path.name} has a number that is too long") from error


def _listed(found: object) -> list[object]:
    return found if isinstance(found, list) else [found]


def _table(found: Mapping[str, object]) -> CollectiveTable:
    config = _object(found.get("config"))
    table = CollectiveTable(collective=_collective_of(found, config))
    _take_devices(table, found.get("devices") or config.get("devices"), config)
    results = found.get("results")
    for one in results if isinstance(results, list) else ():
        if isinstance(one, dict) and (row := _json_output_row(one)):
            table.add(row)
            table.cpu_time |= any(
                "cpu_time" in place and "time" not in place
                for place in (_object(one.get("out_of_place")), _object(one.get("in_place")))
            )
    table.wrong = _file_count(_object(found.get("out_of_bounds")).get("count"))
    average = _object(found.get("average_bus_bandwidth")).get("bandwidth")
    table.average = average if isinstance(average, float) else None
    return table


def _collective_of(found: Mapping[str, object], config: Mapping[str, object]) -> str | None:
    arguments = found.get("args")
    words = [str(word) for word in arguments] if isinstance(arguments, list) else [str(arguments)]
    for word in words:
        for program in word.split():
            name = program.rsplit("/", 1)[-1]
            if "_perf" in name and (collective := collective_named(name.partition("_perf")[0])):
                return collective
    results = found.get("results")
    first = _object(results[0]) if isinstance(results, list) and results else {}
    said = config.get("collective") or found.get("collective") or first.get("experiment_name")
    return collective_named(str(said)) if said else None


def _take_devices(table: CollectiveTable, devices: object, config: Mapping[str, object]) -> None:
    """Keep how many took part. Some versions list the first GPU of each process alone."""
    listed = [one for one in _listed(devices) if isinstance(one, dict)]
    if not listed:
        return
    highest = max(_file_count(one.get("rank")) for one in listed) + 1
    each = (_file_count(config.get("nthreads")) or 1) * (_file_count(config.get("ngpus")) or 1)
    table.said = highest if len(listed) == highest and highest > 1 else len(listed) * each
    table.hosts = {str(one.get("hostname")) for one in listed if one.get("hostname")}
    table.listed = set(range(min(table.said, _MOST_RANKS)))
    gpus = dict.fromkeys(str(one["device_info"])[:80] for one in listed if one.get("device_info"))
    table.gpus = list(gpus)[:_MOST_GPUS]


def _json_output_row(one: Mapping[str, object]) -> RawRow | None:
    size, places = _file_count(one.get("size")), (one.get("out_of_place"), one.get("in_place"))
    if not size or not any(map(_wire_place, places)):  # cut off
        return None
    root = str(one.get("root", "")).strip()
    return RawRow(
        size=size,
        count=_file_count(one.get("count")),
        type=str(one.get("type", "")),
        redop=str(one.get("redop") or ""),
        root=int(root) if root.removeprefix("-").isdigit() and len(root) < 8 else None,  # noqa: PLR2004 (digits)
        out_of_place=_wire_place(one.get("out_of_place")),
        in_place=_wire_place(one.get("in_place")),
    )


def _wire_place(value: object) -> tuple[str, ...]:
    place = _object(value)
    if not place:
        return ()
    time = place.get("time", place.get("cpu_time", ""))
    return tuple(str(v) for v in (time, place.get("alg_bw"), place.get("bus_bw"), place.get("nwrong")))


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _file_count(value: object) -> int:
    """A count in a file; 0 where it has none."""
    return value if isinstance(value, int) and 0 <= value < 1 << 60 else 0
