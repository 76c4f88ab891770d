"""The line that fits the medians of a run, in words."""

from app.core.translation import translate
from app.core.units import scale_of
from app.labs.parameters import amount
from app.labs.results.notes import range_in_words
from app.labs.results.report import Report


def line_in_words(report: Report) -> str:
    """The latency and the bandwidth of the best fit; empty if a run has none."""
    if report.line is None:
        return ""
    second, speed = scale_of("s").unit, scale_of("B/s").unit
    return translate(
        "The best fit to the medians: {latency} + size / {bandwidth}, with a median error of {percent:.2g} %.",
        latency=amount(report.line.latency, second) + range_in_words(report.line.latency_range, second),
        bandwidth=amount(report.line.bandwidth, speed) + range_in_words(report.line.bandwidth_range, speed),
        percent=100 * report.line.median_error,
    )
