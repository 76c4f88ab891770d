"""A layout and what its step is spent on, in words."""

from app.core.charts.axes import percent_text
from app.core.formulas.presets import Layout
from app.core.searching import Ranked
from app.core.translation import translate


def limits_of(one: Ranked, between: str = ", ") -> str:
    """What the step is spent on: the largest part and the next."""
    some = list(one.limits.items())[:2]
    return between.join(f"{percent_text(round(share, 2))} {name}" for name, share in some)


def layout_name(layout: Layout) -> str:
    """The degrees of *layout* that are not 1, in words."""
    chunks = f" × {layout.virtual}" if layout.virtual > 1 else ""
    named = (
        ("tensor", layout.tensor, ""),
        ("pipeline", layout.pipeline, chunks),
        ("context", layout.context, ""),
        ("expert", layout.expert, ""),
        ("data", layout.data, ""),
        ("micro-batch", layout.micro_batch, ""),
    )
    degrees = [f"{name} {value}{more}" for name, value, more in named if value > 1]
    again = {
        "none": [translate("no recomputation")],
        "selective": [],
        "operations": [translate("recomputation of operations")],
        "full": [translate("full recomputation")],
    }
    parts = (*degrees, *again[layout.recompute], f"ZeRO {layout.zero_stage}")
    return ", ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)
