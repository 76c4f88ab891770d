"""The files of commands: what is read, what is written, and how it looks."""

import io
from pathlib import Path

import pytest

from app.commands.files import line_count, output, record_text, source_of, write_rows
from app.core.errors import InputError
from app.core.formulas.configurations import CONFIGURATION_LIMIT
from tests.each import each


def test_a_record_is_text_a_file_or_the_configuration_in_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_bytes(b"\xef\xbb\xbfmodel = 1")
    assert record_text(str(file)) == "model = 1"
    assert record_text("64 H100") == "64 H100"
    assert record_text(str(tmp_path)) == str(tmp_path)  # a folder without one
    (tmp_path / "config.json").write_text("{}")
    assert record_text(str(tmp_path)) == "{}"
    for text in (f"{file}\n", f"{{{file}", "a" * 251 + ".json"):  # a text, whatever it ends with
        assert record_text(text) == text


@each("name", ["run.JSON", "run.toml", "a" * 245 + ".json"])
def test_what_looks_like_a_file_must_be_there(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        record_text(name)


def test_a_file_is_read_up_to_its_limit_and_only_if_it_is_text(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_bytes(b"a" * CONFIGURATION_LIMIT)
    assert len(record_text(str(file))) == CONFIGURATION_LIMIT
    file.write_bytes(b"a" * (CONFIGURATION_LIMIT + 1))
    with pytest.raises(InputError, match=f"has more than {CONFIGURATION_LIMIT // 1024} KiB"):
        record_text(str(file))
    for name, says in (("run.pt", "is a pickle of PyTorch"), ("run.txt", "is not text")):
        (tmp_path / name).write_bytes(b"\x80\x02")
        with pytest.raises(InputError, match=says):
            record_text(str(tmp_path / name))


def test_an_output_appears_when_it_is_complete_and_not_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with output(str(path)) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    with pytest.raises(TypeError), output(str(path)) as file:
        file.write("text")  # type: ignore[call-overload]
    assert path.read_bytes() == b"new"
    with pytest.raises(InputError, match="cannot be written: No such file"), output(str(tmp_path / "no" / "out")):
        pass
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
    with pytest.raises(InputError, match="cannot be read: No such file"), source_of(str(tmp_path / "none")):
        pass


def test_lines_that_are_not_blank_are_counted_and_the_file_is_read_again() -> None:
    source = io.BytesIO(b"a\n\n  \nb\n" + b"c" * (1 << 17) + b"\nd")
    assert line_count(source, "answers") == 4
    assert source.read(1) == b"a"
    assert line_count(source, "-") is None


def test_rows_are_columns_that_end_at_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows([("a", "b", "c"), ("1", "22", ""), ("333", "4", "5")])
    assert capsys.readouterr().out == "  a   b  c\n  1  22\n333   4  5\n"
