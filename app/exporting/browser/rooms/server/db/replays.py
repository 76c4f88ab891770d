"""In place of the replays of a server, in a browser, which has no programs to answer."""


class ReplayedAttempt:
    """An answer to a program; there are none."""
