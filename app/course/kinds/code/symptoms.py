"""What a drawn bug does, in words."""

from app.core.translation import translate
from app.core.units import figures
from app.course.kinds.code.mutation import SAYS, Effect


def symptom_text(says: str) -> str:
    """*says*, with the sentence on a kind of bug that it may begin with in the current language.

    What follows it is the author's.
    """
    known = next((one for one in SAYS.values() if says.startswith(one)), "")
    return translate(known) + says[len(known) :] if known else says


def symptom_of(effect: Effect) -> str:
    """The result in words, compared with the right one."""
    if effect.raises:
        article = "an" if effect.raises[0] in "AEIOUae" else "a"
        return f"raises {article} {effect.raises}{'' if effect.always else ' for some arguments'}"
    if effect.ratio is None:
        return f"comes out too {effect.lean}" if effect.lean else "comes out wrong"
    if effect.ratio == 0:
        return "comes out as 0"
    if effect.ratio < 0:
        much = "" if effect.ratio == -1 else f" and at {figures(-effect.ratio)} of the right size"
        return f"comes out with the wrong sign{much}"
    if effect.ratio > 1:
        return f"comes out {figures(effect.ratio)} times too large"
    return f"comes out at {figures(effect.ratio)} of the right value"
