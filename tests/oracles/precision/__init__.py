"""Number formats by their codes, and training with a loss scale."""

from tests.oracles.precision.codes import Codes, codes
from tests.oracles.precision.scaler import train

__all__ = ["Codes", "codes", "train"]
