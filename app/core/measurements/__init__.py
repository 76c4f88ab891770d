"""What a user's own job printed: nccl-tests, profiler traces, and training logs, in base units.

All of it is hostile. Files are recognized by content, read in a process of its own with limits,
and what does not add up is said, never refused.
"""
