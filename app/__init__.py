"""Wallclock: predict the training step, then time it."""
