"""Number formats by their codes, and a training step that scales its loss."""

from app.simulators.precision.codes import Codes, codes
from app.simulators.precision.scaler import train

__all__ = ["Codes", "codes", "train"]
