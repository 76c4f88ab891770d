"""Proof of chapters and their order: what texts link to, what builds on what, faults of prose, and claims."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from app.authoring.proofs import Places, prove_addresses
from app.authoring.texts import Script, distinct, drawn_values
from app.core.errors import nearest
from app.core.expressions import BLANK, ExpressionError, blank_slots, holds, parts
from app.core.formulas import FORMULAS
from app.course.content.catalog import Catalog, Topic
from app.course.content.outline import CourseFile
from app.course.content.topic_file import ReadingQuestion, TopicFile, opening_parts
from app.course.kinds import Exercise, Finding, Where
from app.course.kinds.answer_key import telling_figures
from app.course.kinds.base import DOTTED
from app.course.kinds.drawn_values import Draw, corners
from app.site.markdown import MathematicsError, check_mathematics


def prove_reading_questions(topic: TopicFile) -> Iterator[Finding]:
    """Everything wrong with the answers of the questions in the opening of *topic*."""
    read = ""
    for part in opening_parts(topic.opening):
        read += part.text
        if part.question is not None:
            where: Where = ("questions", part.question)
            yield from _prove(where, topic.questions[part.question], read)


def _prove(where: Where, asked: ReadingQuestion, read: str) -> Iterator[Finding]:
    """What is wrong with *asked*, which stands below the text that was *read*."""
    try:
        key = asked.key()
        for expression, says in key.clashes():
            yield Finding((*where, "mistakes", expression), says)
    except ExpressionError as error:
        yield Finding((*where, "answer"), str(error))
        return
    for figure in sorted(telling_figures([key])):
        if figure in f"{read} {asked.prompt}":
            says = f"the answer, {figure}, stands above the question"
            yield Finding((*where, "prompt"), says, "ask about other numbers")


_USUAL = "\n\t"
_HIDDEN = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u3164\ufeff\uffa0"
_FENCED = re.compile(r"^[ \t]*+(?P<fence>```|~~~)[^\n]*+\n(?:[^\n]*+\n)*?[ \t]*+(?P=fence)[ \t]*+$", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`[^`\n]+`(?!`)|\$[^$]+\$")
_RULE = re.compile(r"^(?=.*[^\W_]).*\|\s*:?-{2,}:?\s*\|", re.MULTILINE)
_FOLDED = {
    "a code block": re.compile(r"```|~~~"),
    "a table": _RULE,
    "a list": re.compile(r"(?:^|: )(?:- [^\n]+? - \S|\* [^\n]+? \* \S|1[.)] [^\n]+ 2[.)] \S)", re.MULTILINE),
    "a drawing": re.compile(
        r"^(?>[^\n]*?([-#=._|*░▒▓█─])\1{2})(?>[^\n]*?[ |])[^\n]*?([-#=._|*░▒▓█─])\2{2}", re.MULTILINE
    ),
}
_KEEP = "begin the text with `|` instead of `>`, which keeps its lines"
_FENCE = "put it in a ``` block, in a text that begins with `|`"
_BRACE = "a drawn value is {size}, and {{size}} only inside $...$; a brace for students is \\{"
_QUOTED = re.compile(r"[“„«](?P<inside>[^“”„«»]*)[”“»]", re.DOTALL)
_QUOTES = 'delete them, or write straight ones: "..."'
_DOLLAR = re.compile(r"(?<!\\)\$(?!\d)|(?<!\\)\$\d[\d.,]*\s*[(\\^_{*]")  # $5 is a price, $2 (n - 1) is not
_MARKDOWN = "write **bold**, *slanted* or `code`"
_TAG = re.compile(r"</?[a-z][a-z0-9]*(?:\s[^<>]*)?/?>", re.IGNORECASE)
_PRICE = "mathematics is between two $ signs; a price is written \\$5"
_OTHER = r"(?:exercise|question|problem|task)"
_LEANS = re.compile(
    r"\A\W*(?:and|but|then|again|so|also|once more|the same|likewise)\b"
    rf"|\b(?:previous|preceding|last|earlier) {_OTHER}\b|\b{_OTHER}\s+(?:before|above)\b"
    r"|\bas (?:before|above)\b|\bthe one before\b",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:first|second|third|last|other|default) (?:variants?|numbers|drawings?|cases?|draws?)\b"
    r"|\bthe first (?:two|three|four) are\b|\bvariant \d",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:(?:paper|page|report|card|tutorial|blog|post|article|survey|data ?sheet|documentation)\b"
    r"[^.{}]{0,40}\b(?:says?|writes?|reports?|counts?|gives?|claims?|finds|looks|states)|reports)\b"
    r"(?P<said>.*?)(?:[.;?](?=\s)|\Z)",
    re.DOTALL,
)


def prove_characters(values: object, where: Where = ()) -> Iterator[Finding]:
    """Control characters, and invisible or direction-changing ones, anywhere in *values*."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from prove_characters(str(key), (*where, key))
            yield from prove_characters(value, (*where, key))
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from prove_characters(value, (*where, index))
    elif isinstance(values, str):
        for character in sorted(set(values) - set(_USUAL)):
            if character not in _HIDDEN and unicodedata.category(character) not in ("Cc", "Cf", "Co", "Cn"):
                continue
            name = unicodedata.name(character, "a control character")
            says = f"contains U+{ord(character):04X} ({name.lower()}), which is invisible"
            yield Finding(where, says, "delete it; retype the word if you cannot find it")


