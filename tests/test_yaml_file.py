"""Files are read as PyYAML reads them, line by line; what it allows beyond plain data is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from app.core.errors import ContentError
from app.core.folders import ROOT
from app.core.yaml_file import KeyPath, read_document

FILES = sorted((ROOT / "exercises").rglob("*.yaml"))[::5]
TEXT = """\
plain: a text   # with a comment
"quoted": "3"
3: [1, 2.5, true, ~, yes, 2026-11-23, '1', 1e-3, =]
more:
  - one: |
      two
      lines
    1: x
  -
    - last
"""
LINES: dict[KeyPath, int] = {
    (): 1,
    ("plain",): 1,
    ("quoted",): 2,
    (3,): 3,
    ("more",): 4,
    ("more", 0): 5,
    ("more", 0, "one"): 5,
    ("more", 0, 1): 8,
    ("more", 1): 10,
    ("more", 1, 0): 10,
}


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "file.yaml"
    file.write_text(text, encoding="utf-8")
    return file


class WithWords(yaml.SafeLoader):
    """PyYAML as YAML 1.2 has it: yes, no, on and off are words."""


WithWords.yaml_implicit_resolvers = {
    first: [one for one in found if first in "tTfF" or not one[0].endswith(":bool")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def test_the_files_of_the_course_read_as_pyyaml_reads_them() -> None:
    for file in FILES:
        values = yaml.load(file.read_text("utf-8"), Loader=WithWords)
        assert read_document(file).values == values, file.name


def test_words_and_dates_stay_text(tmp_path: Path) -> None:
    values = read_document(written(tmp_path, TEXT)).values
    assert values == {
        "plain": "a text",
        "quoted": "3",
        3: [1, 2.5, True, None, "yes", "2026-11-23", "1", "1e-3", "="],
        "more": [{"one": "two\nlines\n", 1: "x"}, ["last"]],
    }


def test_every_value_has_its_line(tmp_path: Path) -> None:
    document = read_document(written(tmp_path, TEXT))
    assert {where: document.lines[where] for where in LINES} == LINES
    assert set(document.lines) == {*LINES, *((3, index) for index in range(9))}
    assert document.line(("more", 1, 0, "deeper")) == 10


def test_lines_are_those_of_the_nodes_of_pyyaml() -> None:
    for file in FILES:
        root = yaml.compose(file.read_text("utf-8"), Loader=yaml.SafeLoader)
        assert read_document(file).lines == dict(_lines(root, (), 0)), file.name


def _lines(node: yaml.Node | None, where: KeyPath, line: int) -> Iterator[tuple[KeyPath, int]]:
    assert node is not None
    yield where, line or node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            yield from _lines(child, (*where, index), 0)
    if isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            name = int(key.value) if key.tag.endswith(":int") else key.value
            yield from _lines(child, (*where, name), key.start_mark.line + 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\nb: {{x}}\n", "2: is not valid YAML: a key that is a list or a mapping; put text"),
        ("a: 1\n? [b]\n: c\n", "2: is not valid YAML: a key that is a list or a mapping"),
        ("a: 1\n---\nb: 2\n", "2: is not valid YAML: a second document begins here; remove the"),
        ("a: &x 1\n*x : 2\n", "2: *x: anchors and aliases are not supported"),
        ("a: &x 1\nb: [*x]\n", "2: *x: anchors and aliases are not supported"),
        ("a: 1\nb: *x\n", "2: *x: anchors and aliases are not supported"),
        ("a: 1\nb: &x [*x\nc: {", "2: *x: anchors and aliases are not supported"),
        ("a: &x 1\nb: &x 2\n", "2: is not valid YAML: an anchor (&...) a second time; remove it"),
        ("a: !!set {x}\n", "1: is not valid YAML: tags (!...) are not supported; remove it"),
        ("a: 1\nb: !!binary aGk=\n", "2: is not valid YAML: tags (!...) are not supported"),
        ("!!timestamp 2026-11-23: x\n", "1: is not valid YAML: tags (!...) are not supported"),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "4: duplicate key 'c'; keep one of them"),
        ("a: 1\n'a': 2\n", "2: duplicate key 'a'"),
        *(
            (f"a: {'[' * n}{end * n}", "1: is nested more than 40 levels deep; nothing in an")
            for n in (41, 1_001, 100_000)
            for end in ("", "]")
        ),
        ("a:\n" + "- " * 100_000, "2: is nested more than 40 levels deep"),
        ("a: " + "9" * 5_000, "1: cannot be read: Exceeds the limit"),
        ("text\n", "1: must be a mapping"),
    ],
)
def test_what_is_more_than_data_is_refused_where_it_stands(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ContentError) as caught:
        read_document(written(tmp_path, text))
    (problem,) = caught.value.problems
    assert says in str(problem)


def test_a_text_may_be_nested_as_deeply_as_is_allowed(tmp_path: Path) -> None:
    text = "a: " + "[" * 39 + "]" * 39
    assert read_document(written(tmp_path, text)).values == yaml.safe_load(text)


def test_a_merge_is_a_key_like_any_other(tmp_path: Path) -> None:
    """So that what is not known of an exercise is said, in place of a rule of YAML."""
    assert read_document(written(tmp_path, "<<: {a: 1}\n")).values == {"<<": {"a": 1}}
