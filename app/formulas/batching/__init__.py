"""What one optimizer step takes in, and how long it takes, when micro-batches are accumulated."""

from app.formulas.batching.accumulation import *
from app.formulas.batching.noise import *
from app.formulas.batching.rates import *
from app.formulas.batching.scaling import *
from app.formulas.batching.schedules import *