def prove_shape(where: Where, text: str) -> Iterator[Finding]:
    """The structure that the *text* at *where* loses on its way to the page."""
    bare = _SPAN.sub(BLANK, _FENCED.sub("", text))
    rows = "\n".join(line for line in bare.split("\n") if _RULE.search(line) or not line.strip().startswith("|"))
    if what := next((what for what, pattern in _FOLDED.items() if pattern.search(rows)), ""):
        yield Finding(where, f"folds {what} into one line", _FENCE if "draw" in what else _KEEP)
    if quoted := _QUOTED.fullmatch(text.strip()):
        yield Finding(where, f"shows the quotation marks around it: {quoted[0][:20]!r}", _QUOTES)
    if _DOLLAR.search(blank_slots(text)):
        yield Finding(where, "has a $ that is not closed", _PRICE)
    if tag := _TAG.search(bare):
        yield Finding(where, f"has {tag[0][:40]}, and HTML is not used here", _MARKDOWN)
    if stray := re.search(r".{0,20}[{}].{0,20}", re.sub(r"\\[{}]", "", blank_slots(text))):
        yield Finding(where, f"shows a brace to students: {stray[0].strip()!r}", _BRACE)


def prove_phrases(script: Script) -> Iterator[Finding]:
    """Sentences that depend on another exercise, mention other drawings, or invent a claim."""
    for where, text in script.questions:
        if where == ("prompt",) and (found := _LEANS.search(text)):
            says = f"depends on another exercise: {found[0].strip()!r}"
            yield Finding(where, says, "say all that is needed: exercises return in any order")
    for where, text in script.texts:
        if found := _OTHERS.search(text):
            says = f"mentions other drawings, which a student does not see: {found[0]!r}"
            yield Finding(where, says, "give each row of `cases` its own text, or remove it")
        for claim in _CLAIM.finditer(text):
            if drawn := script.mentioned(claim["said"]) & script.varying:
                says = f"makes a source state {sorted(drawn)[0]}, which is drawn"
                cure = "tie the sentence to the row it is true of: its own text in `cases`"
                yield Finding(where, says, cure)


def prove_chapter(topic: TopicFile, own: str, places: Places) -> Iterator[Finding]:
    """Everything wrong with the texts, the facts and the place of the chapter called *own*."""
    yield from _prove_facts(topic, places)
    yield from _prove_place(topic, own, places)
    yield from prove_text(("opening",), topic.opening, places)
    yield from prove_text(("closing",), topic.closing, places)
    for index, asked in enumerate(topic.questions):
        where: Where = ("questions", index)
        yield from prove_text((*where, "prompt"), asked.prompt, places)
        yield from prove_text((*where, "says"), asked.says, places)
    yield from prove_reading_questions(topic)


def prove_text(where: Where, text: str, places: Places) -> Iterator[Finding]:
    """Everything wrong with a Markdown *text* that no drawing fills."""
    try:
        check_mathematics(text)
    except MathematicsError as error:
        yield Finding(where, str(error))
    yield from prove_shape(where, text)
    yield from prove_addresses(where, text, places)


def _prove_facts(topic: TopicFile, places: Places) -> Iterator[Finding]:
    """Facts whose formula or page does not exist."""
    for index, fact in enumerate(topic.facts):
        where: Where = ("facts", index)
        if fact.formula and fact.formula not in FORMULAS:
            says = f"no formula is called {fact.formula!r}{nearest(fact.formula, FORMULAS)}"
            yield Finding(where, says)
        if fact.see:
            yield from prove_addresses(where, f"[page]({fact.see})", places)


def _prove_place(topic: TopicFile, own: str, places: Places) -> Iterator[Finding]:
    """Needs without a chapter, and a placement question without an exercise in this one."""
    others = sorted(places.chapters - {own})
    for index, name in enumerate(topic.needs):
        if name not in others:
            says = f"no other chapter is called {name!r}{nearest(name, others)}"
            yield Finding(("needs", index), says)
    if topic.placement and f"{own}/{topic.placement}" not in places.exercises:
        mine = [one.partition("/")[2] for one in places.exercises if one.startswith(f"{own}/")]
        says = f"no exercise of it is called {topic.placement!r}{nearest(topic.placement, mine)}"
        yield Finding(("placement",), says, "write the name of its file without .yaml")


