"""What a configuration says of a layout, as far as its keys say it by themselves."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.core.formulas.configurations.documents import count_in, plain_number
from app.core.formulas.configurations.program_keys import PROGRAMS, ProgramKeys, is_set
from app.core.translation import noted, value_error

Setting = int | str | bool  # of a layout, by its field
_MOST_KEYS = 8  # that are named
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredLayout:
    """What a configuration says of a layout: its *fields*, and the sequences of a step; 0 where it says nothing.

    *gpus* are those that it names. *each* are the sequences of a GPU in a micro-batch, however many GPUs share one.
    *stack* has settings of the program that trains, by the names that a line of predictions has for them; *model* is
    the name of its model.
    """

    fields: Mapping[str, Setting]
    batch: int = 0
    layers_per_chunk: int = 0  # of an interleaved pipeline
    gpus: int = 0
    each: float = 0.0
    stack: Mapping[str, str] = field(default_factory=dict)
    model: str = ""

    def on(self, gpus: int, layers: int = 0) -> Mapping[str, Setting]:
        """The fields of the layout on *gpus* GPUs: the remaining degree is data parallelism.

        Raises:
            ValueError: the degrees do not divide the GPUs, or the batch.
        """
        found, notes = dict(self.fields), [str(self.fields["source"])]
        model = _degrees_product(found, "tensor", "pipeline", "context")
        if gpus % model:
            form = noted("the configuration splits the model over {model} GPUs, which do not divide {gpus}")
            raise value_error(form, model=model, gpus=gpus)
        found["data"] = gpus // model
        if self.layers_per_chunk and layers:
            found["virtual"] = max(1, layers // (_degrees_product(found, "pipeline") * self.layers_per_chunk))
        if self.gpus and self.gpus != gpus:
            notes.append(f"it is for {self.gpus:,} GPU{'s' if self.gpus > 1 else ''}, and this is for {gpus:,}")
        if "sequence" not in found:
            notes.append("it says no sequence: 8,192 tokens are taken")
        if self.each:
            found["micro_batch"] = max(1, round(self.each * model))
        if self.batch:
            self._split_batch(found, notes)
        return {**found, "source": "; ".join(notes)}

    def _split_batch(self, found: dict[str, Setting], notes: list[str]) -> None:
        """The micro-batches of the batch, or that it is another one than all of them."""
        each = _degrees_product(found, "data", "micro_batch")
        if "microbatches" in self.fields:
            if each * int(found["microbatches"]) != self.batch:
                notes.append(
                    f"the batch of {self.batch} sequences is not {each} at once, {found['microbatches']} times: the"
                    " micro-batches are taken"
                )
        elif self.batch % each:
            raise value_error(
                "the batch of {batch} sequences does not divide into {each} at once", batch=self.batch, each=each
            )
        else:
            found["microbatches"] = self.batch // each


def _degrees_product(found: Mapping[str, Setting], *names: str) -> int:
    return math.prod(int(found.get(name, 1)) for name in names)


def configuration_notes(source: str) -> list[str]:
    """What a record that was read from a configuration says is guessed or left out, by its *source*.

    >>> configuration_notes("a DeepSpeed JSON; auto is taken as 1: micro_batch; not used: zero_optimization.zenflow")
    ['auto is taken as 1: micro_batch', 'not used: zero_optimization.zenflow']
    """
    program, *notes = source.split("; ")
    known = program.startswith("config.json, ") or any(program == one.program for one in PROGRAMS)
    return notes if known else []


_EVERYWHERE = {("optimizer", "AdamW")}  # what a prediction has in any case


def stack_doubt(told: Mapping[str, str]) -> str:
    """What a configuration has *told* of the stack that a prediction leaves out, in a sentence; empty for nothing."""
    more = [
        f"{name.replace('_', ' ')} {value}"
        for name, value in told.items()
        if (name, value) not in _EVERYWHERE and name not in ("stack", "recipe")
    ]
    return f"The layout: it also says {', '.join(more)}, which is left out." if more else ""


# What a program calls a setting of the stack, in the words of a line of predictions; empty for what that cannot say.


def _optimizer(text: str) -> str:
    eight, paged = "8bit" in text or "8_bit" in text, "paged" in text
    if re.search(r"galore|mini|4bit|1bit|onebit|zeroone|adopt|cpu_adam|lamb|apollo|fp8", text):
        return ""
    for word, name in (("adafactor", "Adafactor"), ("muon", "Muon"), ("lion", "Lion"), ("sgd", "SGD")):
        if word in text:
            return "" if eight else name
    return f"{'paged ' * paged}AdamW{' 8-bit' * eight}" if "adam" in text else ""


ATTENTION_KERNELS = {
    "fa2": "FA2", "flash": "FA2", "flash_attention_2": "FA2", "true": "FA2", "sdpa": "FA2", "xformers": "FA2",
    "fa3": "FA3", "flash_attention_3": "FA3", "flash_attention_4": "FA4", "fused": "cuDNN", "cudnn_flash_te": "cuDNN",
    "attnbackend.flash": "FA2", "attnbackend.fused": "cuDNN", "attnbackend.unfused": "unfused",
    "attnbackend.local": "unfused", "eager": "unfused", "unfused": "unfused", "local": "unfused", "disabled": "unfused",
    "dot_product": "unfused",
}  # fmt: skip
NUMBER_FORMATS = {
    "fp32": "FP32", "float32": "FP32", "torch.float32": "FP32", "bf16": "BF16", "bfloat16": "BF16", "fp16": "BF16",
    "torch.bfloat16": "BF16", "float16": "BF16", "torch.float16": "BF16", "fp8": "8-bit", "uint8": "8-bit",
}  # fmt: skip
_YES_OR_NO = {"true": "yes", "1": "yes", "false": "no", "0": "no"}
_WORDS: Mapping[str, Callable[[str], str]] = {
    "optimizer": _optimizer,
    "attention": lambda text: ATTENTION_KERNELS.get(text, ""),
    "gradients": lambda text: NUMBER_FORMATS.get(text, ""),
    "moments": lambda text: NUMBER_FORMATS.get(text, ""),
    "compiled": lambda text: _YES_OR_NO.get(text, ""),
    "adapter_rank": lambda text: text if text.isascii() and text.isdigit() else "",
}


@dataclass(slots=True)
class ConfigurationReading:
    """What was taken from a configuration so far; the reader of its program adds to it."""

    keys: ProgramKeys
    given: Mapping[str, object]
    fields: dict[str, Setting] = field(default_factory=dict)
    stack: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)  # keys whose values are not understood
    each: float = 0.0
    model: str = ""

    def text(self, *names: str) -> str:
        """The text under the first of *names* that has a value, in small letters; empty without."""
        values = (self.given.get(name) for name in names)
        return next((str(value).strip().lower() for value in values if value not in (None, "", "auto", "null")), "")

    def on(self, *names: str) -> bool:
        """Whether one of *names* is on."""
        return any(is_set(self.given.get(name)) and self.text(name) != "false" for name in names)

    def count(self, *names: str) -> int | None:
        """The whole number under the first of *names* that has one."""
        given = {name: plain_number(self.given.get(name)) for name in names}
        return count_in({name: value for name, value in given.items() if value not in ("auto", -1)}, *names)

    def take(self) -> None:
        """What the keys set by themselves: the first of several that set the same."""
        for path, effect in self.keys.used.items():
            kind, _, name = effect.partition(".")
            if effect == "-" or (text := self.text(path)) in ("", "none", "-1"):
                continue
            if kind == "stack":
                word = _WORDS[name](text.replace("-", "_"))
                if word:
                    self.stack.setdefault(name, word)
                else:
                    self.odd.append(path)
            elif (value := self.count(path)) is not None:
                into = self.numbers if effect in ("batch", "chunk", "gpus") else self.fields
                into.setdefault(effect, value)

    def offload(self, *, optimizer: bool, parameters: bool) -> None:
        """Note what waits in the memory of the host."""
        if optimizer or parameters:
            self.stack["offload"] = "both" if optimizer and parameters else "optimizer" if optimizer else "parameters"

    def in_bf16(self) -> None:
        """Note that weights are stored and updated in 16 bits."""
        self.stack |= {"weights": "BF16", "gradients": "BF16", "master": "none"}

    def in_fp32(self, why: str) -> None:
        """Note that it trains in FP32."""
        self.stack["recipe"] = "FP32"
        self.notes.append(f"{why} is enabled, so that it trains in FP32: the time is that of 16 bits")

    def finish(self) -> ConfiguredLayout:
        """What a layout is made from."""
        unknown = [*self.odd, *self.keys.unknown(self.given)]
        if unknown:
            more = f" and {len(unknown) - _MOST_KEYS} more" if len(unknown) > _MOST_KEYS else ""
            self.notes.append(f"not used: {', '.join(unknown[:_MOST_KEYS])}{more}")
        for name in ("tensor", "pipeline", "context", "expert", "micro_batch", "microbatches", "virtual"):
            if self.fields.get(name) == 0:
                del self.fields[name]
        return ConfiguredLayout(
            fields={**self.fields, "source": "; ".join([self.keys.program, *self.notes])},
            batch=self.numbers.get("batch", 0),
            layers_per_chunk=self.numbers.get("chunk", 0),
            gpus=self.numbers.get("gpus", 0),
            each=self.each,
            stack={"stack": self.keys.stack, **self.stack},
            model=self.model[:_LONGEST_NAME],
        )
