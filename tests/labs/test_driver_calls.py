"""What the ranks' parent imports makes no call of the driver: after one, its forks could not use a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = """\
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int logged(const char *name) {
    int file = open(getenv("DRIVER_CALLS"), O_CREAT | O_WRONLY | O_APPEND, 0600);
    if (file >= 0) { write(file, name, strlen(name)); write(file, "\\n", 1); close(file); }
    return 0;
}
#define CALL(name) int name(void) { return logged(#name); }
static int any(void) { return logged("a function by its address"); }
CALL(cuInit) CALL(cuDeviceGet) CALL(cuCtxCreate_v2) CALL(cuDevicePrimaryCtxRetain)
CALL(cuCtxGetCurrent) CALL(cuDeviceGetAttribute) CALL(cuGetErrorString) CALL(cuGetExportTable)
int cuDriverGetVersion(int *version) { *version = 13000; return logged("cuDriverGetVersion"); }
int cuDeviceGetCount(int *count) { *count = 0; return logged("cuDeviceGetCount"); }
int cuGetProcAddress_v2(const char *name, void **found, int version, unsigned long long flags,
                        void *status) { *found = (void *)any; return logged(name); }
int cuGetProcAddress(const char *name, void **found, int version, unsigned long long flags) {
    *found = (void *)any; return logged(name); }
"""
PARENT = """\
import importlib, os
from app.labs.runner.zygote import LATER, PRELOADED
for name in (*PRELOADED, *LATER):
    importlib.import_module(name)
print("imported", flush=True)
"""
CALLER = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"
COUNTER = "import torch; torch.cuda.device_count(); torch.cuda.is_available()"


def calls_of(program: str, folder: Path) -> str:
    """What *program* calls in a driver that logs every call."""
    calls = folder / "calls"
    calls.unlink(missing_ok=True)
    paths = f"{folder}{os.pathsep}{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(os.pathsep)
    more = {"LD_LIBRARY_PATH": paths, "DRIVER_CALLS": str(calls)}
    command = [sys.executable, "-c", program]
    subprocess.run(command, env={**os.environ, **more}, check=True, capture_output=True)
    return calls.read_text() if calls.exists() else ""


@pytest.mark.needs("cc", "torch")
@pytest.mark.slow(10)
def test_the_parent_of_the_ranks_calls_nothing_of_the_driver(tmp_path: Path) -> None:
    source, library = tmp_path / "driver.c", tmp_path / "libcuda.so.1"
    source.write_text(DRIVER)
    build = ["cc", "-shared", "-fPIC", "-w", "-o", str(library), str(source)]
    subprocess.run(build, check=True, capture_output=True)
    assert calls_of(CALLER, tmp_path) == "cuInit\n"
    assert calls_of(PARENT, tmp_path) == ""
    import torch

    if torch.version.cuda:  # the others have no code that could call it
        assert calls_of(COUNTER, tmp_path)
