"""Lines of latency and bandwidth through the times of a run."""

from collections.abc import Sequence

from app.core.measurements.line_interval import bad_point, line_interval
from app.core.measurements.pieces import median_error, pieces
from app.core.measurements.reports import AlphaBetaPiece
from app.labs.results.report import LatencyFit, Measure
from app.labs.spec import Lab


def fitted_lines(lab: Lab, measures: Sequence[Measure]) -> tuple[LatencyFit | None, tuple[LatencyFit, ...]]:
    """The line that fits all sizes, or else two or three, each over a range of them.

    One point that is far off all others is left out, and named. A further line counts only if it
    halves the error, as on `/measured`.
    """
    if not lab.fits:
        return None, ()
    points = [(float(one.where["size"]), one.median) for one in measures if one.name == lab.fits]
    off = bad_point(points)
    points = [point for point in points if point[0] != off]
    lines = tuple(_analysis_line(piece, points, off) for piece in pieces(points))
    return (lines[0], ()) if len(lines) == 1 else (None, lines)


def _analysis_line(piece: AlphaBetaPiece, points: Sequence[tuple[float, float]], off: float | None) -> LatencyFit:
    sure = line_interval(piece, points)
    return LatencyFit(
        latency=piece.alpha,
        bandwidth=piece.bandwidth,
        median_error=median_error(points, [piece]),
        least=piece.first,
        most=piece.last,
        latency_range=sure.latency if sure else None,
        bandwidth_range=sure.bandwidth if sure else None,
        left_out=off,
    )
