"""What is private of others, and used all the same: by package, in the minor version looked at.

To move a pin, read what has changed there; `tests/test_private.py` says what is no longer as it was.
"""

from typing import NamedTuple

CONNECTION, PROCESSES = "app/server/network/guard.py", "app/commands/processes.py"
ROUTES, RING = "app/server/network/routes.py", "app/labs/library/ring_attention/computation.py"
FAKE_GPU, FAKE_TRAINING = "tests/labs/fake_gpu.py", "tests/labs/fake_training.py"
ON_GPU, CONFTEST = "tests/labs/test_on_gpu.py", "tests/conftest.py"
ACCESSIBLE = "tests/browser/accessible.py"
# The newest with which tests/labs passed, in the build of PyPI for CUDA: make newest TORCH=2.14.1
NEWEST_TORCH = "2.14"


class Private(NamedTuple):
    """A private name, the files that use it, and its shape.

    The shape is the parameters of a function, `name(parameters)` and attributes of a class, or
    the schema of an operator of torch: whatever the files rely on.
    """

    name: str
    files: tuple[str, ...]
    shape: tuple[str, ...] = ()


TABLE: dict[tuple[str, str], tuple[Private, ...]] = {
    ("uvicorn", ">=0.54,<0.55"): (
        Private(
            "uvicorn.protocols.http.httptools_impl.HttpToolsProtocol",
            (CONNECTION,),
            (
                "__init__(self, config, server_state, app_state, _loop)",
                "connection_made(self, transport)",
                "connection_lost(self, exc)",
                "data_received(self, data)",
                "on_message_begin(self)",
                "on_header(self, name, value)",
                "on_headers_complete(self)",
                "on_body(self, body)",
                "on_message_complete(self)",
                "on_response_complete(self)",
                "shutdown(self)",
                "send_400_response(self, msg)",
                "client",
                "cycle",
                "flow",
                "loop",
                "scope",
                "server_state",
                "transport",
            ),
        ),
        Private("uvicorn.protocols.http.httptools_impl.STATUS_LINE", (CONNECTION,)),
        Private("uvicorn.server.ServerState", (CONNECTION,), ("default_headers",)),
        Private("uvicorn.config.STARTUP_FAILURE", (PROCESSES,)),
        Private("uvicorn._subprocess.subprocess_started", (PROCESSES,), ("(config, target, sockets, stdin_fileno)",)),
        Private(
            "uvicorn.supervisors.multiprocess.Multiprocess",
            (PROCESSES,),
            (
                "__init__(self, config, sockets)",
                "init_processes(self)",
                "run(self)",
                "handle_signals(self)",
                "handle_hup(self)",
                "terminate_all(self)",
                "join_all(self)",
                "config",
                "processes",
                "processes_num",
                "should_exit",
                "sockets",
            ),
        ),
        Private(
            "uvicorn.supervisors.multiprocess.Process",
            (PROCESSES,),
            (
                "__init__(self, config, sockets)",
                "start(self)",
                "kill(self)",
                "join(self)",
                "target(self, sockets)",
                "exitcode",
                "parent_conn",
                "process",
            ),
        ),
        Private(
            "uvicorn.supervisors.ChangeReload", ("app/commands/server.py",), ("(config, target, sockets)", "run(self)")
        ),
    ),
    ("starlette", ">=1.10,<1.11"): (Private("starlette.routing.Match", (ROUTES,), ("NONE", "PARTIAL", "FULL")),),
    ("httpx2", ">=2.16,<2.17"): (Private("fastapi.testclient.TestClient._transport", ("tests/client.py",)),),
    ("componentize-py", ">=0.25,<0.26"): (  # the Python of the component
        Private("_io", ("app/course/sandbox/guest/component.py",), ("FileIO", "open", "open_code")),
    ),
    ("pytest-xdist", ">=3.8,<3.9"): (
        Private("xdist.scheduler.LoadFileScheduling", (CONFTEST,), ("(config, log)",)),
        Private("xdist.scheduler.LoadFileScheduling._split_scope", (CONFTEST,), ("(self, nodeid)",)),
    ),
    ("axe-playwright-python", ">=0.1.8,<0.2"): (
        Private("axe_playwright_python.base.AXE_SCRIPT", (ACCESSIBLE,)),
        Private(
            "axe_playwright_python.base.AxeResults",
            (ACCESSIBLE,),
            ("(response)", "generate_report", "violations_count"),
        ),
    ),
    ("torch", "==2.13.0"): (
        Private("torch._fused_sdp_choice", ("app/labs/library/attention/worker.py", FAKE_GPU)),
        Private("torch._scaled_mm", ("app/labs/ranks/formats.py",)),
        Private("torch.ops.aten._scaled_mm", (FAKE_GPU,)),
        Private("torch.ops.aten._scaled_dot_product_flash_attention", (RING, FAKE_GPU)),
        Private("torch.ops.aten._scaled_dot_product_flash_attention_for_cpu", (RING,)),
        Private("torch.cuda._sleep", ("app/labs/runner/gpu.py", "tests/labs/test_timing.py")),
        Private("torch.cuda._lazy_init", (ON_GPU,), ("()",)),
        Private("torch.distributed.distributed_c10d.BarrierOptions", (ON_GPU,)),
        Private("torch.testing._internal.distributed.fake_pg", (FAKE_GPU,)),
        Private("torch._subclasses.fake_tensor.FakeTensorMode", (FAKE_GPU,)),
        Private("torch._subclasses.fake_tensor.unset_fake_temporarily", (FAKE_TRAINING,), ("()",)),
        Private("torch.utils._pytree.tree_leaves", (FAKE_GPU, FAKE_TRAINING), ("(tree, is_leaf)",)),
        Private("torch.Tensor._make_subclass", (FAKE_TRAINING,)),
        Private("torch._dynamo", (FAKE_TRAINING,)),
    ),
}
