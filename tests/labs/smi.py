"""What `nvidia-smi -q -x` prints on machines of several kinds; the values of a GPU may be changed.

Names, places and usual values are those of NVIDIA's public captures of these GPUs.
"""

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

NA = "N/A"
SAID: Mapping[str, str] = {
    "product_name": "NVIDIA H100 80GB HBM3",
    "product_architecture": "Hopper",
    "display_attached": "Yes",
    "persistence_mode": "Enabled",
    "addressing_mode": "HMM",
    "mig_mode/current_mig": "Disabled",
    "mig_mode/pending_mig": "Disabled",
    "mig_devices": "None",
    "accounting_mode": "Disabled",
    "accounting_mode_buffer_size": "4000",
    "serial": "1650000000001",
    "uuid": "GPU-00000000-0000-0000-0000-000000000000",
    "vbios_version": "96.00.99.00.01",
    "multigpu_board": "No",
    "board_id": "0x5300",
    "platformInfo/slot_number": NA,
    "platformInfo/peer_type": NA,
    "inforom_version/img_version": "G520.0200.00.05",
    "c2c_mode": "Disabled",
    "gpu_virtualization_mode/virtualization_mode": "Pass-Through",
    "gpu_recovery_action": "None",
    "gsp_firmware_version": "580.105.08",
    "pci/pci_gpu_link_info/pcie_gen/max_link_gen": "5",
    "pci/pci_gpu_link_info/pcie_gen/current_link_gen": "5",
    "pci/pci_gpu_link_info/link_widths/max_link_width": "16x",
    "pci/pci_gpu_link_info/link_widths/current_link_width": "16x",
    "pci/replay_counter": "106",
    "fan_speed": NA,
    "performance_state": "P0",
    "clocks_event_reasons/clocks_event_reason_gpu_idle": "Active",
    "clocks_event_reasons/clocks_event_reason_hw_slowdown": "Not Active",
    "clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown": "Not Active",
    "clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap": "2354613 us",
    "sparse_operation_mode": "Disabled",
    "fb_memory_usage/used": "4 MiB",
    "bar1_memory_usage/total": "131072 MiB",
    "compute_mode": "Default",
    "utilization/gpu_util": "0 %",
    "dram_encryption_mode/current_dram_encryption": NA,
    "dram_encryption_mode/pending_dram_encryption": NA,
    "ecc_mode/current_ecc": "Enabled",
    "ecc_mode/pending_ecc": "Enabled",
    "ecc_errors/volatile/sram_correctable": "0",
    "ecc_errors/volatile/sram_uncorrectable_parity": "0",
    "ecc_errors/volatile/dram_correctable": "3",
    "ecc_errors/volatile/dram_uncorrectable": "0",
    "ecc_errors/aggregate/dram_uncorrectable": "7",
    "ecc_errors/aggregate/sram_threshold_exceeded": "No",
    "ecc_errors/aggregate_uncorrectable_sram_sources/sram_l2": "0",
    "ecc_errors/channel_repair_pending": "No",
    "ecc_errors/tpc_repair_pending": "No",
    "retired_pages/multiple_single_bit_retirement/retired_pagelist": NA,
    "retired_pages/pending_blacklist": NA,
    "retired_pages/pending_retirement": NA,
    "remapped_rows/remapped_row_corr": "0",
    "remapped_rows/remapped_row_unc": "0",
    "remapped_rows/remapped_row_pending": "No",
    "remapped_rows/remapped_row_failure": "No",
    "remapped_rows/row_remapper_histogram/row_remapper_histogram_max": "2560 bank(s)",
    "remapped_rows/row_remapper_histogram/row_remapper_histogram_none": "0 bank(s)",
    "temperature/gpu_temp": "34 C",
    "gpu_power_readings/power_state": "P0",
    "gpu_power_readings/current_power_limit": "700.00 W",
    "gpu_power_readings/default_power_limit": "700.00 W",
    "power_smoothing": NA,
    "clocks/graphics_clock": "1980 MHz",
    "max_clocks/sm_clock": "1980 MHz",
    "clock_policy/auto_boost": NA,
    "voltage/graphics_volt": "885.000 mV",
    "fabric/state": "Completed",
    "fabric/status": "Success",
    "fabric/cliqueId": "0",
    "fabric/clusterUuid": "00000000-0000-0000-0000-000000000000",
    "fabric/health/bandwidth": NA,
    "fabric/health/route_unhealthy": NA,
    "capabilities/egm": "disabled",
}
NO_FABRIC: Mapping[str, str] = {"fabric/state": NA, "fabric/status": NA, "fabric/cliqueId": NA}
# What a driver prints for a GPU without ECC, rows, or a fabric.
PLAIN: Mapping[str, str] = {
    **NO_FABRIC,
    **{path: NA for path in SAID if path.startswith(("ecc_", "remapped_", "gpu_recovery"))},
}
_HEALTHY_FABRIC: Mapping[str, str] = {
    "platformInfo/peer_type": "Switch Connected",
    "fabric/health/summary": "Healthy",
    "fabric/health/bandwidth": "Full",
    "fabric/health/route_recovery_in_progress": "False",
    "fabric/health/route_unhealthy": "False",
    "fabric/health/access_timeout_recovery": "False",
    "fabric/health/incorrect_configuration": "None",
    "fabric/health/partition_assigned": NA,
    "ecc_errors/unrepairable_memory": "No",
    "power_smoothing": "Insufficient Permissions",
}
# What differs from an H100, as each of these GPUs says it.
KINDS: Mapping[str, Mapping[str, str]] = {
    "NVIDIA H100 80GB HBM3": {},
    "NVIDIA A100-SXM4-40GB": {
        **NO_FABRIC,
        "product_architecture": "Ampere",
        "gpu_reset_status/reset_required": "Requested functionality has been deprecated",
        "gpu_power_readings/current_power_limit": "400.00 W",
        "gpu_power_readings/default_power_limit": "400.00 W",
        "max_clocks/sm_clock": "1410 MHz",
    },
    "NVIDIA B200": {
        **_HEALTHY_FABRIC,
        "addressing_mode": "None",
        "fabric/health/bandwidth": NA,
        "fabric/health/route_unhealthy": NA,
        "fabric/health/incorrect_configuration": NA,
        "pci/atomic_caps_inbound": "FETCHADD_32 FETCHADD_64 SWAP_32 SWAP_64 CAS_32 CAS_64",
        "gpu_power_readings/current_power_limit": "1000.00 W",
        "gpu_power_readings/default_power_limit": "1000.00 W",
        "max_clocks/sm_clock": "1965 MHz",
    },
    "NVIDIA GB200": {
        **_HEALTHY_FABRIC,
        "addressing_mode": "ATS",
        "c2c_mode": "Enabled",
        "fabric/cliqueId": "2",
        "fabric/clusterUuid": "00000001-0000-0000-0000-000000000001",
        "fabric/health/incorrect_configuration": NA,
        "module_power_readings/current_power_limit": "2500.00 W",
        "remapped_rows/remapped_row_corr_inactive": "0",
        "gpu_power_readings/current_power_limit": "1200.00 W",
        "gpu_power_readings/default_power_limit": "1200.00 W",
        "max_clocks/sm_clock": "2062 MHz",
    },
    "NVIDIA GB300": {
        **_HEALTHY_FABRIC,
        "addressing_mode": "ATS",
        "c2c_mode": "Enabled",
        "fabric/cliqueId": "32766",
        "gpu_virtualization_mode/virtualization_mode": "None",
        "gpu_power_readings/current_power_limit": "1400.00 W",
        "gpu_power_readings/default_power_limit": "1400.00 W",
        "max_clocks/sm_clock": "2070 MHz",
    },
    "NVIDIA L40S": {
        **NO_FABRIC,
        "mig_mode/current_mig": NA,
        "mig_mode/pending_mig": NA,
        "edpp_multiplier": NA,
        "ecc_errors/unrepairable_memory": NA,
        "gpu_power_readings/power_state": "Requested functionality has been deprecated",
        "gpu_power_readings/current_power_limit": "350.00 W",
        "gpu_power_readings/default_power_limit": "350.00 W",
    },
    "Tesla T4": {
        **PLAIN,
        "ecc_errors/volatile/sram_uncorrectable": "0",
        "ecc_errors/aggregate/dram_correctable": "1",
        "retired_pages/double_bit_retirement/retired_count": "0",
        "retired_pages/double_bit_retirement/retired_pagelist": "",
        "retired_pages/pending_blacklist": "No",
    },
}
Process = tuple[int, str, str]


