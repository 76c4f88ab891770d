"""What follows from an out-of-memory error: where the memory is, which tensor it may have been, what to change."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from app.core.formulas.presets import GPUS, Cluster, Gpu, Layout, ModelShape
from app.core.formulas.transformer import model_parameters
from app.core.measurements import tensor_sizes
from app.core.measurements.reports import MemoryShortage
from app.core.measurements.tensor_sizes import MemoryCure, RequestRange, TensorCandidate, TensorContext, TensorRole
from app.core.translation import say
from app.core.units import BYTE, Bytes, show, show_size

_MOST = 5  # candidates that are told
_MOST_NAMES = 4  # models of a candidate
_LITTLE = 0.02  # of a GPU: less that is reserved and not used does not matter
_GIBI, _GIGA = 1 << 30, 1e9
_USABLE = (0.9, 1.01)  # GiB that are reported of a GB on the label
_ALIKE = 0.02
_STATE_BYTES = 16  # of a parameter: Adam in mixed precision


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortageExplanation:
    """What is said of an error: *account* says where the memory is, *gpus* which ones have that much."""

    headline: str
    says: str
    account: tuple[tuple[str, Bytes], ...]
    candidates: tuple[TensorCandidate, ...]
    cures: tuple[MemoryCure, ...]
    notes: tuple[str, ...]
    gpus: tuple[Gpu, ...]
    model: ModelShape | None
    layout: Layout | None


def explain_shortage(found: MemoryShortage, given: Mapping[str, str]) -> ShortageExplanation:
    """What follows from *found* for the model, cluster and layout in *given*, else for what the text says.

    Raises:
        ValueError: a record cannot be read.
        ArithmeticError: a number in it is too large.
    """
    named = given.get("model", "").strip() or found.model
    model = ModelShape.read(named) if named else None
    cluster = Cluster.read(given["cluster"]) if given.get("cluster", "").strip() else None
    text, layout = given.get("layout", "").strip(), None
    if text:
        layout = Layout.on(text, cluster.gpus, model.layers if model else 0) if cluster else Layout.read(text)
    context = _context(found, cluster, layout, text)
    candidates = _candidates(found, model, context)
    return ShortageExplanation(
        headline=_headline(found),
        says=_verdict(found, model, candidates),
        account=tuple(_account(found)),
        candidates=candidates[:_MOST],
        cures=tuple(_cures(found, candidates)),
        notes=tuple(_notes(found, model, context, candidates)),
        gpus=(cluster.gpu,) if cluster else _gpus_with(found),
        model=model,
        layout=layout,
    )


def _context(found: MemoryShortage, cluster: Cluster | None, layout: Layout | None, text: str) -> TensorContext:
    """What is known of the run; the length of sequences only if *text* says it."""
    ranks = cluster.gpus if cluster else found.ranks
    role = TensorRole(found.role) if found.role in {one.value for one in TensorRole} else None
    if layout is None:
        return TensorContext(ranks=ranks, role=role)
    told = "seq" in text
    return TensorContext(
        tokens=layout.micro_batch * layout.sequence // layout.context if told else 0,
        sequence=layout.sequence if told else 0,
        tensor=layout.tensor,
        ranks=layout.data if layout.data > 1 else max(ranks // layout.tensor, 1),
        role=role,
    )


def _asked(found: MemoryShortage) -> RequestRange:
    rounded = found.program == "PyTorch"
    return RequestRange.of(found.asked or 0.0, found.half_digit, rounded=rounded)


def _is_of_one_tensor(found: MemoryShortage) -> bool:
    """Whether the size is that of one tensor: not of a small block, a whole program or a budget."""
    if not found.asked or found.program in {"XLA", "vLLM"}:
        return False
    return not (found.program == "PyTorch" and found.asked in {tensor_sizes.SMALL_BLOCK, tensor_sizes.LARGE_BLOCK})


def _candidates(found: MemoryShortage, model: ModelShape | None, context: TensorContext) -> tuple[TensorCandidate, ...]:
    if found.tokens and found.asked:
        return tensor_sizes.cache_candidates(
            _asked(found), found.tokens, (model,) if model else tensor_sizes.every_model(), context.tensor
        )
    if not _is_of_one_tensor(found):
        return ()
    if model is None:
        return tensor_sizes.known_candidates(_asked(found), context)
    same = tensor_sizes.tensor_candidates(_asked(found), model, context)
    if context.tokens and not any(one.role is TensorRole.LOGITS for one in same):  # a micro-batch may have more
        open_ones = tensor_sizes.tensor_candidates(_asked(found), model, replace(context, tokens=0, sequence=0))
        same += tuple(one for one in open_ones if one.tokens)
    return same


def _headline(found: MemoryShortage) -> str:
    if found.tokens:
        return _cache_headline(found)
    if found.asked is None:
        return say("No memory was left for what {program} asked for.", program=found.program)
    values = {"program": found.program, "asked": show_size(found.asked, 4), "total": show_size(found.total or 0, 4)}
    if found.program == "XLA":
        return say("The compiled program takes {asked} of {total}.", **values)
    if found.free is None:
        return say("{program} asked for {asked}.", **values)
    lacking = show_size(max(found.asked - found.free, 0), 4)
    values["free"] = show_size(found.free, 4)
    if found.asked > found.free:
        return say("{program} asked for {asked}, and {free} was free: {lacking} too little.", **values, lacking=lacking)
    return say("{program} asked for {asked}; {free} was free, but not in one piece, or not for this process.", **values)


def _cache_headline(found: MemoryShortage) -> str:
    values = {"tokens": found.tokens or 0, "room": found.room_tokens or 0}
    if found.asked is not None and found.free is not None:
        sizes = {"asked": show_size(found.asked, 4), "free": show_size(found.free, 4)}
        return say("The cache of one request of {tokens:,} tokens takes {asked}; there is room for {free}.",
                   **values, **sizes)  # fmt: skip
    return say("One request may have {tokens:,} tokens, and the cache has room for {room:,}.", **values)


def _verdict(found: MemoryShortage, model: ModelShape | None, candidates: tuple[TensorCandidate, ...]) -> str:
    """What the size says of the tensor, and how sure that is."""
    if not (_is_of_one_tensor(found) or (found.tokens and found.asked)):
        return _no_tensor(found)
    name = model.name if model else say("any known model")
    if not candidates:
        nothing = say("No tensor of {name} that is looked for has this size.", name=name)
        return f"{nothing} {_left_open(found, model)}".rstrip()
    first = candidates[0]
    of = "" if model else say(" of {models}", models=names_of(first))
    best = say("{tensor}{of}: {arithmetic}, {match}", tensor=first.name, of=of, arithmetic=first.arithmetic,
               match=first.match)  # fmt: skip
    if len(candidates) == 1 and model:
        return say("One tensor agrees: {best}.", best=best)
    if model:
        return say("{count} tensors agree. The best: {best}.", count=len(candidates), best=best)
    if len(candidates) == 1:
        return say("The model is not named; one tensor of a known one agrees, which may be chance: {best}.", best=best)
    return say(
        "The model is not named; {count} tensors of known ones agree, some by chance. The best: {best}.",
        count=len(candidates),
        best=best,
    )


def names_of(one: TensorCandidate) -> str:
    """The models that have it, the first few by name."""
    more = len(one.models) - _MOST_NAMES
    names = ", ".join(one.models[:_MOST_NAMES])
    return say("{names} and {more} more", names=names, more=more) if more > 0 else names


def _no_tensor(found: MemoryShortage) -> str:
    if found.program == "XLA":
        return say("That is everything that the program holds at its peak, and not one tensor.")
    if found.program == "PyTorch" and found.asked == tensor_sizes.LARGE_BLOCK:
        return say("PyTorch asks for 20 MiB whenever it needs between 1 and 10 MiB: the GPU was full before.")
    if found.program == "PyTorch" and found.asked == tensor_sizes.SMALL_BLOCK:
        return say("PyTorch asks for 2 MiB whenever it needs up to 1 MiB: the GPU was full before.")
    return ""


def _left_open(found: MemoryShortage, model: ModelShape | None) -> str:
    """How many tokens it would take; any size has such a number, so this says nothing by itself."""
    if model is None:
        return say("Name the model and the layout to compare with its tensors.")
    (bits, few), (other, fewer) = tensor_sizes.open_tokens(_asked(found), model)
    return say(
        "If it is logits, the micro-batch has about {few:,.0f} tokens in {bits}, or {fewer:,.0f} in {other}: compare"
        " with yours.",
        few=few, bits=say(bits), fewer=fewer, other=say(other),
    )  # fmt: skip


def _account(found: MemoryShortage) -> Iterator[tuple[str, Bytes]]:
    """Where the memory of the GPU is."""
    if found.total:
        yield say("In all"), found.total
    if found.allocated is not None:
        yield say("Allocated to tensors"), found.allocated
    if found.unallocated is not None:
        yield say("Reserved by PyTorch, without a tensor"), found.unallocated
    if found.process is not None and found.allocated is not None:
        rest = found.process - found.allocated - (found.unallocated or 0)
        yield say("CUDA, NCCL and libraries of this process"), max(rest, 0.0)
    elif found.process is not None:
        yield say("This process"), found.process
    if found.others:
        yield say("Other processes"), sum(found.others)
    if found.free is not None:
        yield say("Free"), found.free


def _cures(found: MemoryShortage, candidates: tuple[TensorCandidate, ...]) -> Iterator[MemoryCure]:
    """What to change: for the best tensor of each role, and for the rest of the GPU."""
    roles: set[TensorRole] = set()
    for one in candidates[:_MOST]:
        if one.role not in roles:
            roles.add(one.role)
            yield from tensor_sizes.cures_of(one)
    if found.unallocated and found.unallocated > _LITTLE * (found.total or 0):
        says = _about_fragments(found, found.unallocated)
        yield MemoryCure(says, found.unallocated, say("what is reserved without a tensor"))
    if found.others:
        yield MemoryCure(
            say("the other processes on this GPU: end them, or use another GPU (CUDA_VISIBLE_DEVICES)"),
            sum(found.others),
            say("other processes"),
        )
    if found.tokens and found.room_tokens and found.asked and found.free is not None:
        yield MemoryCure(
            say("at most {room:,} tokens: --max-model-len {length}", room=found.room_tokens, length=found.room_tokens),
            max(found.asked - found.free, 0.0),
            say("keys and values"),
        )


def _about_fragments(found: MemoryShortage, unallocated: Bytes) -> str:
    says = say("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, against fragmentation")
    if found.asked is None or found.free is None:
        return says
    enough = found.free + unallocated >= found.asked
    after = say("with what is free, enough for this request") if enough else say("with what is free, not enough")
    return say("{change}: {after}", change=says, after=after)


def _notes(
    found: MemoryShortage, model: ModelShape | None, context: TensorContext, candidates: tuple[TensorCandidate, ...]
) -> Iterator[str]:
    asked = _asked(found)
    if _is_of_one_tensor(found) and found.program == "PyTorch" and asked.high - asked.low > _SEEN * asked.high:
        yield say(
            "PyTorch rounds up to 2 MiB: sizes from {low} to {high} are printed like this.",
            low=show_size(asked.low, 4), high=show_size(asked.high, 4),
        )  # fmt: skip
    if found.asked and found.total and found.asked > found.total and found.program != "XLA":
        yield say("The request alone is more than the GPU has: no setting of the allocator helps.")
    if found.unallocated is not None and found.total and found.unallocated <= _LITTLE * found.total:
        yield say(
            "It is not fragmentation: only {size} is reserved without a tensor.", size=show_size(found.unallocated, 4)
        )
    if found.program == "JAX":
        yield say(
            "JAX asks for all temporary arrays of a program at once, so this may be a sum; and it takes 75 % of the"
            " GPU at its start (XLA_PYTHON_CLIENT_MEM_FRACTION)."
        )
    if model and not found.tokens and not any(one.role is TensorRole.CACHE for one in candidates):
        yield _about_states(found, model, context)


_SEEN = 0.005  # of a size: a range that is wider is worth a sentence


def _about_states(found: MemoryShortage, model: ModelShape, context: TensorContext) -> str:
    """What training all of the model takes before there is any activation."""
    count = model_parameters(model)
    values = {"name": model.name, "every": show(_STATE_BYTES * count, BYTE, 3)}
    states = say(
        "To train all of {name} with Adam in mixed precision takes {every} of weights, gradients and optimizer states"
        " (16 bytes a parameter)", **values,
    )  # fmt: skip
    ranks = context.ranks * context.tensor
    size = _STATE_BYTES * count / ranks
    if ranks > 1:
        states = say("{states}, or {part} on each of {ranks:,} GPUs that share it", states=states,
                     part=show(size, BYTE, 3), ranks=ranks)  # fmt: skip
    if found.total and size > found.total:
        return say("{states}: more than the GPU has.", states=states)
    return f"{states}."


def _gpus_with(found: MemoryShortage) -> tuple[Gpu, ...]:
    """The GPUs that report as much memory as the message says, which is a little less than the label."""
    if not found.total or found.program not in {"PyTorch", "XLA", "vLLM"}:
        return ()
    gibi = found.total / _GIBI
    low, high = _USABLE
    shares = [(gibi / (one.memory / _GIGA), one) for one in {id(gpu): gpu for gpu in GPUS.values()}.values()]
    near = [(share, one) for share, one in shares if low <= share <= high and _is_of(one, found.program)]
    best = max((share for share, _ in near), default=0.0)
    return tuple(one for share, one in near if share >= best - _ALIKE)


def _is_of(gpu: Gpu, program: str) -> bool:
    """Whether *program* runs on it: XLA names its memory as on a TPU, and PyTorch as on a GPU."""
    return gpu.name.startswith("TPU") == (program == "XLA") and not gpu.name.startswith(("Trainium", "Gaudi"))