_PATIENCE = 10  # seeds per drawing so far that draw nothing new, before these are all
_LEAST, _MOST = 200, 4000  # seeds
_SIZES = "small|large|long|short|fast|slow|high|low|cheap|dear"
_COMPARING = re.compile(
    r"(?<!\bat )\b(?:more|less|fewer|most|mostly|least|only|never|always|hardly|barely|scarcely|"
    r"far|nearly|almost|several|half|third|quarter|twice|double|flat|no|none|neither|above|below|beyond|"
    r"larger|largest|(?:small|long|short|fast|slow|high|low|cheap|dear)(?:er|est)|better|best|"
    r"worse|worst|exceeds?|exceeding|dominates?|outweighs?|dwarfs?|swamps?|wins?|loses?|beats?|fits?|"
    r"little(?!'s law)|few|tiny|huge|tight|plenty|enough|suffices?|sufficient|negligible|trivial|"
    r"(?<!how )(?<!as )(?<!so )much|mainly|largely|merely|slight(?:ly)?|"
    r"significant(?:ly)?(?! (?:bits?|digits?))|substantial(?:ly)?|considerabl[ey]|practically|virtually|"
    r"extremely|very|quite|vastly|comfortably|rarely|seldom|roughly|approximately|easy|easily|close(?:ly)?|"
    r"(?<!\bat the )same(?! (?:node|direction|way|group)\b)|equal(?:ly)?|unequal|equivalent|alike|"
    r"similar(?:ly)?|comparable|identical|(?:about|just|nearly|roughly) as|"
    r"as (?!soon|long|far|well|it|they|the|if|in|many|much|a)\w+ as(?! if)|"
    rf"too (?:{_SIZES}|late|early|much|many|few|little)|"
    rf"(?:is|are|so|becomes?|stays?|remains?|gets?) (?:{_SIZES}|expensive|rare|big|wide|free))\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n")
_LONGEST = 100  # characters of a sentence that a note quotes
_MASK = "…"  # in place of words that a claim is about
_PROVE = "say it under claims or in {when …}…{end}; under fixed if it holds whatever is drawn"


class ClaimScript(Script):
    """The texts of an exercise with every drawing, rather than those of a few seeds."""

    @cached_property
    def drawings(self) -> Sequence[Draw]:
        """Every distinct drawing, with the answers among their names."""
        seeds = distinct(self.exercise, self._seeds())
        return [self.exercise.solved(self.exercise.draw(seed)) for seed in seeds]

    def _seeds(self) -> Iterator[int]:
        """Seeds, until many more than there are drawings have drawn nothing new."""
        yield from corners(self.exercise.chapter_parameters)
        seen, last = set[tuple[str, ...]](), 0
        for seed in range(_MOST):
            values = tuple(self.exercise.draw(seed).shown.values())
            if values not in seen:
                seen.add(values)
                last = seed
            elif seed > last + max(_LEAST, _PATIENCE * len(seen)):
                return
            yield seed


def prove_claims(exercise: Exercise) -> Iterator[Finding]:
    """Claims that some drawing refutes or no text makes, and pieces that no drawing shows."""
    script = ClaimScript(exercise)
    texts = [text for _, text in script.texts]
    for condition, phrases in exercise.claims.items():
        where: Where = ("claims", condition)
        for phrase in phrases:
            if not any(_pattern(phrase).search(text) for text in texts):
                says = f"is about words that no text says: {phrase!r}"
                yield Finding(where, says, "quote a text as it is written, slots and all")
        if says := _refuted(script, condition):
            yield Finding(where, says, "correct the sentence, or tie it to {when …}…{end}")
    for where, text in script.texts:
        yield from (Finding(where, says, cure) for says, cure in _trouble_of_branches(script, text))


def unproven(exercise: Exercise) -> Iterator[tuple[Where, str]]:
    """Each comparison after the answer that a drawing might refute, and that nothing proves."""
    script = Script(exercise)
    claimed = [one for phrases in exercise.claims.values() for one in phrases]
    proven = [_pattern(phrase) for phrase in (*claimed, *exercise.fixed)]
    questions = set(script.questions)
    for where, text in script.texts:
        if (where, text) in questions or not script.mentioned(text) & script.varying:
            continue
        bare = "".join(part if isinstance(part, str) else _MASK for part in parts(text))
        for pattern in proven:
            bare = pattern.sub(_MASK, bare)
        for sentence in _SENTENCE.split(blank_slots(bare)):
            if found := _COMPARING.search(sentence):
                shown = " ".join(sentence.split())[:_LONGEST]
                yield where, f"nothing proves {found[0]!r} in {shown!r}; {_PROVE}"


