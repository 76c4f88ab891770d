"""Predictions of steps, many at a time: lines of JSON in, lines of JSON out.

| for | see |
|---|---|
| which formulas make a prediction | `estimate` |
| the fields of a line, and what is wrong with them | `reading` |
| what limits a step, in words | `why` |
| how far predictions are from measurements | `accuracy` |
| one line after another, in order | `lines` |
"""
