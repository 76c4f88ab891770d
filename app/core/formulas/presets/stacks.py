"""Programs that train, and what else of a run changes its time and memory: one vocabulary for all doors."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Literal, Self, get_args

from app.core.formulas.presets.gpus import Gpu
from app.core.formulas.presets.layouts import RECIPES, Layout, Recipe
from app.core.formulas.records import Record, hints_of
from app.core.translation import noted
from app.core.units import Bytes, Count, Ratio

Told = Literal["unknown", "yes", "no"]
AttentionBy = Literal["unknown", "FA2", "FA3", "FA4", "cuDNN", "unfused"]
LossBy = Literal["unknown", "eager", "compiled", "in place", "fused"]
OptimizerBy = Literal[
    "AdamW", "AdamW 8-bit", "paged AdamW", "paged AdamW 8-bit", "Adafactor", "Muon", "Lion", "SGD", "SGD momentum"
]
NumberWidth = Literal["unknown", "FP32", "BF16", "8-bit", "4-bit"]
MasterCopy = Literal["unknown", "FP32", "none"]
Adapter = Literal["none", "LoRA", "QLoRA"]
Offload = Literal["none", "optimizer", "parameters", "both"]
Host = Literal["CPU", "NVMe"]

# Bytes of a logit with its gradient: PyTorch's cross-entropy keeps 16-bit logits, their copy in FP32, the logarithms
# of the softmax, and the gradients of both; compiled, or without the logits, three of FP32; Megatron's writes the
# gradient over 16-bit logits; a fused or chunked one never has all of them.
LOGIT_BYTES: Mapping[LossBy, Bytes] = {"eager": 18.0, "compiled": 12.0, "in place": 2.0, "fused": 0.25}
# Numbers of an optimizer per parameter, beside a master copy.
_MOMENTS: Mapping[OptimizerBy, float] = {
    "AdamW": 2, "AdamW 8-bit": 2, "paged AdamW": 2, "paged AdamW 8-bit": 2, "Adafactor": 0.01, "Muon": 1, "Lion": 1,
    "SGD": 0, "SGD momentum": 1,
}  # fmt: skip
WIDTHS: Mapping[NumberWidth, Bytes] = {"FP32": 4.0, "BF16": 2.0, "8-bit": 1.0, "4-bit": 0.53}  # 4 bits: with scales


@dataclass(frozen=True, kw_only=True)
class Stack(Record):
    """The program that trains, and what it was told that changes time or memory; unknown: as the program does.

    *attention* is its kernel; *unfused* writes scores to memory. *loss* is eager cross-entropy, a compiled one, one
    that works in place as Megatron's, or one that is fused with the output head or chunked. *weights*, *gradients*
    and *moments* are the widths of what is stored, *master* a copy of the weights in FP32 beside those of 16 bits. An
    *adapter* of *adapter_rank* trains in place of the weights, which QLoRA holds in 4 bits. *offload* is what waits in
    the memory of the host, or on its NVMe. With *gradient_checkpointing*, layers are computed again, each
    *recompute_every*-th one.
    """

    what: ClassVar[str] = noted("stack")

    name: str = "unknown"
    recipe: str = "Megatron"
    compiled: Told = "unknown"
    attention: AttentionBy = "unknown"
    loss: LossBy = "unknown"
    optimizer: OptimizerBy = "AdamW"
    weights: NumberWidth = "unknown"
    gradients: NumberWidth = "unknown"
    moments: NumberWidth = "unknown"
    master: MasterCopy = "unknown"
    adapter: Adapter = "none"
    adapter_rank: Count = 16
    offload: Offload = "none"
    offload_to: Host = "CPU"
    gradient_checkpointing: Told = "unknown"
    recompute_every: Count = 1
    source: str = "as given"

    @property
    def is_pytorch(self) -> bool:
        """Whether its layers are written in plain PyTorch."""
        return self.name in ("FSDP2", "torchtitan", "DeepSpeed", "eager")

    def changed(self, given: Mapping[str, object]) -> Self:
        """This stack with the fields *given*.

        Raises:
            ValueError: a field is unknown, or a value is not valid.
        """
        return self._changed(self, given)

    @classmethod
    def _changed(cls, known: Self, given: Mapping[str, object]) -> Self:
        return super()._changed(known, {name: _called(name, value) for name, value in given.items()})


STACK_CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        name: get_args(hint)
        for name, hint in hints_of(Stack).items()
        if get_args(hint) and name not in ("adapter_rank", "recompute_every")
    }
)
# The keys of a line beside `stack` itself.
STACK_KEYS = (*(name for name in hints_of(Stack) if name not in ("name", "recipe", "source")),)
_SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "compiled": {"true": "yes", "false": "no"},
    "gradient_checkpointing": {"true": "yes", "false": "no", "full": "yes", "none": "no"},
    "attention": {
        "flash": "FA2", "flash_attention_2": "FA2", "flash_attn": "FA2", "sdpa": "FA2", "xformers": "FA2",
        "flash_attention_3": "FA3", "flash_attention_4": "FA4", "fused": "cuDNN", "eager": "unfused",
        "te": "cuDNN",  # codespell:ignore te
        "math": "unfused", "local": "unfused",
    },
    "loss": {"liger": "fused", "chunked": "fused", "cut": "fused", "linear": "fused", "megatron": "in place"},
    "optimizer": {
        "adam": "AdamW", "adamw_torch": "AdamW", "adamw_torch_fused": "AdamW", "fused_adam": "AdamW",
        "adamw_hf": "AdamW", "adamw_8bit": "AdamW 8-bit", "adam8bit": "AdamW 8-bit", "adamw8bit": "AdamW 8-bit",
        "adamw_bnb_8bit": "AdamW 8-bit", "paged_adamw": "paged AdamW", "paged_adamw_32bit": "paged AdamW",
        "paged_adamw_8bit": "paged AdamW 8-bit", "pagedadamw8bit": "paged AdamW 8-bit", "lion_32bit": "Lion",
        "sgd_momentum": "SGD momentum", "dist_muon": "Muon",
    },
    "adapter": {"lora": "LoRA", "qlora": "QLoRA", "full": "none"},
    "offload": {
        "cpu": "optimizer", "optim": "optimizer", "optimizer_and_parameters": "both", "all": "both",
        "param": "parameters", "params": "parameters",
    },
    **dict.fromkeys(
        ("weights", "gradients", "moments"),
        {"float32": "FP32", "bfloat16": "BF16", "fp16": "BF16", "fp8": "8-bit", "int8": "8-bit", "nf4": "4-bit",
         "fp4": "4-bit", "16-bit": "BF16", "32-bit": "FP32"},
    ),
    "master": {"no": "none", "false": "none", "yes": "FP32", "true": "FP32"},
}  # fmt: skip


def _called(name: str, value: object) -> object:
    """*value* of the field *name* by the name that it has here; other programs have others."""
    if not isinstance(value, str | bool):
        return value
    plain = str(value).strip().lower().replace(" ", "_").replace("-", "_")
    ours = {one.lower().replace(" ", "_").replace("-", "_"): one for one in STACK_CHOICES.get(name, ())}
    return ours.get(plain) or _SYNONYMS.get(name, {}).get(plain) or value


_STACKS = (
    Stack(source="the line names none: taken from the layout"),
    Stack(name="Megatron", compiled="yes", loss="in place",
        source="Megatron-LM, Megatron-Bridge, NeMo: fused kernels of Transformer Engine, or of Megatron itself"),
    Stack(name="FSDP2", recipe="FSDP2", source="PyTorch's fully sharded data parallelism"),
    Stack(name="torchtitan", recipe="FSDP2", loss="compiled",
        source="FSDP2 in torchtitan, which frees 16-bit logits before the backward pass"),
    Stack(name="DeepSpeed", recipe="mixed", compiled="no", loss="eager",
        source="DeepSpeed below a model in eager PyTorch, as Hugging Face's"),
    Stack(name="MaxText", recipe="FSDP2", compiled="yes", loss="in place",
        source="MaxText and other programs in JAX, which XLA compiles whole"),
    Stack(name="eager", recipe="FP32", compiled="no", loss="eager",
        source="PyTorch without a compiler and without sharding: DDP, nanoGPT, Hugging Face's Trainer"),
)  # fmt: skip
STACKS = Stack.publish({known.name: known for known in _STACKS})
Stack.aliases = MappingProxyType(
    {
        "Megatron-LM": "Megatron", "Megatron-Bridge": "Megatron", "Megatron Core": "Megatron", "NeMo": "Megatron",
        "FSDP": "FSDP2", "FSDP1": "FSDP2", "OLMo-core": "FSDP2", "prime-rl": "FSDP2",
        "llm-foundry": "FSDP2", "torchtune": "FSDP2", "ZeRO": "DeepSpeed", "JAX": "MaxText", "XLA": "MaxText",
        "DDP": "eager", "PyTorch": "eager", "nanoGPT": "eager", "Hugging Face": "eager", "HF": "eager", "TRL": "eager",
        "transformers": "eager", "not said": "unknown",
    }
)  # fmt: skip


def stack_recipe(stack: Stack, given: Recipe | None, adapted: Ratio = 1.0) -> Recipe:
    """The bytes of each kind of number with *stack*; *given* ones count before those of its program.

    *adapted* is the share of the parameters that an adapter adds, which alone are trained.
    """
    base = given or RECIPES[stack.recipe]
    weights = WIDTHS.get(stack.weights, base.weight_bytes)
    gradients = WIDTHS.get(stack.gradients, base.gradient_bytes)
    optimizer = _optimizer_bytes(stack, base, weights)
    if stack.adapter != "none":
        held = WIDTHS["4-bit"] if stack.adapter == "QLoRA" else WIDTHS.get(stack.weights, 2.0)
        weights, gradients, optimizer = held + adapted * weights, gradients * adapted, optimizer * adapted
    logits = base.logit_bytes if given is not None and given not in RECIPES.values() else 0.0
    loss = "eager" if stack.loss == "unknown" and stack.is_pytorch and stack.compiled != "yes" else stack.loss
    return replace(
        base,
        weight_bytes=weights,
        gradient_bytes=gradients,
        optimizer_bytes=optimizer,
        reduced_bytes=base.reduced_bytes * (adapted if stack.adapter != "none" else 1.0),
        logit_bytes=logits or LOGIT_BYTES.get(loss, base.logit_bytes),
    )


def _optimizer_bytes(stack: Stack, base: Recipe, weights: Bytes) -> Bytes:
    """Bytes of the optimizer's state: what the recipe has, but for what the stack says of it."""
    usual = base.optimizer_bytes - 8.0  # of AdamW: the master copy, where there is one
    master = {"FP32": 4.0 if weights < WIDTHS["FP32"] else 0.0, "none": 0.0}.get(stack.master, max(usual, 0.0))
    each = WIDTHS.get(stack.moments, 1.0 if "8-bit" in stack.optimizer else 4.0)
    if stack.optimizer == "AdamW" and stack.moments == "unknown":
        return master + min(base.optimizer_bytes, 8.0)
    return master + each * _MOMENTS[stack.optimizer]


_OF_RECIPE = {"FSDP2": "FSDP2", "Megatron": "Megatron", "mixed": "DeepSpeed"}
_SHARDED = 3  # ZeRO stage


def likely_stack(layout: Layout, gpu: Gpu, recipe: Recipe | None) -> Stack:
    """The stack that nobody named, from what the layout and the *recipe* can only, or mostly, be.

    Whether it was compiled, and which loss it has, stays unknown.
    """
    if recipe is not None and recipe.name in _OF_RECIPE:
        return STACKS[_OF_RECIPE[recipe.name]]
    few_bits = layout.precision != "16-bit"
    if layout.zero_stage == _SHARDED and layout.pipeline == layout.expert == 1:
        jax = few_bits or not (gpu.sms or gpu.tensor_cores)
        return STACKS["MaxText"] if jax else STACKS["FSDP2"]
    plain = layout.tensor == layout.pipeline == layout.context == layout.expert == 1
    return STACKS["Megatron"].changed({"compiled": "unknown"} if plain and not few_bits else {})
