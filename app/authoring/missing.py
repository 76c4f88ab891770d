"""Values without which the answer cannot be worked out."""

from collections.abc import Iterator

from app.authoring.texts import Script
from app.expressions import ExpressionError, names_in, parse
from app.formulas import FORMULAS
from app.kinds import Finding, Where
from app.kinds.choice import Choice
from app.kinds.numeric import Numeric


def prove_shown(script: Script) -> Iterator[Finding]:
    """Drawn values that the answer needs, and that no question shows."""
    exercise = script.exercise
    yield from _prove_implied(script)
    mentioned = set[str]().union(*(script.mentioned(text) for _, text in script.questions))
    if mentioned - {*script.names, *script.drawings[0].shown, *FORMULAS}:
        return  # a misspelt name may be the one that is missing; it is told elsewhere
    shown = mentioned | set(exercise.implied)
    for where, expression in _keys(script):
        for name in sorted(_needed(script, expression, shown)):
            shown.add(name)  # once is enough
            says = f"needs {name}, which is drawn, and the prompt never shows it"
            cure = f"write {{{name}}} in the prompt, or implied: [{name}] if the rest implies it"
            yield Finding(where, says, cure)


def _prove_implied(script: Script) -> Iterator[Finding]:
    for index, name in enumerate(script.exercise.implied):
        if name not in script.drawn:
            yield Finding(("implied", index), f"{name} is not drawn", "leave it out")


def _keys(script: Script) -> Iterator[tuple[Where, str]]:
    """The expressions that say what is right."""
    exercise = script.exercise
    for name, key in script.keys(script.drawings[0]).items():
        several = "answers" if isinstance(exercise, Numeric) else "predict"
        alone = isinstance(exercise, Numeric) and not exercise.answers
        yield ("answer",) if alone else (several, name, "answer"), key.asked.answer
    if isinstance(exercise, Choice):
        for name, option in exercise.options.items():
            if option.when:
                yield ("options", name, "when"), option.when


def _needed(script: Script, expression: str, shown: set[str]) -> set[str]:
    """The drawn names that *expression* needs and that are not *shown*, nor what comes of them."""
    missing, ahead, seen = set[str](), [expression], set[str]()
    while ahead:
        for name in _inputs(ahead.pop(), script) - shown - seen:
            seen.add(name)
            if name in script.exercise.let:
                ahead.append(str(script.exercise.let[name]))
            elif name in script.drawn:
                missing.add(name)
    return missing


def _inputs(expression: str, script: Script) -> set[str]:
    """The names that *expression* takes values from; a bare formula takes its arguments."""
    try:
        found = names_in(parse(expression, script.names))
    except ExpressionError:  # told elsewhere
        return set()
    for name in list(found):
        if name in FORMULAS and f"{name}(" not in expression.replace(" ", ""):
            found |= set(FORMULAS[name].inputs) & set(script.names)
    return found
