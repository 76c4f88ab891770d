"""The memory of one rank, allocation by allocation, as an oracle of stage_memory.

It shares no code with the formulas: layers are dealt out by hand, micro-batches in flight are those
of a played schedule, and every tensor is an entry of its own.
"""

from app.core.formulas.checks import AttentionKernels
from app.core.formulas.presets import Layout, ModelShape, Recipe
from app.core.simulators.pipeline import Times, build, simulate_schedule

Tensors = dict[str, float]  # bytes by name


def dealt(layers: int, layout: Layout) -> list[list[int]]:
    """The layers of every stage, by number; stages that are shorter by one are at both ends."""
    free = layout.pipeline - (layout.first_layers > 0) - (layout.last_layers > 0)
    left = layers - layout.first_layers - layout.last_layers
    sizes = [left // free] * free if free else []
    longer = left % free if free else 0
    for place in range(longer):
        sizes[(free - longer) // 2 + place] += 1
    ends = ([layout.first_layers], [layout.last_layers])
    sizes = [n for n in ends[0] if n] + sizes + [n for n in ends[1] if n]
    numbers = iter(range(layers))
    return [[next(numbers) for _ in range(size)] for size in sizes]


def rows_of_vocabulary(shape: ModelShape, layout: Layout) -> int:
    rows = shape.vocabulary + 1
    while rows % (128 * layout.tensor):
        rows += 1
    return rows // layout.tensor


class Peak:
    """One rank of a stage, with an equal part of everything that parallelism divides."""

    def __init__(
        self, shape: ModelShape, layout: Layout, stage: int, recipe: Recipe, kernels: AttentionKernels = "fused"
    ) -> None:
        self.shape, self.layout, self.recipe, self.kernels = shape, layout, recipe, kernels
        self.layers = dealt(shape.layers, layout)[stage]
        self.first, self.last = stage == 0, stage == layout.pipeline - 1
        self.modules = range(shape.multi_token if self.last else 0)  # that predict further tokens
        self.layers = [*self.layers, *(shape.layers + module for module in self.modules)]
        self.t, self.et = layout.tensor, layout.expert_tensor or layout.tensor
        self.tokens = layout.micro_batch * layout.sequence // layout.context
        self.own = self.tokens // self.t if layout.sequence_parallel else self.tokens
        self.vocabulary = rows_of_vocabulary(shape, layout)
        name = "interleaved" if layout.virtual > 1 else "1f1b"
        played = simulate_schedule(build(name, layout.pipeline, layout.microbatches, layout.virtual), Times(1, 1, 1))
        self.in_flight = played.in_flight[stage]

    def mixed(self, layer: int) -> bool:
        return self.shape.experts > 0 and layer >= self.shape.dense_layers

    def matrices(self, layer: int) -> list[tuple[str, int, int]]:
        """The matrices of a layer that are not experts, as they lie on this rank."""
        s, t = self.shape, self.t
        found = [
            ("qkv", (s.heads + 2 * s.key_value_heads) * s.head_size // t, s.hidden),
            ("projection", s.hidden, s.heads * s.head_size // t),
        ]
        inner = s.shared * s.expert_feed_forward if self.mixed(layer) else s.feed_forward
        return found + self.two("feed-forward", inner // t)

    def two(self, name: str, inner: int) -> list[tuple[str, int, int]]:
        up = inner * (2 if self.shape.gated else 1)
        return [(f"{name} up", up, self.shape.hidden), (f"{name} down", self.shape.hidden, inner)]

    def parameters(self) -> tuple[float, float]:
        s = self.shape
        dense: float = 0
        experts: float = 0
        for layer in self.layers:
            dense += sum(high * wide for _, high, wide in self.matrices(layer)) + 2 * s.hidden
            if self.mixed(layer):
                dense += s.hidden * s.experts
                one = sum(high * wide for _, high, wide in self.two("", s.expert_feed_forward))
                experts += s.experts // self.layout.expert * one / self.et
        if self.first:
            dense += self.vocabulary * s.hidden
        if self.last:
            dense += s.hidden + self.vocabulary * s.hidden
        for _ in self.modules:
            dense += 2 * s.hidden * s.hidden // self.t + s.hidden + s.hidden + s.hidden
        if self.modules and not self.first:
            dense += self.vocabulary * s.hidden  # what the modules embed the next tokens with
        return dense, experts

    def held(self, from_stage: int) -> float:
        """Parameters of which this rank holds one kind of state, sharded from a ZeRO stage on."""
        dense, experts = self.parameters()
        if self.layout.zero_stage < from_stage:
            return dense + experts
        same = self.layout.data * self.layout.context
        same_experts = same * self.t // (self.layout.expert * self.et)
        return dense / same + experts / same_experts

    def stored(self, layer: int) -> Tensors:
        """What a layer stores of one micro-batch."""
        s, size, n = self.shape, self.recipe.element_bytes, self.tokens
        head, t = s.head_size, self.t
        kept: Tensors = {
            "input": size * self.own * s.hidden,
            "normed": size * self.own * s.hidden,
            "second input": size * self.own * s.hidden,
            "second normed": size * self.own * s.hidden,
            "q": size * n * s.heads * head / t,
            "k": size * n * s.key_value_heads * head / t,
            "v": size * n * s.key_value_heads * head / t,
            "attended": size * n * s.heads * head / t,
            "log-sum-exp": 4 * n * s.heads / t,
            "norms": 2 * 4 * n,
        }
        if self.layout.context > 1 and self.layout.context_by == "all-to-all":
            kept["before the exchange"] = kept["attended"]
        if self.layout.recompute == "none" and self.kernels == "unfused":
            scores = s.heads / t * n * self.layout.sequence / self.layout.context
            kept |= {"softmax": size * scores, "dropped": size * scores}
        names = ("gate", "up", "product") if s.gated else ("up", "bent")
        if not self.mixed(layer):
            return kept | dict.fromkeys(names, size * n * s.feed_forward / t)
        rows = n // t * s.active_experts * self.et  # gathered by those that share an expert
        inner = s.expert_feed_forward
        kept |= {f"expert {name}": size * rows * inner / self.et for name in names}
        kept |= {f"shared {name}": size * n * s.shared * inner / t for name in names}
        return kept | {"routed": size * rows * s.hidden}

    def of_operations(self, layer: int) -> float:
        """What a layer stores if only its input, attention and every second product stay."""
        s, n, t = self.shape, self.tokens, self.t
        inner = s.shared * s.expert_feed_forward if self.mixed(layer) else s.feed_forward
        products = [s.heads * s.head_size / t, *[s.key_value_heads * s.head_size / t] * 2, s.hidden]
        products += [inner / t] * (2 if s.gated else 1) + [s.hidden] if inner else []
        kept = n * sum(width for place, width in enumerate(products) if place % 2 == 0)
        kept += n * s.heads * s.head_size / t + self.own * s.hidden
        if t > 1 and self.layout.sequence_parallel:
            kept += n * s.hidden / t + n * s.hidden / t  # of two reduce-scatters
        return self.recipe.element_bytes * kept + 4 * n * s.heads / t

    def of_microbatch(self, layer: int) -> float:
        if self.layout.recompute == "operations":
            return self.of_operations(layer)
        if self.layout.recompute == "full":
            return self.recipe.element_bytes * self.own * self.shape.hidden
        return sum(self.stored(layer).values())

    def of_modules(self) -> float:
        """What modules keep beside their layers."""
        kept = ["hidden", "embedded", "normed hidden", "normed embedded"]
        if self.layout.recompute == "full":  # of a module, whose layer's input is made again
            kept = ["embedded"]
        row = self.recipe.element_bytes * self.own * self.shape.hidden
        return len(self.modules) * len(kept) * row

    def backward_of_layer(self, layer: int) -> float:
        s, size = self.shape, self.recipe.element_bytes
        again: float = 0
        if self.layout.recompute in ("full", "operations"):
            again = sum(self.stored(layer).values())
        if self.layout.recompute == "operations":
            again -= self.of_operations(layer)
        if self.mixed(layer):
            rows = self.tokens // self.t * s.active_experts * self.et
            inner = (3 if s.gated else 2) * s.expert_feed_forward // self.et
            return again + size * rows * (2 * s.hidden + inner)
        up = (2 if s.gated else 1) * s.feed_forward // self.t
        return again + size * (self.own * s.hidden + self.tokens * up)

    def backward_of_head(self) -> tuple[float, float]:
        """The logits, and what is beside them."""
        if not self.last:
            return 0, 0
        s, size = self.shape, self.recipe.element_bytes
        gathers = self.layout.sequence_parallel and self.t > 1
        beside = {
            "gradient of the weight": size * self.vocabulary * s.hidden,
            "gathered input": size * self.tokens * s.hidden * gathers,
            "its gradient": size * self.tokens * s.hidden * gathers,
            "norm in": size * self.own * s.hidden,
            "norm out": size * self.own * s.hidden,
            "gradient of the norm": size * self.own * s.hidden,
        }
        logits = self.recipe.logit_bytes * self.tokens * self.vocabulary
        return logits * (1 + len(self.modules)), sum(beside.values())

    def largest_layer(self) -> float:
        sizes = []
        for layer in self.layers:
            own = sum(high * wide for _, high, wide in self.matrices(layer)) + 2 * self.shape.hidden
            if self.mixed(layer):
                own += self.shape.hidden * self.shape.experts
                each = self.two("", self.shape.expert_feed_forward // self.et)
                count = self.shape.experts // self.layout.expert
                own += count * sum(high * wide for _, high, wide in each)
            sizes.append(own)
        return max(sizes, default=0)

    def parts(self) -> tuple[float, ...]:
        recipe, zero = self.recipe, self.layout.zero_stage
        logits, beside = self.backward_of_head()
        layer = max((self.backward_of_layer(layer) for layer in self.layers), default=0)
        if layer > logits + beside:
            logits, beside = 0, layer
        if zero == 3:
            beside += self.largest_layer() * 2 * recipe.element_bytes
        if zero >= 2:
            beside += self.largest_layer() * recipe.reduced_bytes
        shapes = {one[1:] for layer in self.layers for one in self.matrices(layer)}
        if any(map(self.mixed, self.layers)):
            shapes |= {one[1:] for one in self.two("", self.shape.expert_feed_forward // self.et)}
        shapes |= {(self.shape.hidden // self.t, 2 * self.shape.hidden) for _ in self.modules}
        return (
            self.held(3) * recipe.weight_bytes,
            self.held(2) * recipe.gradient_bytes,
            self.held(1) * recipe.optimizer_bytes,
            self.in_flight * (sum(map(self.of_microbatch, self.layers)) + self.of_modules()),
            logits,
            beside,
            (32 + 16) * 1024 * 1024 + recipe.element_bytes * sum(h * w for h, w in shapes),
        )
