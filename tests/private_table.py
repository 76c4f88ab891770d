"""What is private of others, and used all the same: by package, in the minor version looked at, and where.

To move a pin, read what has changed there; `make newest` runs the tests of what relies on it.
"""

CONNECTION, PROCESSES = "app/server/network/guard.py", "app/commands/processes.py"
ROUTES, RING = "app/server/network/routes.py", "app/labs/library/ring_attention/worker.py"
FAKE_GPU, FAKE_TRAINING = "tests/labs/fake_gpu.py", "tests/labs/fake_training.py"
ON_GPU, CONFTEST = "tests/labs/test_on_gpu.py", "tests/conftest.py"
ACCESSIBLE = "tests/browser/accessible.py"
# The newest with which tests/labs passed, in the build of PyPI for CUDA: make newest TORCH=2.14.1
NEWEST_TORCH = "2.14"

TABLE: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    ("uvicorn", ">=0.54,<0.55"): {
        "uvicorn.protocols.http.httptools_impl.HttpToolsProtocol": (CONNECTION,),
        "uvicorn.protocols.http.httptools_impl.STATUS_LINE": (CONNECTION,),
        "uvicorn.server.ServerState": (CONNECTION, "tests/network/test_guard.py"),
        "uvicorn.config.STARTUP_FAILURE": (PROCESSES,),
        "uvicorn._subprocess.subprocess_started": (PROCESSES,),
        "uvicorn.supervisors.multiprocess.Multiprocess": (PROCESSES,),
        "uvicorn.supervisors.multiprocess.Process": (PROCESSES,),
        "uvicorn.supervisors.ChangeReload": ("app/commands/server.py",),
    },
    ("starlette", ">=1.10,<1.11"): {"starlette.routing.Match": (ROUTES,)},
    ("httpx2", ">=2.16,<2.17"): {"fastapi.testclient.TestClient._transport": ("tests/client.py",)},
    ("componentize-py", ">=0.25,<0.26"): {"_io": ("app/course/sandbox/guest/component.py",)},
    ("pytest-xdist", ">=3.8,<3.9"): {
        "xdist.scheduler.LoadFileScheduling": (CONFTEST,),
        "xdist.scheduler.LoadFileScheduling._split_scope": (CONFTEST,),
    },
    ("axe-playwright-python", ">=0.1.8,<0.2"): {
        "axe_playwright_python.base.AXE_SCRIPT": (ACCESSIBLE,),
        "axe_playwright_python.base.AxeResults": (ACCESSIBLE,),
    },
    ("torch", "==2.13.0"): {
        "torch._fused_sdp_choice": ("app/labs/library/attention/worker.py", FAKE_GPU),
        "torch._scaled_mm": ("app/labs/ranks/formats.py",),
        "torch.ops.aten._scaled_mm": (FAKE_GPU,),
        "torch.ops.aten._scaled_dot_product_flash_attention": (RING, FAKE_GPU),
        "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu": (RING,),
        "torch.cuda._sleep": ("app/labs/runner/gpu.py", "tests/labs/test_timing.py"),
        "torch.cuda._lazy_init": (ON_GPU,),
        "torch.distributed.distributed_c10d.BarrierOptions": (ON_GPU,),
        "torch.testing._internal.distributed.fake_pg": (FAKE_GPU,),
        "torch._subclasses.fake_tensor.FakeTensorMode": (FAKE_GPU,),
        "torch._subclasses.fake_tensor.unset_fake_temporarily": (FAKE_TRAINING,),
        "torch.utils._pytree.tree_leaves": (FAKE_GPU, FAKE_TRAINING),
        "torch.Tensor._make_subclass": (FAKE_TRAINING,),
        "torch._dynamo": (FAKE_TRAINING,),
    },
}
