"""What one optimizer step takes in, and how long it takes, when micro-batches are accumulated."""

from app.core.formulas.batching.accumulation import *
from app.core.formulas.batching.noise import *
from app.core.formulas.batching.rates import *
from app.core.formulas.batching.scaling import *
from app.core.formulas.batching.schedules import *
