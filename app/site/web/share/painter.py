"""Turns one picture from SVG (standard input) into PNG (standard output).

This is the program of a process of its own: the renderer holds the interpreter's lock while it
works, and a process can be stopped. The arguments are the fonts.
"""

import os
import resource
import sys

from resvg_py import svg_to_bytes

_SECONDS = 5  # of processor time
_MEMORY = 1 << 30  # bytes
_POLITE = 2  # a page comes before a picture


def main() -> None:
    """Draw what is on standard input."""
    os.nice(_POLITE)
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    svg = sys.stdin.buffer.read().decode()
    png = svg_to_bytes(svg_string=svg, font_files=sys.argv[1:], skip_system_fonts=not any(map(_is_foreign, svg)))
    sys.stdout.buffer.write(png)


def _is_foreign(letter: str) -> bool:
    """Whether *letter* is of a script that our own fonts do not have."""
    return "\u0400" <= letter < "\u1e00" or letter >= "\u2e80"


if __name__ == "__main__":
    main()
