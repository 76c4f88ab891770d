"""The engine's settings: the component must be compiled and loaded with the same ones."""

from wasmtime import Config, Engine

STACK = 2 << 20
# Every optional feature is off: what the component does not need cannot be attacked.
_OFF = (
    "wasm_threads", "shared_memory", "wasm_gc", "wasm_function_references", "gc_support",
    "wasm_relaxed_simd", "wasm_memory64", "wasm_tail_call", "wasm_stack_switching",
    "wasm_wide_arithmetic", "wasm_custom_page_sizes", "wasm_exceptions", "wasm_multi_memory",
    "wasm_simd",
)  # fmt: skip


def engine() -> Engine:
    """An interruptible engine without optional features."""
    config = Config()
    config.epoch_interruption = True
    config.wasm_component_model = True
    config.max_wasm_stack = STACK
    for feature in _OFF:
        setattr(config, feature, False)
    return Engine(config)
