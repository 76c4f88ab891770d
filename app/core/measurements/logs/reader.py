"""The lines of training logs to runs, and logs of tools that are refused by name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType

from app.core.measurements.logs import settings
from app.core.measurements.logs.families import LOG_FAMILIES, LogFamily
from app.core.measurements.logs.runs import MOST_STEPS, LoggedStep, LogRun, StepCount
from app.core.measurements.logs.settings import LineNumbers, LogSettings
from app.core.measurements.number_checks import read_number


@dataclass(frozen=True, slots=True)
class ForeignOutput:
    """How a line looks that is known and not read, with one of its *words*; and what to do *instead*."""

    words: tuple[str, ...]
    form: re.Pattern[str]
    instead: str

    def is_on(self, line: str) -> bool:
        """Whether *line* is one."""
        return any(word in line for word in self.words) and self.form.search(line) is not None


def _foreign(words: str, form: str, instead: str = "") -> ForeignOutput:
    return ForeignOutput(tuple(words.split(", ")), re.compile(form), instead)


FOREIGN_FAMILIES: Mapping[str, ForeignOutput] = MappingProxyType(
    {
        "MosaicML Composer": _foreign("batch=", r"\[batch=\d+/\d+\]"),
        "Levanter": _foreign("Progress on", r"\bProgress on:\s?train\b"),
        "fairseq": _foreign("train_inner", r"\btrain_inner \| "),
        "Keras": _foreign("/step", r"\b\d+/\d+ +(?:\[[=>.]{5,}\]|\u2501{3,}).*/step"),
        "MMEngine or XTuner": _foreign("(train)", r"\b(?:Iter|Epoch)\(train\) +\["),
        "PaddleNLP": _foreign("interval_", r"\binterval_(?:tokens|samples|steps)_per_second"),
        "MindFormers": _foreign("per_step_time", r"\bper_step_time: ?\d"),
        "InternEvo": _foreign("tgs (", r"\btgs \(tokens/gpu/second\)"),
        "Lingua": _foreign("acc:", r"\bstep: \d+ +acc: \d"),
        "timm": _foreign("Train: ", r"\bTrain: \d+ \[ *\d+/\d+ +\( *\d+%\)\]"),
        "torchvision": _foreign("Epoch: [", r"\bEpoch: \[\d+\] +\[ *\d+/\d+\] +eta:"),
        "MLPerf": _foreign(":::MLLOG", r":::MLLOG\b"),
        "PyTorch Lightning": _foreign("Epoch ", r"\bEpoch \d+: +\d+%\|.{0,300}(?:it/s|s/it)"),
        "llm.c": _foreign(" tok/s", r"\bstep +\d+/\d+ +\| +(?:train )?loss .*\| +[\d.]+ ms \|"),
        "modded-nanogpt": _foreign("step_avg:", r"\bstep:\d+/\d+ .*step_avg:"),
        "torchtune without its lines": _foreign("|Loss:", r"^\W{0,9}\d+\|\d+\|Loss: "),
        "OpenRLHF": _foreign("Train epoch [", r"\bTrain epoch \[\d+/\d+\]: +\d+%\|"),
        "slime": _foreign("perf/", r"\bperf \d+: \{'perf/"),
        "VeOmni": _foreign("total_loss", r"\bEpoch \d+/\d+: +\d+%\|.*\btotal_loss:"),
        "NeMo-RL": _foreign("Total step time", r"\bTotal step time: [\d.]+ ?s"),
        "diffusers or another program with a bar of its own": _foreign(
            "%|", r"^\s{0,9}[A-Z][\w ]{1,40}: +\d{1,3}%\|.*\b\d+/\d+ \[.*(?:it/s|s/it)"
        ),
    }
)


_COLLECTIVES = "run nccl-tests for collectives"
_TRACE = "export a trace of the PyTorch profiler with export_chrome_trace"
_SERVING = "serving is not measured here"


FOREIGN_TOOLS: Mapping[str, ForeignOutput] = MappingProxyType(
    {
        "oneCCL's benchmark": _foreign(
            "# Benchmarking, t_min[usec]",
            r"# Benchmarking: \w|#bytes +#repetitions +t_min\[usec\] +t_max\[usec\] +t_avg\[usec\] +stddev",
            _COLLECTIVES,
        ),
        "all_reduce_bench": _foreign(
            "bandwidth of all_reduce, | payload",
            r"average bandwidth of all_reduce|^\| payload +\| +busbw",
            _COLLECTIVES,
        ),
        "DeepSpeed's FLOPS profiler": _foreign("Flops Profiler", r"\bDeepSpeed Flops Profiler\b", _TRACE),
        "OSU micro-benchmarks": _foreign("# OSU", r"^[^#]{0,80}# OSU \S.{0,80}\bTest\b", _COLLECTIVES),
        "Intel MPI Benchmarks": _foreign("MPI Benchmarks", r"\bIntel\(R\) MPI Benchmarks\b", _COLLECTIVES),
        "perftest": _foreign(
            "#iterations, Test",
            r"#bytes +#iterations|\b(?:RDMA_\w+|Send) (?:BW|Latency|Bidirectional BW) Test\b",
            _COLLECTIVES,
        ),
        "nvbandwidth": _foreign(
            "nvbandwidth, (row)", r"\bnvbandwidth Version\b|\bmemcpy [CS][EM] \w+\(row\)", _COLLECTIVES
        ),
        "p2pBandwidthLatencyTest or bandwidthTest": _foreign(
            "P2P, [CUDA", r"P2P \(Peer-to-Peer\) GPU Bandwidth|\[CUDA Bandwidth Test\]", _COLLECTIVES
        ),
        "TransferBench": _foreign("TransferBench", r"\bTransferBench v\d", _COLLECTIVES),
        "Nsight Systems (nsys stats)": _foreign(
            "Time (%), _sum, Summary",
            r"^\W*Time \(%\),? *Total Time \(\w+\)|\(cuda_\w+_sum\)|\bGPU Kernel Summary\b",
            _TRACE,
        ),
        "Nsight Compute": _foreign("==PROF==, Section:", r"==PROF== |\bSection: GPU Speed Of Light", _TRACE),
        "torch.profiler as a table": _foreign("Self C", r"\bSelf (?:CPU|CUDA|XPU) (?:time total:|%)", _TRACE),
        "Holistic Trace Analysis": _foreign(
            "rank",
            r"^(?:,|\w+,)?rank,(?:idle_time|compute_time|\w+_pctg|comp_comm_overlap)",
            "send the traces that it read",
        ),
        "vLLM": _foreign(
            "Benchmark, Throughput:, throughput:",
            r"\bServing Benchmark Result\b|^Throughput: \S+ requests/s|\bgeneration throughput:",
            _SERVING,
        ),
        "SGLang": _foreign(
            "batch, gen throughput",
            r"\b(?:Decode|Prefill) batch\W .*#(?:running|new|queue)|\bgen throughput \(token/s\)",
            _SERVING,
        ),
        "TensorRT-LLM": _foreign(
            "PERFORMANCE, Throughput", r"^=* ?PERFORMANCE OVERVIEW\b|\bTotal Output Throughput \(tokens/sec\)", _SERVING
        ),
        "llama.cpp": _foreign(
            "eval time, | t/s |", r"\bllama_\w*print\w*: +(?:prompt )?eval time|\| test +\| +t/s \|", _SERVING
        ),
        "nvidia-smi or rocm-smi": _foreign(
            "NVIDIA-SMI, ROCm", r"\| NVIDIA-SMI \d|ROCm System Management Interface", "send what the job printed"
        ),
    }
)


def foreign_output(line: str) -> str:
    """What prints lines like *line* that are not read, and what to do instead; empty for what is not known."""
    for name, family in FOREIGN_FAMILIES.items():
        if family.is_on(line):
            return f"a log of {name}, which is not read"
    for name, tool in FOREIGN_TOOLS.items():
        if tool.is_on(line):
            return f"the output of {name}, which is not read ({tool.instead})"
    return ""


_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
_AMERICAN = re.compile(r"\b(\d\d)/(\d\d)/(\d{4}) (\d\d:\d\d:\d\d)")
_ELAPSED = re.compile(r"(?:\[|elapsed_time\W{1,4})(?:(\d{1,3}) days?, )?(?:(\d{1,4}):)?(\d\d?):(\d\d)")
_SOURCE = re.compile(r"^\W{0,3}(?:\w{0,9}rank\W?(\d{1,6})\b|(?:default)?(\d{1,6})\]?:(?!\d)|\d+,(\d+)\])")


def line_source(line: str) -> str:
    """The rank that printed *line*; empty if it does not say."""
    found = _SOURCE.search(line)
    return next(filter(None, found.groups()), "") if found else ""


def line_clock(line: str) -> tuple[float | None, bool]:
    """When *line* was written, in seconds, and whether it has parts of a second."""
    if stamp := _STAMP.search(line):
        day, time, part = stamp.groups()
    elif american := _AMERICAN.search(line):
        month, date, year, time = american.groups()
        day, part = f"{year}-{month}-{date}", None
    elif elapsed := _ELAPSED.search(line):
        days, hours, minutes, seconds = (int(text or 0) for text in elapsed.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60.0 + seconds, False
    else:
        return None, False
    try:
        whole = datetime.fromisoformat(f"{day}T{time}+00:00").timestamp()
    except ValueError:  # no such day
        return None, False
    return whole + float(f"0.{part or 0}"), bool(part)


# What launchers, containers and loggers put before a line, one behind the other.
_TAGS = re.compile(
    r"^(?:\s{0,8}(?:\d{1,6}:(?=\s)|\[[^\]\s]{1,80}(?: [^\]\s]{1,40})?\](?:<\w{3,6}>)?:?|\([A-Za-z][^)]{0,80}\)"
    r"|\d{4}-\d\d-\d\d[T ][\d:.,]{8,18}(?:Z|[+-]\d\d:?\d\d)?|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|std(?:out|err) [FP]"
    r"|[a-z][\w.-]{0,60} {1,30}\||\w[\w./-]{0,60}\d(?::\d{1,4})?:(?=\s)|(?:DEBUG|INFO|WARNING|ERROR)\b:?"
    r"|>>|[-+>|](?=\s)"
    r"|[a-z][a-z0-9]{0,40}(?:-[a-z0-9]{1,40}){1,6}(?: [a-z][a-z0-9-]{0,40})?(?= [\[{0-9]| {2,})"
    r")(?=[\s{\[(]|\d{1,3}%|$))++\s?"
)
_OF_A_TRAINER = ("%|", "'loss'", '"loss"', "train_runtime", "train_steps_per_second")
_BARS = re.compile(r"(?<=\])\s{0,30}(?=\D{0,60}\d{1,3}%\|)")


def strip_tags(line: str) -> str:
    """*line* without what launchers, containers and loggers put before it.

    >>> strip_tags("[rank0]: 2026-05-01 07:03:11,123 INFO  10%|# | 1/10 [00:01<00:09,  1.0s/it]")
    '10%|# | 1/10 [00:01<00:09,  1.0s/it]'
    """
    return _TAGS.sub("", line, count=1).lstrip()


_LONGEST = 1 << 13  # characters of a line that was wrapped
_MOST_BELOW, _MOST_WRAPPED = 96, 8  # lines
_HEAD = 80  # characters that tell whether a line is one of its own
_OWN = re.compile(
    r"\.{3,}|\bINFO\b|\bWARN|\bStep Time\b|^\W{0,3}[Ss]tep:?\s{1,9}\d|^\W{0,3}[\"']?(?:loss|train_runtime)[\"']?: "
)
_NAMED = re.compile(r"[\w)\]]\s?[:=]\s*[\d.]|\|")
# What a launcher, a container or a page puts before each line: a part of a line has it, too.
_PREFIXES = tuple(
    re.compile(form)
    for form in (
        r"\d{1,9}[:\t]\s?",
        r"\[[^\]\s]{1,40}\](?:<\w{3,6}>)?:?\s?",
        r"[a-z][\w./-]{0,30}:\s",
        r"[>|+]\s",
        r"\([^)]{1,40}\)\s",
    )
)


@dataclass(slots=True)
class OpenStep:
    """The lines of a step so far."""

    family: LogFamily
    pieces: list[str]
    left: int

    @classmethod
    def of(cls, family: LogFamily, line: str) -> "OpenStep":
        """The step that begins with *line*."""
        return cls(family, [line], _MOST_BELOW if family.below else _MOST_WRAPPED)

    def goes_on(self, line: str) -> bool:
        """Whether *line* is a part of the step; it is kept if so."""
        for form in _PREFIXES:
            if form.match(self.pieces[0]) and (found := form.match(line)):
                line = line[found.end() :]
                break
        head = line[:_HEAD]
        is_own = (
            _STAMP.search(head) or _AMERICAN.search(head) or line_source(head) or _OWN.search(head)
        )  # as no part of a step is
        if self.left <= 0 or not line.strip() or is_own:
            return False
        if not self.family.below and not self._is_rest(line):
            return False
        self.pieces.append(line)
        self.left -= 1
        return True

    def _is_rest(self, line: str) -> bool:
        """Whether *line* can be the rest: of a number, of named numbers, or behind a joint."""
        before = self.pieces[-1]
        if before[-1:].isdigit() and re.match(r"[\d.,]", line):
            return True
        named = bool(_NAMED.search(line)) and not self.family.companion  # whose lines are short
        return named or before.rstrip()[-1:] in {"|", ",", ":", "="}

    def numbers(self) -> LineNumbers:
        """The numbers of the lines together: cut anywhere, or between words."""
        scale, pieces = self.family.mfu_scale, self.pieces
        if len(pieces) == 1:
            return settings.line_numbers(pieces[0], scale)
        joint = "|".join(pieces) if self.family.below else "".join(pieces)
        found = settings.line_numbers(joint[:_LONGEST], scale)
        if self.family.below:
            return found
        spaced = settings.line_numbers(" ".join(map(str.strip, pieces))[:_LONGEST], scale)
        values = {**spaced.values, **found.values}
        odd = {name: text for name, text in found.odd.items() if name not in values}
        return LineNumbers(values, odd)

    def numbers_without_last(self) -> LineNumbers | None:
        """The numbers but one with which the last line ends, as it may go on; None without one."""
        last = self.pieces[-1]
        whole = re.sub(r"(?<![\d.,])[\d.,]++$", "", last)
        if whole == last:
            return None
        kept = replace(self, pieces=[*self.pieces[:-1], whole]).numbers()
        return LineNumbers(kept.values, {})


MOST_RUNS = 16
_SERIES = re.compile(r"train_step_timing in s: *\[([\d., ]+)\]")
_TRAINER = re.compile(r"^\W{0,3}[\"']?(?:loss|train_runtime)[\"']?: ")
_A_SUMMARY = re.compile(r"\btrain_steps_per_second[\"']?\s{0,30}[:=] {0,30}[\"']?([\d.e+-]{1,20})")
_A_RUN = re.compile(r"[\"']train_runtime[\"']: [\"']?([\d.e+-]{1,20})")
_STEP_WORDS = ("iter", "step", "Step", "PerSec", "%|")


@dataclass(slots=True)
class LogReader:
    """Takes the lines of a text one by one."""

    runs: list[LogRun] = field(default_factory=lambda: [LogRun()])
    left_out: int = 0  # lines of runs after the first MOST_RUNS
    foreign: str = ""  # what the text is of, where that is not read
    _pending: LogSettings = field(default_factory=LogSettings)
    _waiting: list[LoggedStep] = field(default_factory=list)  # without a number, of the next step
    _open: OpenStep | None = None
    _last: str = ""

    def take(self, line: str) -> bool:
        """Read *line*; whether it was that of a step."""
        self._last = line
        line = settings.without_colors(line)
        if any(word in line for word in _OF_A_TRAINER):
            line = strip_tags(line[:_LONGEST])
            if line.count("%|") > 1:
                taken = [self.take(one) for one in _BARS.split(line)]
                return any(taken)
        is_step = any(word in line for word in _STEP_WORDS)
        if is_step and (family := _family_of(settings.shape_of(line))) is not None:
            self._close()
            self._open = OpenStep.of(family, line)
            return True
        if self._open is not None:
            if self._open.goes_on(line):
                return True
            if not line.strip():  # the text may end here
                self._open.left = 0
                return False
            self._close()
        return self._take_unnumbered(line) or self._take_setting(line)

    def finish(self) -> list[LogRun]:
        """The runs that have steps."""
        # A step that was wrapped may end with a part of a number, even if its line ends.
        wrapped = self._open is not None and len(self._open.pieces) > 1 and not self._open.family.below
        self._close(cut=bool(self._last.strip()) or wrapped)
        self.runs[-1].unnumbered += self._waiting
        return [run for run in self.runs if run.is_one]

    def _close(self, *, cut: bool = False) -> None:
        """Take the step whose lines are complete."""
        now, self._open = self._open, None
        if now is None:
            return
        found = now.numbers()
        match = now.family.step.search(now.pieces[0])
        if match is None:
            return
        if cut and (kept := now.numbers_without_last()) is not None:
            self.runs[-1].cut_off = not self.runs[-1].counts
            found = found if self.runs[-1].cut_off else kept
        self._take_step(now.family, match, now.pieces[0], found)

    def _take_step(self, family: LogFamily, match: re.Match[str], line: str, found: LineNumbers) -> None:
        at, fine = line_clock(line)
        number, total, micro = _counted(match)
        step = LoggedStep(number, at, found.values, micro)
        run = self._run_of(family, step, line_source(line), total)
        if run is None:
            self.left_out += 1
            return
        for name, text in found.odd.items():
            run.odd.setdefault(name, text)
        count = run.counts.setdefault(_key(family, total), StepCount(family))
        count.total = count.total or total
        count.coarse = count.coarse and not fine
        count.counter.began_again(line_source(line), number, known=True)
        count.add(step)

    def _run_of(self, family: LogFamily, step: LoggedStep, source: str, total: str) -> LogRun | None:
        """The run of a step: the last one, an earlier one of its family, or a new one."""
        run = self.runs[-1]
        count = run.counts.get(_key(family, total))
        programs = [one for one in run.counts.values() if not one.family.companion]
        if programs and not family.companion and count is None:
            earlier = next((run for run in self.runs if family.counter in run.counts), None)
            if earlier is None:
                return self._after(self._new_run())
            earlier.broken = self.runs[-1].broken = True
            return earlier
        if family.companion and total:  # a bar, of which every evaluation has another
            ended = run.summary and (count is None or step.number < max(count.steps))
            return self._after(self._new_run() if ended else run)
        if run.counts and self._pending and run.settings.differs(self._pending):
            return self._after(self._new_run())
        if count is not None and count.begins_again(step, source, total):
            return self._after(self._new_run())
        return self._after(run)

    def _after(self, run: LogRun | None) -> LogRun | None:
        """*run* with the settings that were printed since the last step."""
        if run is not None:
            run.settings.merge(self._pending)
            run.unnumbered += self._waiting
            self._pending, self._waiting = LogSettings(), []
        return run

    def _new_run(self) -> LogRun | None:
        if not self.runs[-1].counts:
            return self.runs[-1]
        if len(self.runs) >= MOST_RUNS:
            return None
        # What the program printed of the machine holds for its next run.
        before = self.runs[-1].settings
        self.runs.append(LogRun(settings=LogSettings(gpu=before.gpu)))
        return self.runs[-1]

    def _take_unnumbered(self, line: str) -> bool:
        run = self.runs[-1]
        if "timing" in line and (series := _SERIES.search(line)):
            times = [value for word in series[1].split(",") if (value := read_number(word.strip()))]
            run.unnumbered += [LoggedStep(0, None, {"step_time": value}) for value in times]
        elif ("epoch" in line and _TRAINER.search(line)) or _A_SUMMARY.match(line.lstrip()):
            run.trainer = True
            if (found := _A_SUMMARY.search(line)) and (rate := read_number(found[1])):
                run.summary["step_time"] = 1 / rate
                if (time := _A_RUN.search(line)) and (seconds := read_number(time[1])):
                    run.summary["steps"] = rate * seconds
            elif (values := settings.line_numbers(line).values) and len(run.unnumbered) < MOST_STEPS:
                run.unnumbered.append(LoggedStep(0, None, values))
        elif "Step Time" in line and len(self._waiting) + len(run.unnumbered) < MOST_STEPS:
            self._waiting.append(LoggedStep(0, line_clock(line)[0], settings.line_numbers(line).values))
        else:
            return False
        return True

    def _take_setting(self, line: str) -> bool:
        if (found := settings.read_settings(line)) is not None:
            target = self._pending if self.runs[-1].counts else self.runs[-1].settings
            target.merge(found)
        if not self.foreign and not self.runs[-1].counts:
            self.foreign = foreign_output(line)
        return False


@lru_cache(settings.REMEMBERED)
def _family_of(shape: str) -> LogFamily | None:
    return next((family for family in LOG_FAMILIES if family.step.search(shape)), None)


def _key(family: LogFamily, total: str) -> str:
    return f"{family.counter}/{total}" if family.companion and total else family.counter


def _counted(match: re.Match[str]) -> tuple[int, str, int]:
    """The number of a step, of how many, and of which micro-batch."""
    groups = {name.rstrip("1"): text for name, text in match.groupdict().items() if text}
    total, micro = groups.get("total", ""), int(groups.get("micro", 0))
    if "step" in groups:
        return int(groups["step"]), "" if "within" in groups else total, micro
    each = int(total) if total.isdigit() else 0
    return int(groups.get("epoch", 0)) * (each + 1) + int(groups.get("within", 0)), "", micro
