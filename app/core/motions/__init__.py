"""Figures that move: what simulators play, frame by frame."""