def smi_log(
    count: int = 8,
    name: str = "NVIDIA H100 80GB HBM3",
    every: Mapping[str, str] | None = None,
    last: Mapping[str, str] | None = None,
    processes: tuple[Process, ...] = (),
) -> str:
    """What `nvidia-smi -q -x` prints; what the *last* GPU says is different, and it has the *processes*."""
    gpus = []
    for number in range(count):
        is_last = number == count - 1
        values = {
            **SAID,
            "product_name": name,
            **KINDS.get(name, {}),
            **(every or {}),
            **((last or {}) if is_last else {}),
        }
        of_it = "".join(
            f"<process_info><pid>{pid}</pid><process_name>{escape(command)}</process_name>"
            f"<used_memory>{used}</used_memory></process_info>"
            for pid, command, used in processes * is_last
        )
        gpus.append(
            f'<gpu id="00000000:{0x1B + number:02X}:00.0">{tree_of(values)}<processes>{of_it}</processes></gpu>'
        )
    return whole_log(gpus)


def whole_log(gpus: Sequence[str], driver: str = "580.105.08") -> str:
    """The log of *gpus*, each an element."""
    head = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n<nvidia_smi_log>\n'
    version = f"<driver_version>{driver}</driver_version>\n<attached_gpus>{len(gpus)}</attached_gpus>\n"
    return f"{head}{version}{chr(10).join(gpus)}\n</nvidia_smi_log>\n"


def tree_of(values: Mapping[str, str]) -> str:
    """The *values* as elements within elements."""
    below: dict[str, dict[str, str]] = {}
    for path, text in values.items():
        tag, _, rest = path.partition("/")
        below.setdefault(tag, {})[rest] = text
    return "".join(
        f"<{tag}>{escape(inner['']) if '' in inner else tree_of(inner)}</{tag}>\n" for tag, inner in below.items()
    )
