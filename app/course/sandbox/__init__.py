"""Learner code in another process, behind walls that are proven at every start.

`runner` is the way in. The code runs in `guest`, a Python of its own inside a WebAssembly component that imports
nothing; `worker` is the process around it, locked down by `lockdown`; `build` makes the component once, and
`component` caches it. `pool` keeps the workers alive, and `remote` offers a pool to web servers on other machines.

Each file has one trust level. Inside the worker: `guest`, `worker`, `lockdown`, `engine`. In the server: `process`
treats all that comes from a worker as hostile, and proves that the isolation holds.
"""
