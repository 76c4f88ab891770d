"""Labs in the current language: the words of `lab.yaml` are sentences of the catalog."""

from app.core.translation import SOURCE, language, translate
from app.labs.parameters import Parameter
from app.labs.spec import Lab, Measured

_WORDS = ("title", "summary", "question")


def translate_lab(lab: Lab) -> Lab:
    """*lab* with its words in the current language."""
    if language() == SOURCE:
        return lab
    given: dict[str, object] = {name: _said(getattr(lab, name)) for name in _WORDS}
    given["parameters"] = {name: _parameter(one) for name, one in lab.parameters.items()}
    given["measures"] = {name: _measured(one) for name, one in lab.measures.items()}
    given["gpu"] = translate_lab(lab.gpu) if lab.gpu else None
    return lab.model_copy(update=given)


def lab_sentences(lab: Lab) -> set[str]:
    """What is translated: the sentences of *lab* and of its form for GPUs."""
    found = {lab.processors_only, *(str(getattr(lab, name)) for name in _WORDS)}
    found |= {one.says for one in lab.parameters.values()}
    found |= {one.says for one in lab.measures.values()}
    found |= {name for one in lab.measures.values() for name in one.derived}
    if lab.gpu:
        found |= lab_sentences(lab.gpu)
    return {word.strip() for word in found if word.strip()}


def _said(text: str) -> str:
    return translate(text.strip()) if text.strip() else text


def _parameter(one: Parameter) -> Parameter:
    return one.model_copy(update={"says": _said(one.says)})


def _measured(one: Measured) -> Measured:
    return one.model_copy(update={"says": _said(one.says)})
