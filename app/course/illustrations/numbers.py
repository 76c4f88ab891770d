"""Roofs, bits, bins, losses, plans and cables: figures of numbers alone."""

from app.core.charts.axes import NARROW, Arrow, Color, Paper, Rect, Sheet, Tone, Words
from app.core.formulas.checks import positive, whole
from app.core.translation import plural, translate
from app.core.units import Count, Ratio, figures
from app.course.illustrations.base import GAP, Illustration, Piece, Sketch, box, first_numbers, key, row, sketch


def _bits(exponent: Count, fraction: Count = 0) -> Sketch:
    parts = ((translate("sign"), 1, Tone.BUFFERS), (translate("exponent"), exponent, Tone.WEIGHTS))
    fields = (*parts, (translate("fraction"), fraction, Tone.GRADIENTS))

    def on(paper: Paper) -> Sheet:
        cell = min(30.0, paper.width / sum(count for _, count, _ in fields))
        rects: list[Rect] = []
        for _, count, tone in fields:
            rects += [box((len(rects) + bit) * cell, 0, cell - 2, 28, "", tone) for bit in range(count)]
        names = [
            (tone, plural("{name}: {number} bit", "{name}: {number} bits", count, name=name))
            for name, count, tone in fields
        ]
        samples, words, foot = key(names, 38, paper)
        return Sheet(height=foot, rects=(*rects, *samples), words=tuple(words))

    return sketch(
        translate("The bits of the format"),
        translate("1 sign, {exponent} exponent, {fraction} fraction", exponent=exponent, fraction=fraction),
        on,
    )


def _bins(experts: Count, factor: Ratio, popular: Ratio) -> Sketch:
    whole("experts", experts, 2)
    positive("factor", factor)
    positive("popular", popular)

    def on(paper: Paper) -> Sheet:
        many = min(experts, 8 if paper is NARROW else 16)
        right = paper.width - 78.0
        step, foot = right / many, 130.0
        unit = 100 / max(popular, factor)
        rects, words = [], []
        for at in range(many):
            load = popular if at == 1 else (many - popular) / (many - 1)
            kept, over = min(load, factor), max(0.0, load - factor)
            x = at * step
            rects.append(box(x, foot - kept * unit, step - 4, kept * unit, "", Tone.COMPUTE))
            if over:
                top = foot - load * unit
                rects.append(box(x, top, step - 4, over * unit, "", Tone.DROPPED))
        for level, says in ((factor, translate("capacity")), (1.0, translate("fair share"))):
            words.append(Words(right + 6, round(foot - level * unit + 4, 2), says))
        lines = tuple(
            Arrow(0, y, right, y, color=Color.GRAY, head=False, dashed=level == 1.0)
            for level in (factor, 1.0)
            for y in [round(foot - level * unit, 2)]
        )
        more = (
            translate("{many} of {experts:,} experts", many=many, experts=experts)
            if experts > many
            else translate("{experts:,} experts", experts=experts)
        )
        words.append(Words(0, foot + 18, more, quiet=True))
        return Sheet(height=foot + 24, rects=tuple(rects), arrows=lines, words=tuple(words))

    says = translate("the popular expert is above its capacity") if popular > factor else translate("all experts fit")
    return sketch(translate("Tokens that reach each expert"), says, on)


BITS = Illustration("bits", "the bits of a number format", _bits)
BINS = Illustration("bins", "experts, their fair share and their capacity", _bins)


_LAWS_LEFT, _LAWS_TOP, _LAWS_FOOT = 24.0, 30.0, 150.0
_PIECES = 24


def _isoflop(times: Ratio | None = None) -> Sketch:
    far = positive("times", times) if times else 0.0

    def on(paper: Paper) -> Sheet:
        right = paper.width - 6.0
        middle, half = (_LAWS_LEFT + right) / 2, (right - _LAWS_LEFT) * 0.42

        def place(at: float) -> tuple[float, float]:
            """A point of the curve; *at* is -1 at its left end and 1 at its right."""
            return round(middle + at * half, 2), round(_LAWS_FOOT - 34 - (_LAWS_FOOT - 34 - _LAWS_TOP) * at * at, 2)

        points = [place(2 * k / _PIECES - 1) for k in range(_PIECES + 1)]
        arrows = [
            Arrow(*start, *end, color=Color.BLUE, head=False) for start, end in zip(points, points[1:], strict=False)
        ]
        axes = ((_LAWS_LEFT, _LAWS_FOOT, right, _LAWS_FOOT), (_LAWS_LEFT, _LAWS_FOOT, _LAWS_LEFT, 8.0))
        arrows += [Arrow(*ends, color=Color.GRAY, head=False) for ends in axes]
        marks = [(0.0, translate("optimum"))]
        if far:
            marks.append((0.6 if far > 1 else -0.6, translate("{far} times as large", far=figures(far))))
        rects: list[Rect] = []
        words = [
            Words(_LAWS_LEFT + 8, 18, translate("loss"), quiet=True),
            Words(
                right, _LAWS_FOOT + 18, translate("parameters (fewer tokens to the right)"), anchor="end", quiet=True
            ),
        ]
        for at, says in marks:
            x, y = place(at)
            rects.append(box(x - 4, y - 4, 8, 8, "", Tone.OPTIMIZER))
            if at:  # inside the curve
                side, gap = ("end", -10) if at > 0 else ("start", 10)
                words.append(Words(x + gap, y - 4, says, anchor=side))
            else:
                words.append(Words(x, y + 22, says, anchor="middle", strong=True))
        return Sheet(height=_LAWS_FOOT + 24, rects=tuple(rects), arrows=tuple(arrows), words=tuple(words))

    says = translate("the loss of models of all sizes, with the same training computation")
    return sketch(translate("One budget, not to scale"), says, on)


