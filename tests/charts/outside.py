"""What an explorer draws by itself beyond the edges of its paper."""

from collections.abc import Iterator

from app.core.charts.axes import Paper, Sheet, text_width


def outside(sheet: Sheet, paper: Paper) -> Iterator[str]:
    """Each thing on *sheet* that leaves the *paper*, and each label that leaves its box."""
    for rect in sheet.rects:
        across = 0 <= rect.x <= rect.x + rect.width <= paper.width
        upward = 0 <= rect.y <= rect.y + rect.height <= sheet.height
        if not (across and upward and text_width(rect.label) <= rect.width + 1):
            yield f"{rect}"
    for text in sheet.words:
        reach = text_width(text.text)
        left = {"start": text.x, "middle": text.x - reach / 2, "end": text.x - reach}[text.anchor]
        if not (left >= -1 and left + reach <= paper.width + 1 and 8 < text.y < sheet.height):
            yield f"{text}"
    for arrow in sheet.arrows:
        if not 0 <= min(arrow.x1, arrow.x2) <= max(arrow.x1, arrow.x2) <= paper.width:
            yield f"{arrow}"