def _refuted(script: ClaimScript, condition: str) -> str:
    """The first drawing in which *condition* does not hold, in words; empty if there is none."""
    try:
        refuting = next((one for one in script.drawings if not holds(condition, one.names)), None)
    except ExpressionError as error:
        return str(error)
    return f"does not hold at seed {refuting.seed}{drawn_values(refuting)}" if refuting else ""


def _trouble_of_branches(script: ClaimScript, text: str) -> Iterator[tuple[str, str]]:
    """Pieces of *text* that are shown in every drawing or in none, and broken groups."""
    try:
        groups = [part for part in parts(text) if not isinstance(part, str)]
        for group in groups:
            shown = {
                next((one for one in group if not one.condition or holds(one.condition, drawn.names)), None)
                for drawn in script.drawings
            }
            for branch in group:
                condition = branch.condition or "otherwise"
                if branch not in shown:
                    yield f"no drawing shows the piece for {condition!r}", "remove the piece"
                elif len(shown) == 1:
                    yield f"every drawing shows the piece for {condition!r}", "remove its tags"
    except ExpressionError as error:
        yield str(error), ""


def _pattern(phrase: str) -> re.Pattern[str]:
    """The words of *phrase* on one line or several."""
    return re.compile(r"\s+".join(map(re.escape, phrase.split())))


def prove_course(file: CourseFile, catalog: Catalog) -> Iterator[Finding]:
    """Everything wrong with the outline in *file*, by which *catalog* was read.

    Each exercise comes after the chapters that it builds on and not before the one that has its formulas among the
    facts, each formula among the facts of a chapter is asked somewhere on a path or in a text, and all of it takes as
    long as *file* says.
    """
    listed = {chapter: part for part, one in file.parts.items() for chapter in one.chapters}
    asked = {name for topic in catalog.topics for one in topic.path for name in asked_formulas(one)}
    asked |= {name for topic in catalog.topics for one in topic.questions for name in DOTTED.findall(one.answer)}
    taught: dict[str, Topic] = {}
    for topic in sorted(map(catalog.topic, listed), key=lambda one: one.position):
        for fact in topic.facts:
            taught.setdefault(fact.formula, topic)
            if fact.formula and fact.formula not in asked:
                says = f"its fact {fact.name!r} is {fact.formula}, which no exercise on a path asks for"
                where: Where = ("parts", listed[topic.id], "chapters", topic.id)
                yield Finding(where, says, "add an exercise that does, or remove the fact")
    for chapter, part in listed.items():
        for index, exercise in enumerate(catalog.topic(chapter).path):
            for says in _needed_later(catalog, exercise, catalog.topic(chapter), taught):
                yield Finding(("parts", part, "chapters", chapter, index), says, "move one of them")
    minutes = sum(catalog.topic(chapter).minutes for chapter in listed)
    if file.minutes and not file.minutes[0] <= minutes <= file.minutes[1]:
        least, most = file.minutes
        says = f"reading and paths take {minutes} minutes, not {least} to {most}"
        yield Finding(("minutes",), says, "take exercises off, or add some")


_TOLD = {"prompt", "says", "hints", "solution", "insight", "claims", "fixed", "figure", "figures", "sources"}
_NOT_ASKED = _TOLD | {"wrong", "mistakes"}  # fields of an exercise


def asked_formulas(exercise: Exercise) -> frozenset[str]:
    """The formulas that a right answer is worked out with; of a program, those that its solution names."""
    found = set(DOTTED.findall(" ".join(_asked_texts(exercise.model_dump()))))
    if exercise.runs_code:
        found |= set(DOTTED.findall(exercise.solution))
    return frozenset(found & FORMULAS.keys())


def _asked_texts(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            if name not in _NOT_ASKED:
                yield from _asked_texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _asked_texts(part)
    elif isinstance(value, str):
        yield value


def _needed_later(catalog: Catalog, exercise: Exercise, topic: Topic, taught: Mapping[str, Topic]) -> Iterator[str]:
    """What *exercise*, on the path of *topic*, builds on or asks for, and what comes later."""
    home = exercise.id.partition("/")[0]
    files = dict(pair for one in catalog.topics for pair in one.files)
    for name in dict.fromkeys((home, *topic.needs, *(files[home].needs if home in files else ()))):
        if catalog.topic(name).position > topic.position:
            yield f"{exercise.id} builds on the chapter {catalog.topic(name).id!r}, which comes later"
    for name in sorted(asked_formulas(exercise) & taught.keys()):
        if taught[name].position > topic.position:
            yield f"{exercise.id} asks for {name}, a fact of the chapter {taught[name].id!r}, which comes later"
