"""Number formats by their codes, and training with a loss scale."""

from app.simulators.precision.codes import Codes, codes
from app.simulators.precision.scaler import train

__all__ = ["Codes", "codes", "train"]