ISOFLOP = Illustration("isoflop", "the loss of models of all sizes with one budget", _isoflop)


_ROW, _HIGH = 26, 96


def _rent(gpus: Count) -> Sketch:
    many = f"{gpus:,} {'GPU' if gpus == 1 else 'GPUs'}"

    def on(paper: Paper) -> Sheet:
        left, top = 24.0, 22.0
        foot, right = top + _HIGH, paper.width - 8.0
        end = left + (right - left) * 0.7
        return Sheet(
            height=foot + 24,
            rects=(box(left, top, end - left, _HIGH, "GPU-hours", Tone.COMPUTE),),
            arrows=(Arrow(left, foot, right, foot, color=Color.GRAY), Arrow(left, foot, left, 8.0, color=Color.GRAY)),
            words=(
                Words(left + 10, 14, many, quiet=True),
                Words(end, foot + 18, "the money is spent", anchor="end", quiet=True),
                Words(right, foot + 18, "time", anchor="end", quiet=True),
            ),
        )

    return sketch("What money buys, not to scale", f"{many} until the money is spent", on)


def _sharded_step() -> Sketch:
    names = (
        (Tone.COMPUTE, "computation"),
        (Tone.COMMUNICATION, "all-gather of weights"),
        (Tone.GRADIENTS, "reduce-scatter of gradients"),
    )

    def on(paper: Paper) -> Sheet:
        work = [Piece(1, "forward", Tone.COMPUTE), Piece(2, "backward", Tone.COMPUTE)]
        sent = [Piece(1, "", Tone.COMMUNICATION)] * 2 + [Piece(1, "", Tone.GRADIENTS)]
        rects = row(work, 0, paper.width, 20, _ROW)
        rects += row(sent, 0, paper.width, 72, _ROW)
        samples, words, foot = key(names, 72 + _ROW + 8, paper)
        says = (Words(0, 13, "GPU", quiet=True), Words(0, 65, "network", quiet=True))
        return Sheet(height=foot, rects=(*rects, *samples), words=(*says, *words))

    says = "weights are gathered for both passes, and gradients are reduced in the second"
    return sketch("A step of FSDP, not to scale", says, on)


RENT = Illustration("rent", "the GPU-hours that money buys: GPUs, and time", _rent)
SHARDED_STEP = Illustration("sharded-step", "computation and messages of a step with FSDP", _sharded_step)


_CABLES_TOP, _CABLES_FOOT, _CABLES_HIGH = 34.0, 132.0, 30.0  # pixels: the two switches, and their height
_MOST = 16


def _cables(flows: Count, links: Count) -> Sketch:
    return sketch(
        translate("{flows:,} flows and {links:,} cables", flows=flows, links=links),
        translate("the switch hashes each flow to one of the cables"),
        lambda paper: _between(flows, links, paper),
    )


def _between(flows: int, links: int, paper: Paper) -> Sheet:
    arrows: list[Arrow] = []
    words: list[Words] = []
    for many, top, foot, color in (
        (flows, 4.0, _CABLES_TOP, Color.BLUE),
        (links, _CABLES_TOP + _CABLES_HIGH, _CABLES_FOOT, Color.GRAY),
    ):
        shown = first_numbers(many, _MOST)
        step = paper.width / len(shown)
        for at, number in enumerate(shown):
            x = round((at + 0.5) * step, 2)
            if number is None:
                words.append(Words(x, (top + foot) / 2 + 4, GAP, anchor="middle"))
            else:
                arrows.append(Arrow(x, top, x, foot - 2, color=color, head=color is Color.BLUE))
    rects = [
        box(
            0,
            _CABLES_TOP,
            paper.width,
            _CABLES_HIGH,
            translate("leaf switch: {flows:,} flows", flows=flows),
            outlined=True,
        ),
        box(
            0,
            _CABLES_FOOT,
            paper.width,
            _CABLES_HIGH,
            translate("{links:,} cables to the next switch", links=links),
            outlined=True,
        ),
    ]
    return Sheet(height=_CABLES_FOOT + _CABLES_HIGH + 4, rects=tuple(rects), arrows=tuple(arrows), words=tuple(words))


CABLES = Illustration("cables", "flows at a switch, and the cables to the next one", _cables)
