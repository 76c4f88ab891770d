"""Schedules in short form, as an address carries them: every instruction, packed."""

import base64
import binascii
import re
import zlib
from collections.abc import Iterator, Sequence

from app.core.simulators.programs.instructions import COMPUTE, TOGETHER, Instruction
from app.core.simulators.programs.player import PlayedSchedule
from app.core.translation import noted, say

LONGEST_CODE = 2000  # characters; an address has room for some thousands
MOST_INSTRUCTIONS = 1000  # of all ranks
_UNPACKED = 24 * MOST_INSTRUCTIONS  # bytes
_CODE = re.compile(r"[A-Za-z0-9_-]+")
_WORD = re.compile(r"[A-Za-z]{1,7}")
_NUMBER = re.compile(r"[0-9]{1,3}")
_COUNTED = (COMPUTE - {"drop"}) | TOGETHER  # what they work on are numbers alone
_NO_CODE = noted("this is not a schedule in short form")

Program = list[tuple[object, ...]]  # as a learner's function returns it


def schedule_code(played: PlayedSchedule) -> str:
    """*played* in short form; empty if it did nothing, stopped before its end, or is too long.

    What starts when follows from the order of the instructions, so they are enough.
    """
    if played.problem or not 0 < len(played.spans) <= MOST_INSTRUCTIONS:
        return ""
    text = ";".join(" ".join(map(_text, own)) for own in _programs(played))
    code = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return code if len(code) <= LONGEST_CODE and len(text) <= _UNPACKED else ""


def read_schedule_code(code: str) -> list[Program]:
    """The program of each rank in a schedule in short form.

    Raises:
        ValueError: it is not one, or one that is too long.
    """
    if len(code) > LONGEST_CODE:
        form = noted("a schedule in short form has at most {most:,} characters, not {length:,}")
        raise ValueError(say(form, most=LONGEST_CODE, length=len(code)))
    text = _unpacked(code)
    if text.count(" ") + text.count(";") >= MOST_INSTRUCTIONS:
        form = noted("a schedule in short form has at most {most:,} instructions")
        raise ValueError(say(form, most=MOST_INSTRUCTIONS))
    return [[_instruction(one) for one in own.split(" ") if one] for own in text.split(";")]


def _programs(played: PlayedSchedule) -> Iterator[list[Instruction]]:
    for rank in range(len(played.machine.start)):
        own = (span.instruction for span in played.spans if span.rank == rank)
        yield sorted(own, key=lambda step: step.place)


def _text(step: Instruction) -> str:
    """An instruction as its words and numbers: F.0.1, pass.1.x.1.0, drop.x.0.1, gather.2."""
    if step.op in TOGETHER:
        parts: Sequence[object] = (step.layer,)
    elif step.op in _COUNTED:
        parts = (step.layer, step.batch)
    else:
        parts = step.name if step.op == "drop" else (step.peer, *step.name)
    return ".".join(map(str, (step.op, *parts)))


def _instruction(text: str) -> tuple[object, ...]:
    op, *parts = text.split(".")
    found = [_part(part) for part in (op, *parts)]
    if op in _COUNTED:
        return tuple(found)
    if op == "drop":
        return (op, tuple(found[1:]))
    return (op, *found[1:2], tuple(found[2:]))


def _part(text: str) -> str | int:
    """A word or a number of an instruction.

    Raises:
        ValueError: it is neither.
    """
    if _NUMBER.fullmatch(text):
        return int(text)
    if _WORD.fullmatch(text):
        return text
    raise ValueError(say(_NO_CODE))


def _unpacked(code: str) -> str:
    """What *code* packs, which is never more than _UNPACKED bytes.

    Raises:
        ValueError: it is not a schedule in short form.
    """
    if not _CODE.fullmatch(code):
        raise ValueError(say(_NO_CODE))
    unpacking = zlib.decompressobj()
    try:
        packed = base64.urlsafe_b64decode(code + "=" * (-len(code) % 4))
        text = unpacking.decompress(packed, _UNPACKED)
    except (binascii.Error, zlib.error):
        raise ValueError(say(_NO_CODE)) from None
    if not unpacking.eof or unpacking.unused_data or not text.isascii():
        raise ValueError(say(_NO_CODE))
    return text.decode()
