"""QR codes of pages, read as the camera of a phone reads them: by zxing-cpp."""

import re

import numpy as np
import zxingcpp

_PICTURE = re.compile(r'class="qr".*?viewBox="0 0 (\d+) .*?<path [^>]*stroke="#000"[^>]* d="([^"]*)"')
_MOVE = re.compile(r"([Mmh])(-?[\d.]+)(?: (-?[\d.]+))?")
_PIXELS = 4  # of a module


def read_svg(page: str) -> str:
    """The text of the only QR code in *page*, whose dark modules are horizontal strokes."""
    (found,) = _PICTURE.findall(page)
    size = int(found[0])
    picture = np.full((size, size), 255, dtype=np.uint8)
    x = y = 0.0
    for move, right, down in _MOVE.findall(found[1]):
        if move == "h":
            picture[int(y), int(x) : int(x) + int(right)] = 0
        start = (0.0, 0.0) if move == "M" else (x, y)
        x, y = start[0] + float(right), start[1] + float(down or 0)
    large = np.kron(picture, np.ones((_PIXELS, _PIXELS), dtype=np.uint8))
    (code,) = zxingcpp.read_barcodes(large)
    return str(code.text)
