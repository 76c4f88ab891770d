"""A roof without numbers on its axes, the bits of a format, and experts as bins."""

from app.core.charts.color import Color, Tone
from app.core.charts.diagram import Arrow, Rect, Sheet, Words
from app.core.charts.paper import NARROW, Paper
from app.core.formulas.checks import positive, whole
from app.core.translation import plural, translate
from app.core.units import BYTE_PER_SECOND, FLOP_PER_SECOND, BytesPerSecond, Count, FlopsPerSecond, Ratio, show
from app.course.illustrations.base import Illustration, Sketch, box, key, sketch

_LEFT, _FOOT, _TOP = 24.0, 150.0, 40.0


def _roof(peak: FlopsPerSecond, bandwidth: BytesPerSecond) -> Sketch:
    flat = show(positive("peak", peak), FLOP_PER_SECOND)
    slope = show(positive("bandwidth", bandwidth), BYTE_PER_SECOND)

    def on(paper: Paper) -> Sheet:
        right = paper.width - 6.0
        ridge = round(_LEFT + (right - _LEFT) * 0.52, 2)
        lines = (
            (_LEFT, _FOOT, right, _FOOT, Color.GRAY),
            (_LEFT, _FOOT, _LEFT, 8.0, Color.GRAY),
            (_LEFT, _FOOT - 8, ridge, _TOP, Color.BLUE),
            (ridge, _TOP, right, _TOP, Color.BLUE),
        )
        arrows = [Arrow(*ends, color=color, head=False) for *ends, color in lines]
        arrows.append(Arrow(ridge, _TOP, ridge, _FOOT, color=Color.GRAY, head=False, dashed=True))
        words = (
            Words(_LEFT + 8, 18, "FLOP/s", quiet=True),
            Words(right, _FOOT + 18, translate("arithmetic intensity"), anchor="end", quiet=True),
            Words(right, _TOP - 10, translate("peak {flat}", flat=flat), anchor="end", strong=True),
            Words(ridge - 10, 122, slope, anchor="end", strong=True),
            Words(ridge, _FOOT + 18, "?", anchor="middle", strong=True),
        )
        return Sheet(height=_FOOT + 24, arrows=tuple(arrows), words=words)

    return sketch(
        translate("A roofline, not to scale"),
        translate("it rises with {slope} of memory up to {flat}", slope=slope, flat=flat),
        on,
    )


def _bits(exponent: Count, fraction: Count) -> Sketch:
    whole("exponent", exponent)
    whole("fraction", fraction, 0)
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


ROOF = Illustration("roof", "the roofline of a GPU, without numbers on its axes", _roof)
BITS = Illustration("bits", "the bits of a number format", _bits)
BINS = Illustration("bins", "experts, their fair share and their capacity", _bins)
