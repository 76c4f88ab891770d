"""Errors of programs that ran out of memory: PyTorch's of every version, JAX's, XLA's and vLLM's."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from app.core.formulas.presets import ModelShape
from app.core.formulas.presets.models import name_without_variant
from app.core.measurements.readers.nccl_tables import TextReader
from app.core.measurements.reports import MemoryShortage, join_doubts
from app.core.measurements.tensor_sizes import TensorRole
from app.core.units import Bytes

_WORDS = ("emory", "EXHAUSTED", "exhausted", "to allocate", "The model's", "To serve", "DefaultCPU")
_BEGINS = re.compile(
    r"[Tt]ried to allocate|while trying to allocate|[Oo]ut of memory allocating|Failed to allocate request"
    r"|Ran out of memory in memory space|max seq len|No available memory for the cache|Free memory on device"
)
# Where a message begins, should its first line end before that.
_HEAD = re.compile(
    r"[Oo]ut of memory|OUT_OF_MEMORY|RESOURCE_EXHAUSTED|[Rr]esource exhausted|To serve at least one|The model's max"
    r"|[Nn]o available memory|Free memory on|DefaultCPUAllocator"
)
_GOES_ON = re.compile(
    r"total capaci?ty|already allocated|memory in use|reserved|unallocated|is free|\bfree;|allocated by"
    r"|KV cache|max_model_len|Exceeded hbm|[KMG]iB\b|fragmentation"
)
_MOST_LINES, _LONGEST = 10, 4000  # of one message, and characters
_SHORT = 200  # characters of a line of a traceback
_TRACEBACK = 80  # lines
_MOST_REPORTS = 4
_MOST_PROCESSES = 64
_LARGEST = 1e15  # bytes of a device: PyTorch prints 17179869184.00 GiB where it does not know
_LARGEST_RANK = 1 << 20
_SCALES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# All of these programs print powers of 1,024, also those that write GB.
_SIZE = r"(\d{1,15})(\.\d{1,6})? ?([KMGT]i?B?\b|[Bb]ytes\b|B\b)"
_COMMAS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_RANK = re.compile(r"\[?\brank ?:?(\d{1,7})\]?:|\bGPU (\d{1,4})\b(?:;| has)|Rank(\d{1,7})\b")


def _form(text: str) -> re.Pattern[str]:
    return re.compile(text.replace("SIZE", _SIZE))


# Where the numbers stand in a message; the first form that is found counts.
_FORMS: Mapping[str, tuple[re.Pattern[str], ...]] = {
    "asked": (
        _form(r"allocate request for [\d.]+\w+ ?\(SIZE\)"),
        _form(r"(?:[Tt]ried to allocate|trying to allocate|[Oo]ut of memory allocating|request for) SIZE"),
        _form(r"\(SIZE KV cache is needed"),
        _form(r"KV cache is needed, SIZE"),
        _form(r"Used SIZE of"),
        _form(r"desired GPU memory utilization \([\d.]+, SIZE\)"),
    ),
    "total": (
        _form(r"total capaci?ty of SIZE"),
        _form(r"SIZE total capacity"),
        _form(r"max allowed: SIZE"),
        _form(r"Used [\d.]++\w++ of SIZE"),
        _form(r"Free memory on device (?:cuda:\d+ )?\([\d.]+/SIZE\)"),
    ),
    "free": (_form(r"of which SIZE is free"), _form(r"SIZE free"), _form(r"available KV cache memory \(SIZE\)")),
    "process": (_form(r"this process has SIZE memory in use"),),
    "allocated": (
        _form(r"allocated memory SIZE is allocated by PyTorch"),
        _form(r"SIZE already allocated"),
        _form(r"MPS allocated: SIZE"),
    ),
    "unallocated": (_form(r"SIZE is reserved by PyTorch but unallocated"),),
    "reserved": (_form(r"SIZE reserved in total"),),
    "other": (_form(r"other allocations: SIZE"),),
    "allowed": (_form(r"SIZE allowed"),),
}
_OTHERS = _form(r"Process \d{1,9} has SIZE memory in use")
_FREE_OF = re.compile(r"Free memory on device (?:cuda:\d+ )?\((\d{1,6}(?:\.\d{1,4})?)/")
_TOKENS = re.compile(r"max seq len \((\d{1,12})\)")
_ROOM = re.compile(r"(?:stored in KV cache \(|estimated maximum model length is )(\d{1,12})")
# What a line of a traceback says of the tensor; the line nearest to the error counts.
_ROLES = (
    (TensorRole.LOGITS, re.compile(r"cross_entropy|lm_head|logits|log_softmax|log_?probs")),
    (TensorRole.SCORES, re.compile(r"softmax|scaled_dot_product|attn_weights|attention_scores|eager_att|baddbmm")),
    (TensorRole.STATES, re.compile(r"flatten|flat_param|exp_avg|optimizer\.step|_init_group|grad_buffer")),
    (TensorRole.ACTIVATION, re.compile(r"down_proj|up_proj|act_fn|silu|swiglu|layer_?norm|rms_?norm")),
)
_STAGES = ((3, "stage3.py"), (3, "fully_shard"), (3, "/fsdp/"), (2, "stage_1_and_2.py"))
_MODEL = re.compile(r"(?:model(?:_name|_path|_id|_name_or_path)?|pretrained)['\"]?[=:\s]{1,3}['\"]?([\w./-]{3,160})")
_FILLED = re.compile(r"^(?:models--[\w.-]{1,60}--|Meta-)")


@dataclass
class MemoryErrorReader(TextReader):
    """Takes the lines of a text one by one; errors that are printed by several ranks are one report."""

    reads: ClassVar = "an out-of-memory error of PyTorch, JAX or vLLM"
    looks: ClassVar = "out-of-memory error (as “Tried to allocate 2.00 GiB”)"
    sample: ClassVar = """\
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 14.96 GiB. GPU 0 has a total capacity of 79.15 GiB of \
which 4.40 GiB is free. Including non-PyTorch memory, this process has 74.74 GiB memory in use. Of the allocated \
memory 68.21 GiB is allocated by PyTorch, and 5.12 GiB is reserved by PyTorch but unallocated.
"""
    _found: dict[tuple[object, ...], MemoryShortage] = field(default_factory=dict)
    _left_out: int = 0
    _open: list[str] = field(default_factory=list)
    _above: deque[str] = field(default_factory=lambda: deque(maxlen=_TRACEBACK))
    _model: str = ""
    _stage: int | None = None

    def take(self, line: str) -> bool:
        """Read *line*; whether it was of such an error."""
        if any(word in line for word in _WORDS) and self._begins(line):
            self._close()
            self._open = [line[:_LONGEST]]
            return True
        goes_on = False
        if self._open:  # what follows may be the rest: it is looked at, and left to other readers if it is not
            self._open.append(line[:_LONGEST])
            goes_on = bool(_GOES_ON.search(line[:_LONGEST]) or _BEGINS.search(line[:_LONGEST]))
            if len(self._open) == _MOST_LINES:
                self._close()
        self._look_around(line)
        return goes_on

    def _begins(self, line: str) -> bool:
        """Whether a message begins in *line*, and not in a line before it."""
        is_first = not self._open or any(map(_BEGINS.search, self._open))
        return bool(_HEAD.search(line) or (is_first and _BEGINS.search(line)))

    def _look_around(self, line: str) -> None:
        """Keep what a traceback and settings say."""
        line = line[:_SHORT]
        self._above.append(line)
        if not self._model and "odel" in line:
            self._model = next(filter(None, map(_known_model, _MODEL.findall(line))), "")
        if self._stage is None:
            self._stage = next((stage for stage, word in _STAGES if word in line), None)

    def _close(self) -> None:
        """The message that was begun is complete."""
        if not self._open:
            return
        found = read_shortage(self._open)
        self._open = []
        if found is None:
            return
        told = (role.value for line in reversed(self._above) for role, form in _ROLES if form.search(line))
        found = replace(found, role=next(told, ""), zero_stage=self._stage)
        self._above.clear()
        key = (found.program, found.asked, round((found.total or 0) / (1 << 30)), found.tokens)
        if before := self._found.get(key):
            both = replace(before, times=before.times + 1, ranks=max(before.ranks, found.ranks))
            self._found[key] = replace(both, role=before.role or found.role)
        elif len(self._found) < _MOST_REPORTS:
            self._found[key] = found
        else:
            self._left_out += 1

    def reports(self, trouble: str = "") -> Iterator[MemoryShortage]:
        """The errors, each with how often it was printed."""
        self._close()
        left_out = f"{self._left_out:,} further messages with other numbers are left out" if self._left_out else ""
        for found in self._found.values():
            doubts = join_doubts([trouble, left_out, *found.doubts])
            yield replace(found, model=self._model, doubts=doubts)


def _known_model(text: str) -> str:
    """The name of a model that *text* ends with, as the hub or a folder has it; empty if there is none."""
    for part in reversed(text.strip("/.").split("/")):
        name = name_without_variant(_FILLED.sub("", part))
        if ModelShape.has(name):
            return ModelShape.named(name).name
    return ""


def read_shortage(lines: Iterable[str]) -> MemoryShortage | None:
    """What a message says that may have been wrapped, within a number or between words; None for no number."""
    pieces = [line.strip("\r\n") for line in lines]
    joined, spaced = ("".join(pieces), " ".join(map(str.strip, pieces)))
    numbers, wild = _numbers(joined)
    more, too = _numbers(spaced)
    numbers = {**more, **numbers}
    tokens, room = (_count(form, joined) or _count(form, spaced) for form in (_TOKENS, _ROOM))
    empty = "No available memory for the cache" in spaced
    if not numbers and tokens is None and not empty:
        return None
    cut = "CUDA out of memory" in spaced and "asked" in numbers and not {"free", "allocated"} & numbers.keys()
    about_cut = "the message is cut: how much was free, allocated and reserved is not in it" if cut else ""
    ranks = [int(next(filter(None, groups))) for groups in _RANK.findall(spaced)[:_MOST_PROCESSES]]
    found = MemoryShortage(
        program=_program(spaced),
        asked=_bytes(numbers, "asked"),
        half_digit=numbers["asked"][1] if "asked" in numbers else 0.0,
        total=_bytes(numbers, "allowed") or _bytes(numbers, "total"),
        free=_bytes(numbers, "free"),
        process=_bytes(numbers, "process"),
        allocated=_bytes(numbers, "allocated"),
        unallocated=_bytes(numbers, "unallocated"),
        tokens=tokens,
        room_tokens=room,
        ranks=min(max(ranks, default=0) + 1, _LARGEST_RANK),  # one more than the highest that is named
        doubts=tuple(filter(None, [wild or too, about_cut])),
    )
    processes = max((joined, spaced), key=lambda text: len(_OTHERS.findall(text)))
    return _with_processes(_with_old_numbers(found, numbers, spaced), processes)


def _program(text: str) -> str:
    if any(word in text for word in ("KV cache", "cache blocks", "Free memory on device")):
        return "vLLM"
    if "memory space hbm" in text:
        return "XLA"
    if "XlaRuntimeError" in text or "xhausted" in text or "EXHAUSTED" in text or "while trying to allocate" in text:
        return "JAX"
    if "MPS" in text:
        return "PyTorch with MPS"
    return "PyTorch on the host" if "DefaultCPUAllocator" in text else "PyTorch"


_Numbers = dict[str, tuple[Bytes, Bytes]]  # of each field, its bytes and half of its last digit


def _numbers(text: str) -> tuple[_Numbers, str]:
    """The sizes in *text*, and a doubt about those that no device has."""
    found: _Numbers = {}
    wild = ""
    text = _COMMAS.sub("", text)
    for name, forms in _FORMS.items():
        match = next(filter(None, (form.search(text) for form in forms)), None)
        if match is None:
            continue
        value, half = _size(match[1], match[2], match[3])
        if value < _LARGEST:
            found[name] = (value, half)
        else:
            printed = f"{match[1]}{match[2] or ''} {match[3]}"
            wild = f"{printed} is more than any device has, and is left out: the program did not know"
    return found, wild


def _size(whole: str, part: str | None, unit: str) -> tuple[Bytes, Bytes]:
    scale = _SCALES.get(unit[0] if unit[0] in "KMGT" else "", 1)
    digits = len(part) - 1 if part else 0
    half = 0.0 if scale == 1 else scale / 2 / 10**digits
    return float(whole + (part or "")) * scale, half


def _bytes(numbers: _Numbers, name: str) -> Bytes | None:
    return numbers[name][0] if name in numbers else None


def _count(form: re.Pattern[str], text: str) -> int | None:
    return int(found[1]) if (found := form.search(text)) else None


def _with_old_numbers(found: MemoryShortage, numbers: _Numbers, text: str) -> MemoryShortage:
    """What follows from numbers that other versions print: reserved in total, other allocations, a pair."""
    if found.allocated is not None and "reserved" in numbers and found.unallocated is None:
        rest = numbers["reserved"][0] - found.allocated
        found = replace(found, unallocated=max(rest, 0.0))
    if "other" in numbers and found.allocated is not None:
        found = replace(found, process=found.allocated + numbers["other"][0])
    if found.program == "PyTorch with MPS" and found.total is not None and found.process is not None:
        found = replace(found, free=max(found.total - found.process, 0.0))
    if (pair := _FREE_OF.search(text)) and found.total is not None:
        found = replace(found, free=float(pair[1]) * _SCALES["G"])
    held = (found.allocated or 0) + (found.unallocated or 0)
    if found.total and held > 1.02 * found.total:  # Windows lends memory of the host
        says = "more is reserved than the GPU has: the driver lends memory of the host, which is slow"
        found = replace(found, doubts=(*found.doubts, says))
    return found


def _with_processes(found: MemoryShortage, text: str) -> MemoryShortage:
    """With the other processes; in a container PyTorch does not know which one is its own."""
    sizes = [_size(*groups)[0] for groups in _OTHERS.findall(text)[:_MOST_PROCESSES]]
    sizes = [size for size in sizes if size < _LARGEST]
    held = (found.allocated or 0) + (found.unallocated or 0)
    if found.process is None and found.allocated is not None:
        own = min((size for size in sizes if size >= 0.99 * held), default=None)
        if own is not None:
            sizes.remove(own)
            several = f"of {len(sizes) + 1} processes " if sizes else ""
            says = f"{several}the one that holds enough for its tensors is taken to be this one" if sizes else ""
            found = replace(found, process=own, doubts=(*found.doubts, says) if says else found.doubts)
    return replace(found, others=tuple(sizes))
