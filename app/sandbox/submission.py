"""What a worker is asked to do."""

from collections.abc import Sequence

from app.errors import AnswerError
from app.sandbox.guest.codec import encode
from app.sandbox.report import Plain

SOURCE_LIMIT = 64_000  # bytes


def request_of(source: str, entry: str, calls: Sequence[Sequence[Plain]]) -> dict[str, object]:
    """The request to run *source* and then make *calls* of its function *entry*.

    Raises:
        AnswerError: *source* is too long, or no text.
    """
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise AnswerError("the program has characters that are no Unicode text") from None
    if size > SOURCE_LIMIT:
        raise AnswerError(f"the program is too long: {size:,} bytes of at most {SOURCE_LIMIT:,}")
    arguments = [[encode(value) for value in call] for call in calls]
    return {"source": source, "entry": entry, "calls": arguments}
