"""QR codes, module by module as the package `qrcode` 8.2 draws them."""

from hashlib import sha256

from app.charts.qr_code import qr_code, svg_path
from tests.each import each

# qrcode.QRCode(error_correction=ERROR_CORRECT_M, mask_pattern=2), bytes.
WALLCLOCK = """
#######..##.#.#######
#.....#...#...#.....#
#.###.#.##.##.#.###.#
#.###.#.#.#...#.###.#
#.###.#.###.#.#.###.#
#.....#.####..#.....#
#######.#.#.#.#######
........###..........
#.#####..###..#####..
....#..#...##..##.#.#
.##.###.#.#.###..###.
#..#.#.###.###..#####
......#####.#.#.#..#.
........#...#.####.#.
#######...##.##...##.
#.....#.###....#.###.
#.###.#.####....#...#
#.###.#.##.#######...
#.###.#.###.#.#...#..
#.....#...#####.###..
#######.###.#..#...#.
"""
# Digests of what `qrcode` draws of these, in versions 3 and 6; zxing-cpp reads both.
LARGER = {"http://testserver/join/0123456789": "cb6a24a4e6ab7af0", "z" * 100: "37cc8a75016e694b"}


def drawn(text: str) -> str:
    return "\n".join("".join(".#"[dark] for dark in row) for row in qr_code(text) or [])


def test_a_short_text_is_drawn_module_by_module() -> None:
    assert drawn("Wallclock") == WALLCLOCK.strip()


@each("text", LARGER)
def test_larger_ones_have_an_alignment_square_and_several_blocks(text: str) -> None:
    assert sha256(drawn(text).encode()).hexdigest()[:16] == LARGER[text]


def test_the_longest_text_has_106_bytes() -> None:
    assert len(qr_code("z" * 106) or []) == 41
    assert qr_code("z" * 107) is None
    assert qr_code("é" * 54) is None


def test_the_path_covers_the_dark_modules_and_no_others() -> None:
    modules = qr_code("Wallclock") or []
    covered = sum(
        int(run.partition("h")[2].partition("v")[0]) for run in svg_path(modules).split("z") if run
    )
    assert covered == sum(map(sum, modules))
