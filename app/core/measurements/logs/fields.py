"""The numbers on a line of a step, by their names, whatever joins a name and its number."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.core.measurements.number_checks import (
    ReadsUnit,
    as_share,
    in_counts,
    in_flops,
    in_named_seconds,
    in_seconds,
    read_number,
)

_COLOR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_JOINT = re.compile(r"(?:(?<!\s)\s++)?+[:=]++\s*+")
_SPACE = re.compile(r"[\s_]+")
_QUOTES = str.maketrans("", "", "\"'")
_DIGITS = r"(\d[\d,]{0,20}(?:\.\d{0,20})?(?:[eE][+-]?\d{1,3}(?![\d.]))?|\.\d{1,20})"
_BEHIND = (
    r"(\s?%|[A-Za-z\u00b5]{1,12}(?:/[A-Za-z]{1,12}){0,3}"
    r"|\s(?:ms|us|s|sec|[KMGBT]|[GTP]FLOPS?(?:/s)?)(?![\w:/]))?"
)
_N = rf":?\s?{_DIGITS}{_BEHIND}"
_FIRST = rf"{_DIGITS}\s?"  # a number before its name
_TERA, _MILLI = 1e12, 1e-3


@dataclass(frozen=True, slots=True)
class LogField:
    """How a number is printed: a *word* of its line, a form, its unit and the scale without one."""

    name: str
    word: str
    form: re.Pattern[str]
    reads: ReadsUnit
    scale: float = 1.0


def _field(name: str, word: str, form: str, reads: ReadsUnit = in_counts, scale: float = 1.0) -> LogField:
    return LogField(name, word, re.compile(rf"(?<![A-Za-z]){form}", re.IGNORECASE), reads, scale)


def _inverse(value: float, behind: str, scale: float) -> float | None:
    rate = in_counts(value, behind, scale)
    return 1 / rate if rate else None


def _times(word: str, form: str, scale: float = 1.0) -> LogField:
    return _field("step_time", word, form, in_seconds, scale)


def _flops(word: str, form: str) -> LogField:
    return _field("flops_per_gpu", word, form, in_flops, _TERA)


def _tokens(word: str, form: str) -> LogField:
    return _field("tokens_per_second_per_gpu", word, form)


_FIELDS = (
    _times("elapsed", rf"elapsed time per iteration ?\(?ms\)?{_N}", _MILLI),
    _times("elapsed", rf"elapsed time per iteration(?: ?\(?s\)?)?{_N}"),
    _times("train step", rf"train step timing(?: in s)?{_N}"),
    _times("iter time", rf"iter time \(s\){_N}"),
    _field("step_time", "iter time", rf"iter time:{_DIGITS}{_BEHIND}", in_named_seconds),
    _times("seconds", rf"seconds{_N}"),
    _times("step time", rf"step time{_N}"),
    _times("end to end", rf"time metrics/end to end\(s\)\W{{0,9}}{_N}"),
    _times("perf/time", rf"perf/time per step{_N}"),
    _times("timing s/step", rf"timing s/step{_N}"),
    _field("step_time", "dt:", rf"dt:{_DIGITS}{_BEHIND}", in_named_seconds),
    _field("step_time", ", time", rf", time {_DIGITS}{_BEHIND}", in_named_seconds),
    _times("s/it", rf"{_FIRST}()s/it"),
    _field("step_time", "it/s", rf"{_FIRST}()it/s", _inverse),
    _flops("tflop/s/gpu", rf"(?:throughput|compute) per gpu \(tflop/s/gpu\){_N}"),
    _flops("approx flops", rf"approx flops per gpu{_N}"),
    _flops("tflop/s", rf"tflop/s(?:/device|/gpu)?{_N}"),
    _flops("gpu utilization", rf"gpu utilization{_N}"),
    _flops("model tflop", rf"{_FIRST}()MODEL TFLOP/s/GPU"),
    _flops("model tflops", rf"model tflops per gpu{_N}"),
    _flops("tflops per ", rf"tflops per (?:sec per )?gpu{_N}"),
    _flops("tflops", rf"tflops(?:/s)?(?:[ /]{{0,2}}(?:per |/)?(?:gpu|device))?{_N}"),
    _tokens("tgs", rf"tokens per gpu per second ?\(?tgs\)?{_N}"),
    _tokens("per gpu", rf"tokens per gpu per second{_N}"),
    _tokens("per gpu", rf"tokens? per sec\w{{0,3}} per gpu{_N}"),
    _tokens("/gpu)", rf"\(tokens?/s(?:ec)?/gpu\){_N}"),
    _tokens("tok", rf"tokens?/s(?:ec)?/(?:device|gpu){_N}"),
    _tokens("tok", rf"{_FIRST}()tok(?:ens)?/s(?:ec)?/gpu"),
    _tokens("device/tps", rf"throughput/device/tps(?: \(actual avg\))?{_N}"),
    _tokens("ps:", rf"(?<!/)(?:tps|wps){_N}"),
    _tokens("tgs", rf"tgs{_N}"),
    _tokens("perf/throughput", rf"perf/throughput{_N}"),
    _field("tokens_per_second", "tokens per sec", rf"tokens per sec\w{{0,3}}:{_DIGITS}{_BEHIND}"),
    _field("tokens_per_second", "tok", rf"tok(?:ens)?/s(?:ec)?:{_DIGITS}{_BEHIND}"),
    _field("tokens_per_second", "current steps", rf"throughput:{_DIGITS}{_BEHIND}"),
    _field("samples_per_second", "currsamples", rf"CurrSamplesPerSec{_N}"),
    _field("samples_per_second", "samplespersec", rf"SamplesPerSec{_N}"),
    _field("samples_per_second", "samples", rf"samples(?: per second|/sec){_N}"),
    _field("mfu", "mfu", rf"mfu(?:/actor)?(?: \(actual avg\))?(?: \(%\))?{_N}", as_share),
    _field("global_batch", "batch", rf"global batch size{_N}"),
)


@dataclass(frozen=True, slots=True)
class LineNumbers:
    """What a line says, in base units, and what is left out for what stands behind it."""

    values: dict[str, float]
    odd: dict[str, str]


def plain_line(line: str) -> str:
    """*line* without colors, quotes and underscores, with one colon between name and number.

    >>> plain_line("'elapsed_time_per_iteration_ms' =  3415.3 |")
    'elapsed time per iteration ms:3415.3 |'
    """
    joined = _JOINT.sub(":", _SPACE.sub(" ", without_colors(line).translate(_QUOTES)))
    return joined.replace("( ", "(").replace(" )", ")")


def without_colors(line: str) -> str:
    """*line* without the signs that color it."""
    return _COLOR.sub("", line) if "\x1b" in line else line


def line_numbers(line: str, mfu_scale: float = 0.0) -> LineNumbers:
    """The numbers on *line*; *mfu_scale* is that of an MFU without a percent sign, 0 if unknown."""
    plain = plain_line(line)
    found = LineNumbers({}, {})
    for field, match in _matches(plain):
        value = read_number(match[1])
        behind = (match[2] or "").strip()
        if value is None or field.name in found.values:
            continue
        scale = field.scale if field.name != "mfu" else _share_scale(value, mfu_scale)
        read = field.reads(value, behind, scale)
        if read:
            found.values[field.name] = read
            found.odd.pop(field.name, None)
        elif scale:
            found.odd.setdefault(field.name, f"{match[1]}{behind}")
    return found


def _matches(plain: str) -> Iterator[tuple[LogField, re.Match[str]]]:
    lowered = plain.lower()
    for field in _FIELDS:
        if field.word in lowered and (match := field.form.search(plain)):
            yield field, match


def _share_scale(value: float, of_family: float) -> float:
    """The scale of an MFU without a sign: of its family, else a fraction if it can be one."""
    return of_family or (1.0 if value <= 1 else 0.0)
