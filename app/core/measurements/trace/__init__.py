"""Traces of the PyTorch profiler (Kineto): where the time of a step goes."""
