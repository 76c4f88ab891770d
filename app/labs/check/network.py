"""Step 7: what connects two nodes, by its name in NCCL's log, and what remains without it."""

import re
from collections.abc import Mapping

from app.core.units import BYTE_PER_SECOND, show
from app.labs.check.findings import CheckFinding, odd, passed, unknown

_TENTH = 0.3  # of the bandwidth with the network, below which it was TCP
_NVLINK = "MNNVL"
_INFINIBAND = "NET/IB"
_NAMED = re.compile(r"NET/(?P<name>[^,]+?)(?P<direct>/GDRDMA)?(?:,|$)")
_WITHOUT_CARDS = ("GPUDirectTCPX", "FasTrak")  # Google's plugins copy for themselves
_EXPECTED = "MNNVL, or a network with GDRDMA"
_CURES: Mapping[str, str] = {
    "Socket": (
        "This is TCP. With InfiniBand or RoCE, see whether NCCL finds the cards (NCCL_IB_HCA, "
        "NCCL_IB_DISABLE); on AWS and Google Cloud, whether their plugin is on LD_LIBRARY_PATH "
        "(aws-ofi-nccl, gIB, FasTrak)."
    ),
    "IB": (
        "Load nvidia-peermem, or use a driver and a kernel with DMA-BUF: without GPUDirect RDMA, "
        "everything goes through the memory of the host."
    ),
    "Libfabric": (
        "GPUDirect RDMA is off: see the log of aws-ofi-nccl, and FI_EFA_USE_DEVICE_RDMA. Some "
        "instances, such as P3 and G4, have none."
    ),
}
_OTHER = "GPUDirect RDMA is off; see the log of the network plugin (NCCL_DEBUG_SUBSYS=INIT,NET)."


def check_network(chosen: str) -> CheckFinding:
    """What NCCL has *chosen* between the nodes, against what is fast."""
    networks = list(_NAMED.finditer(chosen))
    slow = [one for one in networks if not _is_direct(one)]
    if slow:
        name = slow[0]["name"]
        cure = next((says for part, says in _CURES.items() if part in name), _OTHER)
        return odd("network", chosen, _EXPECTED, cure)
    if networks or _NVLINK in chosen:
        return passed("network", chosen, _EXPECTED)
    return odd("network", chosen or "unknown", _EXPECTED, _CURES["Socket"])


def variables_without(chosen: str) -> Mapping[str, str]:
    """The variables that leave NCCL with TCP; none where NVLink connects the nodes."""
    if _NVLINK in chosen:
        return {}
    is_other = "NET/" in chosen and not {"NET/IB", "NET/Socket"} & set(_families(chosen))
    return {"NCCL_NET": "Socket"} if is_other else {"NCCL_IB_DISABLE": "1"}


def compare_with_tcp(value: float, slow: float, variables: Mapping[str, str]) -> CheckFinding:
    """A bandwidth beside the *slow* one of a run with *variables*."""
    with_them = " ".join(f"{name}={text}" for name, text in variables.items())
    name = "InfiniBand off" if "NCCL_IB_DISABLE" in variables else "network off"
    found = f"{show(slow, BYTE_PER_SECOND, 3)} with {with_them}"
    if slow < _TENTH * value:
        return passed(name, found, "about a tenth")
    network = name.removesuffix(" off")
    cure = f"So the run before did not use {network if network[0].isupper() else 'it'} either."
    return odd(name, found, "about a tenth", cure)


def without_tcp() -> CheckFinding:
    """A finding that TCP was not compared, since NVLink connects the nodes."""
    return unknown("network off", "NVLink connects these nodes, and no variable turns it off")


def _is_direct(network: "re.Match[str]") -> bool:
    return bool(network["direct"]) or any(name in network["name"] for name in _WITHOUT_CARDS)


def _families(chosen: str) -> list[str]:
    """The networks in *chosen*, those of InfiniBand by one name: IBext_v8 is a plugin for it."""
    names = (f"NET/{one['name']}" for one in _NAMED.finditer(chosen))
    return [_INFINIBAND if name.startswith(_INFINIBAND) else name for name in names]
