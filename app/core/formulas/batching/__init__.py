"""What one optimizer step takes in, and how long it takes, when micro-batches are accumulated."""

from app.core.formulas.batching.scaling import *
