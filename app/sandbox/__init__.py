"""Learner code in another process, behind walls that are proven at every start.

`runner` is the way in and `report` what comes out. The code runs in `guest`, a Python of its own
inside a WebAssembly component that imports nothing; `worker` is the process around it, locked down
by `lockdown`; `build` makes the component once; `walls` proves that it holds.
"""
