"""Predictions of steps, many at a time: lines of JSON in, lines of JSON out.

| for | see |
|---|---|
| the fields of a line, and what is wrong with them | `reader` |
| which formulas make a prediction, and what limits the step, in words | `estimate` |
| one line after another, in order, and how far predictions are from measurements | `lines` |
"""
