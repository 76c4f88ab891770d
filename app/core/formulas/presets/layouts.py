"""Layouts of runs over their GPUs, what kernels and links reach, and published scaling laws."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, Self

from app.core.formulas.checks import ZeroStage, at_least, fraction, too_large
from app.core.formulas.configurations import is_configuration, layout_fields
from app.core.formulas.parallelism import Degrees, expert_split, refuse_degrees
from app.core.formulas.records import Record, hints_of
from app.core.translation import noted, value_error
from app.core.units import Bytes, Count, Ratio

_MODEL = {
    "layers": "num_hidden_layers num_layers n_layer n_layers num_decoder_layers decoder_layers",
    "hidden": "hidden_size n_embd d_model dim model_dim emb_dim embedding_size",
    "heads": "num_attention_heads n_head n_heads num_heads",
    "key_value_heads": "num_key_value_heads n_kv_heads num_query_groups num_kv_heads multi_query_group_num",
    "head_size": "head_dim kv_channels attention_head_size v_head_dim qk_nope_head_dim",
    "feed_forward": "intermediate_size ffn_hidden_size n_inner ffn_dim d_ff hidden_dim mlp_dim",
    "vocabulary": "vocab_size padded_vocab_size n_vocab",
    "gated": "swiglu gated_linear_unit",
    "tied": "tie_word_embeddings",
    "biases": "attention_bias add_bias_linear add_qkv_bias",
    "norm": "normalization",
    "query_key_norm": "qk_layernorm use_qk_norm qk_norm",
    "positions": "max_position_embeddings n_positions n_ctx",
    "experts": "num_experts num_local_experts n_routed_experts moe_num_experts",
    "active_experts": "num_experts_per_tok moe_router_topk top_k moe_topk num_experts_per_token",
    "expert_feed_forward": "moe_intermediate_size moe_ffn_hidden_size expert_dim",
    "shared": "n_shared_experts num_shared_experts shared_experts",
    "dense_layers": "first_k_dense_replace num_dense_layers",
    "latent": "kv_lora_rank",
    "query_latent": "q_lora_rank",
    "rope": "qk_rope_head_dim qk_pos_emb_head_dim",
    "multi_token": "num_nextn_predict_layers mtp_num_layers",
}
_LAYOUT = {
    "tensor": "tp tensor_parallel tensor_parallel_degree tensor_model_parallel_size tensor_parallel_size",
    "pipeline": "pp pipeline_parallel pipeline_parallel_degree pipeline_model_parallel_size pipeline_parallel_size",
    "context": "cp context_parallel context_parallel_degree context_parallel_size",
    "expert": "ep expert_parallel expert_parallel_degree expert_model_parallel_size expert_parallel_size",
    "expert_tensor": "etp expert_tensor_parallel_size expert_tensor_parallel_degree",
    "data": "dp data_parallel data_parallel_size data_parallel_degree data_parallel_shard_degree",
    "virtual": "vpp virtual_pipeline_model_parallel_size interleaved_stages num_model_chunks",
    "microbatches": "gradient_accumulation_steps accumulation_steps grad_accum num_microbatches",
    "micro_batch": "micro_batch_size mbs per_device_train_batch_size train_micro_batch_size_per_gpu local_batch_size",
    "sequence": "seq_len seq_length sequence_length max_seq_len context_length block_size",
    "zero_stage": "zero stage zero_optimization",
    "recompute": "activation_checkpointing recompute_granularity activation_checkpoint gradient_checkpointing",
    "sequence_parallel": "sp",
    "first_layers": "decoder_first_pipeline_num_layers",
    "last_layers": "decoder_last_pipeline_num_layers",
}


def _by_their_name(ours: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType({name: own for own, names in ours.items() for name in names.split()})


MODEL_FIELDS = _by_their_name(_MODEL)
LAYOUT_FIELDS = _by_their_name(_LAYOUT)


Precision = Literal["16-bit", "8-bit", "4-bit"]
ContextBy = Literal["all-to-all", "all-gather"]
Again = Literal["none", "selective", "operations", "full"]


@dataclass(frozen=True, kw_only=True)
class Layout(Record):
    """The degree of each kind of parallelism, and the batch of a step.

    The product of *tensor*, *pipeline*, *context* and *data* is the number of GPUs: experts are spread over the ranks
    of a stage, each split over *expert_tensor* ranks. A step has *microbatches* micro-batches of *micro_batch*
    sequences on each data parallel rank. *first_layers* and *last_layers* are those of the first and the last stage.
    ZeRO shards over *shard_ranks* of the ranks that hold the same weights; fewer than all is hybrid sharding. 0 means
    as in *expert_split*, as even as possible, and all. *precision* is that of the operands of matrix products;
    *context_by* says how context parallelism brings queries and keys together. What is computed again for the backward
    pass is attention scores if *recompute* is selective, and all of a layer if it is full. Fused attention, such as
    FlashAttention, computes its scores again in any case and stores none, so that none is the same as selective. With
    operations, results of attention and of every second product of a layer are kept, and the rest is computed again, as
    torchtitan does by default.
    """

    what: ClassVar[str] = noted("layout")
    elsewhere: ClassVar[Mapping[str, str]] = LAYOUT_FIELDS

    name: str = "as given"
    tensor: Count = 1
    pipeline: Count = 1
    context: Count = 1
    expert: Count = 1
    expert_tensor: Count = 0
    data: Count = 1
    virtual: Count = 1
    microbatches: Count = 1
    micro_batch: Count = 1
    sequence: Count = 8192
    zero_stage: ZeroStage = 1
    shard_ranks: Count = 0
    recompute: Again = "selective"
    sequence_parallel: bool = True
    first_layers: Count = 0
    last_layers: Count = 0
    precision: Precision = "16-bit"
    context_by: ContextBy = "all-to-all"
    source: str = "as given"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_degrees(self.degrees())

    @classmethod
    def read(cls, text: str) -> Self:
        """The layout written as *text*: a name, or fields.

        Raises:
            ValueError: a name or a field is unknown, or a value is not valid.
        """
        if is_configuration(text):
            raise value_error(
                "a configuration does not say how many GPUs there are: give it where the"
                " cluster is known, or write data=…"
            )
        return super().read(text)

    @classmethod
    def on(cls, given: str | Mapping[str, object], gpus: int, layers: int = 0) -> Self:
        """The layout that *given* says, which may be a configuration, on *gpus* GPUs.

        A configuration leaves to data parallelism what its degrees do not divide; the *layers* of
        the model say how many chunks an interleaved pipeline has.

        Raises:
            ValueError: a name or a field is unknown, or a value is not valid.
        """
        if isinstance(given, str) and not is_configuration(given):
            return cls.read(given)
        own = {name: given[name] for name in hints_of(cls) if name in given} if isinstance(given, Mapping) else {}
        found = layout_fields({k: v for k, v in given.items() if k not in own} if isinstance(given, Mapping) else given)
        if found is not None:
            return cls.of({**found.on(gpus, layers), **own})
        return cls.of(given if isinstance(given, Mapping) else {})

    @property
    def gpus(self) -> int:
        """GPUs of the whole run."""
        return self.tensor * self.pipeline * self.context * self.data

    @property
    def shards(self) -> int:
        """Ranks that hold the same weights, over which ZeRO shards unless sharding is hybrid."""
        return self.context * self.data

    @property
    def expert_split(self) -> int:
        """Ranks that share an expert.

        Where it is not given: *tensor* ranks, or one if the experts must be spread over the tensor
        parallel ranks to have enough of them.
        """
        return expert_split(self.expert_tensor, self.tensor, self.shards, self.expert)

    def degrees(self, fused: bool = True) -> Degrees:
        """The layout as numbers, of which step times and memory are computed.

        *fused* attention computes its scores again without being told to, as selective recomputation does.
        """
        selective = self.recompute == "selective" or (fused and self.recompute == "none")
        return Degrees(
            tensor=self.tensor,
            pipeline=self.pipeline,
            context=self.context,
            expert=self.expert,
            data=self.data,
            virtual=self.virtual,
            microbatches=self.microbatches,
            micro_batch=self.micro_batch,
            sequence=self.sequence,
            zero_stage=self.zero_stage,
            full=int(self.recompute == "full"),
            selective=int(selective),
            sequence_parallel=int(self.sequence_parallel),
            expert_tensor=self.expert_split,
            sharded=self.shard_ranks or self.shards,
            first=self.first_layers,
            last=self.last_layers,
            exchanged=int(self.context_by == "all-to-all"),
            operations=int(self.recompute == "operations"),
        )

    @property
    def tokens(self) -> int:
        """Tokens of one step."""
        return self.data * self.microbatches * self.micro_batch * self.sequence


@dataclass(frozen=True, kw_only=True)
class Recipe(Record):
    """Bytes of a weight, of its gradient, of its optimizer state, and of an activation.

    *reduced_bytes* are those of a gradient while ranks sum it. *logit_bytes* are those of a logit
    with its gradient: 2 where a fused cross-entropy writes the gradient over 16-bit logits, 12
    where PyTorch's has FP32 logarithms of the softmax, their gradient and that of the logits.
    """

    what: ClassVar[str] = noted("recipe")
    least: ClassVar[Mapping[str, float]] = {"gradient_bytes": 0, "optimizer_bytes": 0}

    name: str = "as given"
    weight_bytes: Bytes = 2.0
    gradient_bytes: Bytes = 2.0
    optimizer_bytes: Bytes = 12.0
    element_bytes: Bytes = 2.0
    reduced_bytes: Bytes = 2.0
    logit_bytes: Bytes = 2.0
    source: str = "as given"


_TABLE_4 = (
    "Grattafiori et al., The Llama 3 Herd of Models, arXiv:2407.21783, table 4; 8 chunks per device"
    " follow from section 3.3.2, where a chunk that loses one layer has only the embedding left"
)
_LAYOUTS = (
    Layout(name="Llama 3 405B on 8192 GPUs", tensor=8, pipeline=16, data=64, microbatches=32, virtual=8, zero_stage=2,
        context_by="all-gather", source=_TABLE_4),
    Layout(name="Llama 3 405B on 16384 GPUs", tensor=8, pipeline=16, data=128, microbatches=16, virtual=8, zero_stage=2,
        context_by="all-gather", source=_TABLE_4),
    Layout(name="Llama 3 405B, 128K tokens", tensor=8, pipeline=16, context=16, data=8, microbatches=16, virtual=8,
        sequence=131_072, zero_stage=2, context_by="all-gather", source=_TABLE_4),
    Layout(name="DeepSeek-V3 on 2048 GPUs", pipeline=16, expert=64, data=128, microbatches=120, sequence=4096,
        zero_stage=1, sequence_parallel=False, precision="8-bit",
        source="DeepSeek-V3 Technical Report, arXiv:2412.19437, sections 3.2 and 4.2, as 1F1B"),
)  # fmt: skip
LAYOUTS = Layout.publish({known.name: known for known in _LAYOUTS})

_RECIPES = (
    Recipe(name="Megatron", gradient_bytes=4.0,
        source="Megatron Core, package distrib_optimizer: 18 bytes per parameter, gradients summed in FP32 as in"
        " Grattafiori et al., arXiv:2407.21783, section 3.3.2; sent in 16 bits"),
    Recipe(name="mixed", source="Rajbhandari et al., ZeRO, arXiv:1910.02054, section 3.1: 16"),
    Recipe(name="FSDP2", weight_bytes=4.0, gradient_bytes=4.0, optimizer_bytes=8.0, reduced_bytes=4.0, logit_bytes=12.0,
        source="torchtitan, docs/fsdp.md: FP32 weights and Adam, BF16 gathered, FP32 reduced: 16"),
    Recipe(name="no master copy", optimizer_bytes=8.0, source="BF16 weights updated in place: 12"),
    Recipe(name="FP32", weight_bytes=4.0, gradient_bytes=4.0, optimizer_bytes=8.0, element_bytes=4.0, reduced_bytes=4.0,
        logit_bytes=12.0,
        source="Kingma and Ba, Adam, arXiv:1412.6980: 16"),
)  # fmt: skip
RECIPES = Recipe.publish({known.name: known for known in _RECIPES})


Kernels = Literal["as usual", "unfused", "fused"]


@dataclass(frozen=True, kw_only=True)
class Shares(Record):
    """What a run reaches, as far as it is known.

    0 leaves the share to the GPU or the link, and -1 to the schedule. *product*, *memory*, *intra* and *inter* are
    shares of the peak of products, of the memory's bandwidth, and of the links' bandwidth inside and between nodes.
    *grouped* is the rate of the products of experts over that of other products. *hidden_...* are the shares of a kind
    of communication that computation hides. *skew* is the time that is lost to slower GPUs, relative to the rest of the
    step. Unfused *kernels* write attention scores to memory; as usual means unfused for a model without a gate on a GPU
    (not a TPU) from before 2022, when FlashAttention was published, and fused otherwise.
    """

    what: ClassVar[str] = noted("set of shares")

    name: str = "as given"
    product: Ratio = 0.0
    memory: Ratio = 0.0
    intra: Ratio = 0.0
    inter: Ratio = 0.0
    grouped: Ratio = 0.0
    hidden_tensor: Ratio = -1.0
    hidden_context: Ratio = -1.0
    hidden_expert: Ratio = -1.0
    hidden_data: Ratio = -1.0
    skew: Ratio = 0.0
    kernels: Kernels = "as usual"
    source: str = "as given"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("product", "memory", "intra", "inter", "grouped"):
            _share(name, getattr(self, name))
        for name in ("hidden_tensor", "hidden_context", "hidden_expert", "hidden_data"):
            if getattr(self, name) != -1:
                _share(name, getattr(self, name))


def _share(name: str, value: float) -> None:
    if at_least(name, value, 0) > 1:
        raise too_large(name, value, 1)


_SHARES = (
    Shares(name="of the presets", source="each GPU and link has its own, with their sources"),
    Shares(name="nothing hidden", hidden_tensor=0.0, hidden_context=0.0, hidden_expert=0.0, hidden_data=0.0,
        source="a bound: all communication is exposed"),
)  # fmt: skip

SHARES = Shares.publish({known.name: known for known in _SHARES})
GIVEN = SHARES["of the presets"]


@dataclass(frozen=True, kw_only=True)
class ScalingLaw(Record):
    """The loss of a model by its parameters and its training tokens.

    *floor* is the loss that nothing gets below. What a model of finite size adds is *size_scale* over the parameters to
    the *size_exponent*; what finite data add is *data_scale* over the tokens to the *data_exponent*.
    """

    what: ClassVar[str] = noted("scaling law")
    least: ClassVar[Mapping[str, float]] = {"floor": 0}
    aliases: ClassVar[Mapping[str, str]] = MappingProxyType(
        dict.fromkeys(("Chinchilla", "Hoffmann"), "Hoffmann, as printed")
    )

    name: str = "as given"
    floor: Ratio
    size_scale: Ratio
    data_scale: Ratio
    size_exponent: Ratio
    data_exponent: Ratio
    source: str = "as given"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("size_exponent", "data_exponent"):
            fraction(name, getattr(self, name))


_LAWS = (
    ScalingLaw(name="Hoffmann, as printed", floor=1.69, size_scale=406.4, data_scale=410.7, size_exponent=0.34,
        data_exponent=0.28,
        source="Hoffmann et al., arXiv:2203.15556, appendix D.2: the exponents are rounded to two digits"),
    ScalingLaw(name="Besiroglu", floor=1.8172, size_scale=482.01, data_scale=2085.43, size_exponent=0.3478,
        data_exponent=0.3658,
        source="Besiroglu et al., arXiv:2404.10102: refitted to the points of Hoffmann's figure 4"),
)  # fmt: skip

LAWS = ScalingLaw.publish({known.name: known for known in _LAWS})
