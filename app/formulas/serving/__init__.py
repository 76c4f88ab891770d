"""The time, the memory and the price of answers: prefill, decoding, caches and queues.

A *pass* runs the model once over the tokens that are given to it. Prefill is a pass over a whole
prompt; decoding makes one token of each sequence of a batch in every pass, or *step*.
"""

from app.formulas.serving.caching import *
from app.formulas.serving.capacity import *
from app.formulas.serving.decoding import *
from app.formulas.serving.intensity import *
from app.formulas.serving.prefilling import *
from app.formulas.serving.speculating import *
