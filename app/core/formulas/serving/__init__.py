"""The time, the memory and the price of answers: prefill, decoding, caches and queues.

A *pass* runs the model once over the tokens that are given to it. Prefill is a pass over a whole
prompt; decoding makes one token of each sequence of a batch in every pass, or *step*.
"""

from app.core.formulas.serving.capacity import *
from app.core.formulas.serving.decode import *
