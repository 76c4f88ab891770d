"""Pipeline parallelism: bubbles, activation memory, and traffic between stages.

Two quantities are called the bubble. The ratio is idle over ideal time and may exceed one; the
fraction is idle over the whole step. They have two names here.
"""

from app.core.formulas.pipeline.schedules import *
