"""The text of a file of people, in the encoding of the program that wrote it."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from app.core.errors import InputError
from app.core.translation import translate

FILE_LIMIT = 8 << 20  # bytes
_HEAD = 2_000  # bytes that tell UTF-16
# Older encodings, and words of a head in them: where one is there, the encoding is that.
_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "gb18030": ("姓名", "学号", "姓氏"),
        "big5": ("姓名", "學號", "姓氏"),
        "cp932": ("氏名", "学籍番号", "名前"),
        "cp949": ("이름", "성명", "학번"),
        "cp1251": ("имя", "фамилия", "фио"),
        "cp1250": ("imię", "příjmení", "jméno", "vezetéknév", "családi név"),
        "cp1253": ("όνομα", "επώνυμο"),
        "cp1254": ("adı", "öğrenci"),
    }
)
_QUOTES = "’‘“”„–—…ºª°€£§«»·\xa0"  # signs that a text in Windows-1252 has among its letters
_MOST_SIGNS = 0.25  # of what is not ASCII: in Windows-1252, most of that are letters


def decode_csv(content: bytes) -> str:
    """The text of a file in UTF-8, UTF-16 or an encoding of older programs.

    Raises:
        InputError: it is too large, or nothing tells the encoding.
    """
    if len(content) > FILE_LIMIT:
        raise csv_too_large()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    if order := _wide_order(content[:_HEAD]):
        return content.decode(order, "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _older_text(content)


def csv_too_large() -> InputError:
    """The error for a file above the limit."""
    return InputError(translate("this file is larger than {file_limit} MiB, the limit", file_limit=FILE_LIMIT >> 20))


def _wide_order(head: bytes) -> str:
    """The name of UTF-16 without a mark, in which half of the bytes of Latin letters are 0."""
    first, second = head[::2], head[1::2]
    if 4 * first.count(0) > len(first) and not second.count(0):
        return "utf-16-be"
    if 4 * second.count(0) > len(second) and not first.count(0):
        return "utf-16-le"
    return ""


def _older_text(content: bytes) -> str:
    """The text of a file that is not in Unicode."""
    for name, words in _WORDS.items():
        try:
            text = content.decode(name)
        except UnicodeDecodeError:
            continue
        if any(word in text[:_HEAD].casefold() for word in words):
            return text
    if b"\r" in content and b"\n" not in content:
        return content.decode("mac_roman")  # Excel for Mac, "CSV (Macintosh)"
    return _latin_text(content)


def _latin_text(content: bytes) -> str:
    """The text in Windows-1252, if it is like one of western Europe.

    Raises:
        InputError: it is not: signs among its letters, or words without a Latin letter.
    """
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        text = ""
    foreign = re.findall(r"[^\x00-\x7f\W\d_]", text)
    signs = [sign for sign in re.findall(r"[^\w\x00-\x7f]", text) if sign not in _QUOTES]
    rows = re.findall(r"[\x80-\xff]{3,}", text)  # Latin words have no three in a row
    if not foreign + signs and text:
        return text
    odd = len(signs) > _MOST_SIGNS * (len(signs) + len(foreign))
    if not text or odd or 2 * sum(map(len, rows)) > len(foreign):
        raise InputError(
            translate(
                "nothing tells the encoding of this file: save it as CSV UTF-8, which Excel has in "
                "its list of file types"
            )
        )
    return text
