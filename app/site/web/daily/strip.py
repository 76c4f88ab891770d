"""How near a guess was, and the text to share, which gives nothing away."""

from dataclasses import dataclass

from app.core.translation import noted, translate
from app.core.translation.dates import short_day
from app.course.content.daily import DailyQuestion
from app.site.web.daily.days import daily_url

_FULL, _EMPTY = "■", "□"
_LEAST_STREAK = 2  # days; one alone is not worth telling


@dataclass(frozen=True, slots=True)
class Band:
    """A band of nearness: guesses within *factor* of the answer, *filled* squares."""

    factor: float
    filled: int
    says: str

    @property
    def squares(self) -> str:
        """The band as squares."""
        return _FULL * self.filled + _EMPTY * (len(BANDS) - self.filled)

    @property
    def spoken(self) -> str:
        """The band for who cannot see the squares."""
        return translate("{filled} of {count}: {says}", filled=self.filled, count=len(BANDS), says=translate(self.says))


BANDS = (
    Band(1.1, 5, noted("within 10 %")),
    Band(1.5, 4, noted("within a factor of 1.5")),
    Band(3, 3, noted("within a factor of 3")),
    Band(10, 2, noted("within a factor of 10")),
    Band(float("inf"), 1, noted("more than a factor of 10 away")),
)


def band_of(value: float, right: float) -> Band:
    """The band of a guess of *value*.

    >>> band_of(105, 100).squares, band_of(1, 100).squares
    ('■■■■■', '■□□□□')
    """
    # A quotient may overflow to infinity, which is far enough.
    high, low = max(value, right), min(value, right)
    return next(band for band in BANDS if high <= band.factor * low)


def strip(question: DailyQuestion, band: Band, streak: int, origin: str) -> str:
    """The text to share: the day, how near the guess was, and a link, but no number."""
    lines = [
        translate("Guess the step {place}, {day}", place=question.number, day=short_day(question.day)),
        f"{band.squares} {translate(band.says)}",
    ]
    if streak >= _LEAST_STREAK:
        lines.append(translate("{streak} days in a row", streak=streak))
    if origin:
        lines.append(f"{origin}{daily_url(question.day)}")
    return "\n".join(lines)
