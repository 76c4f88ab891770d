"""In place of a server's metrics, in a browser, which counts nothing."""


class Counter:
    """Counts nothing."""

    def inc(self) -> None:
        """Nothing."""


def verdicts(*_: str) -> Counter:
    """What would count a verdict."""
    return Counter()
