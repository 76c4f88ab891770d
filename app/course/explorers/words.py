"""The words of numbers in explorers: how many of what, and how far one is from another."""

from app.core.charts.axes import percent_text
from app.core.translation import Numeral, noted, translate
from app.core.units import figures

_NOISE = 1e-9  # of a sum
COUNTED = (  # the nouns that are counted, one and many
    noted("GPU"), noted("GPUs"), noted("copy"), noted("copies"), noted("layer"), noted("layers"),
    noted("step"), noted("steps"), noted("clean step"), noted("clean steps"),
    noted("rank"), noted("ranks"), noted("data-parallel rank"), noted("data-parallel ranks"),
    noted("micro-batch"), noted("micro-batches"), noted("sequence"), noted("sequences"),
    noted("node"), noted("nodes"), noted("other group"), noted("other groups"),
    noted("pipeline stage"), noted("pipeline stages"), noted("pipeline chunk"),
    noted("pipeline chunks"),
)  # fmt: skip


def relative_text(value: float) -> str:
    """A part of what may be smaller than it: a percentage, and above 100 % a factor.

    >>> relative_text(0.25), relative_text(59.1)
    ('25 %', '59.1 times')
    """
    return percent_text(value) if value <= 1 else translate("{times} times", times=figures(value, 3))


def remainder(whole: float, part: float) -> float:
    """*whole* minus *part*; 0 if they differ only by rounding, as sums in different orders do."""
    rest = whole - part
    return rest if abs(rest) > _NOISE * abs(whole) else 0.0


def counted_noun(number: float, noun: str, plural: str = "") -> str:
    """*number* of a thing, in words that agree with it.

    >>> counted_noun(1, "GPU"), counted_noun(16384, "GPU"), counted_noun(0, "copy", "copies")
    ('1 GPU', '16,384 GPUs', '0 copies')
    """
    return f"{figures(number)} {translate(noun if number == 1 else plural or noun + 's')}"


def divisor(total: int, most: int) -> int:
    """The largest divisor of *total* that is at most *most*."""
    return next(part for part in range(min(most, total), 0, -1) if total % part == 0)


def change_words(now: float, before: float) -> str:
    """How far *now* is from *before*, in percent or, from twice on, as a factor.

    >>> change_words(110, 100), change_words(50, 100), change_words(300, 100), change_words(1, 1)
    ('+10 %', '−50 %', '× 3', 'the same')
    """
    ratio = now / before
    if ratio >= 2:  # noqa: PLR2004
        return Numeral(f"× {ratio:.3g}")
    percent = float(f"{100 * abs(ratio - 1):.2g}")
    if percent < 0.01:  # noqa: PLR2004
        return translate("the same")
    return Numeral(f"{'+' if ratio > 1 else '−'}{percent:g} %")


def figure_summary(says: str) -> str:
    """*says* without its emphasis (Markdown), as the summary of a figure."""
    return says.replace("*", "")
