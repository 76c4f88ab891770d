"""The time of a training step, without checks, of plain numbers or of columns of them.

A part is computed from what it depends on: a layer from the tensor, context and expert degrees, the micro-batch and the
recomputation; a pass from that and the stages; a step from that and the number of micro-batches. A search computes each
level once per key. What the terms are and where their coefficients come from is said in `layout.step_time`.
"""
