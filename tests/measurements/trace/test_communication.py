"""Collectives of one rank and of several: kinds, bytes, bus bandwidth, waiting for others."""

import io

import pytest

from app.core.measurements.trace.communication import (
    FAMILIES,
    bus_factor,
    collective_bytes,
    collective_kind,
    communicates,
)
from app.core.measurements.trace.events import Arguments
from app.core.measurements.trace.reader import reports
from app.core.measurements.trace.report import TraceReport
from tests.each import each
from tests.measurements.trace.made import Event, collective, flat, rank_of, report_of_events, trace, work

MICRO = 1e-6


@each(
    ("name", "kind"),
    [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_reduce"),
        ("ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclWorkElem)", "reduce_scatter"),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_gather"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "sendrecv"),
        ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(...)", "all_reduce"),
        ("void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(...)", "all_reduce"),
        ("void deep_ep::intranode::dispatch<8, 768, 8192>(...)", "alltoall"),
        ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "other"),
        ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::"
         "trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, false, false>(...)", "all_reduce"),
        ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_twoshot_sync<1>(...)", "all_reduce"),
        ("void flashinfer::trtllm_mnnvl_allreduce::twoshotAllreduceKernel<8, __nv_bfloat16>(...)", "all_reduce"),
        ("void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<__nv_bfloat16, 128>(...)", "all_reduce"),
        ("void tensorrt_llm::kernels::moeAllToAllKernel<true>(tensorrt_llm::kernels::FusedMoeParams)", "alltoall"),
        ("void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<BlockPolicy, 8>(...)", "alltoall"),
        ("userbuffers_fp16_sum_inplace_gpu_rr_rs_oop_fp8<8>(int, int)", "reduce_scatter"),
        ("void userbuffers_fp16_sum_inplace_gpu_mc_ag<4>(int)", "all_gather"),
        ("void userbuffers_fp16_sum_inplace_gpu_rw<8>(int)", "all_reduce"),
        ("kuserbuffers_pushsendrecv_multiatomic(int*, int)", "sendrecv"),
        ("kuserbuffers_pushrecv(int, int, int*)", "sendrecv"),
        ("void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half, CodecQ4>>(...)", "all_reduce"),
        ("void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>(...)", "reduce_scatter"),
        ("void mscclpp::collective::allreducePacket<(mscclpp::ReduceOp)0, __half, true>(...)", "all_reduce"),
        ("void mscclpp::executionKernel<__half, mscclpp::LL16Packet, false>(...)", "other"),
        ("mscclKernel_Sum_half_Simple_false(ncclDevComm*)", "other"),
        ("oneccl_allreduce_small_bf16", "all_reduce"),
        ("typeinfo name for AllgatherMediumKernel_read_write<sycl::half, 4>", "all_gather"),
        ("typeinfo name for Kernel_gather_from_remote_and_dist_to_rank_pair<float, 4>", "gather"),
        ("void mori::moe::EpDispatchIntraNodeKernel<hip_bfloat16>(mori::moe::EpDispatchCombineArgs<hip_bfloat16>)", "alltoall"),
        ("EpCombineLowLatencyAsyncSendCopy_bf16", "alltoall"),
        ("void hybrid_ep::dispatch_kernel<hybrid_ep::warp_group<1, 0>, 4, 128>(...)", "alltoall"),
        ("void (anonymous namespace)::dispatchKernel<10, true>(...)", "alltoall"),
        ("void pplx::combineKernel<8, float, __nv_bfloat16>(...)", "alltoall"),
        ("void deep_ep::internode_ll::combine<true, 7168, 11, 4>(...)", "alltoall"),
        ("void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 2>(...)", "all_reduce"),
        ("nvshmemi_fcollect_kernel", "other"),
    ],
)  # fmt: skip
def test_a_kernels_name_says_that_and_what_it_communicates(name: str, kind: str) -> None:
    assert communicates(name)
    assert collective_kind(name) == kind


@each(
    "name",
    [
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float>",
        "Memcpy DtoD (Device -> Device)",
        "triton_poi_fused_add_all_reduce_wait_tensor_3",
        "triton_red_fused__to_copy_all_gather_into_tensor_mean_0",
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<AllReduceEpilogue>>",
        "void oneflow::softmax::BlockAllReduce<SumOp, float, 512>(...)",
        "void mscclpp::megamoe::detail::megaMoe<false>()",
        "void flash::FlashAttnFwdCombine<float, 64>(...)",
        "void at::native::index_scatter_reduce<float>(...)",
    ],
)
def test_a_reduction_on_one_gpu_is_compute(name: str) -> None:
    assert not communicates(name)


def test_each_family_of_kernels_has_a_source() -> None:
    assert all(one.source and one.pattern for one in FAMILIES)
    assert len({one.library for one in FAMILIES}) == len(FAMILIES)


@each(
    ("dtype", "width"),
    [
        ("Float", 4), ("BFloat16", 2), ("Float8_e4m3fn", 1), ("c10::Half", 2), ("float32", 4),
        ("torch.float64", 8), ("bfloat16", 2), ("float16", 2), ("int64", 8), ("int32", 4),
        ("uint8", 1), ("int8", 1), ("uint16", 2), ("bool", 1), ("complex64", 8), ("ComplexHalf", 4),
        ("float8_e5m2fnuz", 1), ("float8_e8m0fnu", 1), ("float4_e2m1fn_x2", 1), ("QUInt8", 1),
        ("qint32", 4), ("Bits16", 2), ("ncclBfloat16", 2), ("Byte", 1), ("Long", 8),
    ],
)  # fmt: skip
def test_elements_are_as_wide_as_pytorch_prints_them(dtype: str, width: int) -> None:
    assert collective_bytes("all_reduce", Arguments(given="10", dtype=dtype)) == 10 * width


def test_an_unknown_type_of_elements_has_no_width() -> None:
    for dtype in ("float", "Undefined", "float7", "int", 32, None):
        known = collective_bytes("all_reduce", Arguments(given=10, dtype=dtype))
        assert known == {"float": 40, "int": 40}.get(str(dtype))


def test_bus_factors_are_those_of_nccl_tests() -> None:
    # doc/PERFORMANCE.md: 2(n-1)/n for all-reduce; (n-1)/n for these; 1 for broadcast and reduce
    assert bus_factor("all_reduce", 8) == 1.75
    assert {bus_factor(kind, 8) for kind in ("all_gather", "reduce_scatter", "alltoall")} == {0.875}
    assert bus_factor("broadcast", 8) == bus_factor("reduce", 8) == bus_factor("sendrecv", 8) == 1


def row(found: TraceReport, kind: str) -> dict[str, object]:
    rows = found.record()["collectives"]
    assert isinstance(rows, list)
    found_rows = [one for one in rows if isinstance(one, dict) and one["kind"] == kind]
    return dict(found_rows[0])


def test_bytes_and_bus_bandwidth_of_a_made_all_reduce() -> None:
    found = report_of_events(work(0, 400), collective(10, 110, 3_000_000), collective(200, 300, 50))
    assert row(found, "all_reduce") == {
        "kind": "all_reduce",
        "count": 2,
        "bytes": 6_000_100,
        "time": pytest.approx(200 * MICRO),
        # the largest: 6 MB in 100 us among 4 ranks, of which 2 * 3/4 count
        "busbw": pytest.approx(90e9),
    }


def test_an_all_gather_counts_what_comes_out() -> None:
    said: dict[str, object] = {"Collective name": "_allgather_base", "In msg nelems": 1000,
        "Out msg nelems": 8000, "Group size": 8, "dtype": "Float8_e4m3fn"}  # fmt: skip
    found = report_of_events(work(0, 10, "ncclDevKernel_Generic_1(x)", launched=-5, said=said))
    assert row(found, "all_gather")["bytes"] == 8000
    assert row(found, "all_gather")["busbw"] == pytest.approx(8000 * 7 / 8 / (10 * MICRO))


def test_a_generic_kernel_takes_kind_and_bytes_from_the_hosts_call() -> None:
    call: Event = {
        "ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": 1, "dur": 2,
        "args": {"External id": 77, "Collective name": "_reduce_scatter_base", "In msg nelems": 640,
                 "Out msg nelems": 80, "Group size": 8, "dtype": "Float"},
    }  # fmt: skip
    kernel = work(10, 20, "ncclDevKernel_Generic(x)", launched=5, said={"External id": 77})
    for events in ([call, *kernel], [*kernel, call]):
        found = report_of_events(events)
        assert row(found, "reduce_scatter")["bytes"] == 2560


def test_without_bytes_the_bandwidth_is_unknown_and_said_to_be() -> None:
    found = report_of_events(work(0, 10, "ncclKernel_AllReduce_RING_LL_Sum_float(x)", launched=-1))
    assert row(found, "all_reduce") == {
        "kind": "all_reduce", "count": 1, "bytes": 0, "time": pytest.approx(10 * MICRO), "busbw": None,
    }  # fmt: skip
    assert any("does not say how many bytes" in doubt for doubt in found.doubts)


def job(*arrivals: tuple[float, ...], end: float = 50) -> list[TraceReport]:
    """Ranks that arrive at their collectives at these times after 0, 100, 200...

    A collective ends for all of them *end* after the beginning of its hundred; each rank computes
    until it arrives, and for ten more.
    """
    ranks = []
    for number, times in enumerate(arrivals):
        events = []
        for at, arrival in enumerate(times):
            begin = 100 * at + arrival
            events += work(100 * at, begin + 10, launched=100 * at - 20)
            events += collective(begin, 100 * at + end, 1_000_000)
        skewed = [{**event, "ts": float(str(event["ts"])) + 7e6 * number} for event in events]
        ranks.append(rank_of(trace(skewed, rank=number, world_size=4), f"rank {number}"))
    return list(reports(ranks))


def test_waiting_for_the_slowest_rank_is_told_apart_from_transfer() -> None:
    first, second, last = job((10, 10), (20, 12), (30, 30))
    assert first.ranks == 3
    assert [one.skew for one in (first, second, last)] == pytest.approx([40e-6, 28e-6, 0])
    # of each wait, 10 are hidden behind compute
    assert first.exposed_skew == pytest.approx(20e-6)
    assert second.exposed_skew == pytest.approx(8e-6)
    assert first.last == second.last == (2, 100)
    for report in (first, second, last):  # 2 MB in the 20 us of the rank that arrives last
        assert row(report, "all_reduce")["busbw"] == pytest.approx(1.5 * 2e6 / 20e-6)
    assert not any("at least" in doubt for doubt in first.doubts)
    assert first.record()["skew"] == first.skew


def test_one_rank_alone_says_that_its_bandwidths_are_lower_bounds() -> None:
    (alone,) = job((10, 10))
    assert alone.skew == 0
    assert "skew" not in alone.record()
    assert any("rank 0 of 4 alone" in doubt and "at least" in doubt for doubt in alone.doubts)


def test_many_ranks_without_communication_name_the_largest_kernels() -> None:
    events = work(0, 70, "strange_push<8>(int)", launched=-1) + work(80, 90, launched=75)
    doubts = rank_report(trace(events, rank=0, world_size=8)).doubts
    assert any("8 ranks" in one and "strange_push (70 µs)" in one for one in doubts)
    events += work(95, 99, "kuserbuffers_pushrecv(int)", launched=80)
    doubts = rank_report(trace(events, rank=0, world_size=8)).doubts
    assert not any("known to communicate" in one for one in doubts)


def rank_report(file: bytes) -> TraceReport:
    return reports([rank_of(file)])[0]


def test_groups_are_matched_by_the_ranks_in_them() -> None:
    def rank(number: int, group: str, begin: float) -> bytes:
        said: dict[str, object] = {"Group size": 2, "Process Group Name": "1", "Process Group Ranks": group}
        return trace(work(0, 5) + collective(begin, 60, said=said), rank=number, world_size=4)  # fmt: skip

    files = [rank(0, "[0, 1]", 10), rank(1, "[0, 1]", 20), rank(2, "[2, 3]", 30), rank(3, "[2, 3]", 55)]
    found = reports([rank_of(file) for file in files])  # fmt: skip
    assert [one.skew for one in found] == pytest.approx([10e-6, 0, 25e-6, 0])


def test_a_group_that_is_not_the_job_is_not_guessed() -> None:
    files = [
        trace(collective(begin, 60, said={"Group size": 2}), rank=number, world_size=4)
        for number, begin in enumerate((10, 20))
    ]
    assert [one.skew for one in reports([rank_of(file) for file in files])] == [0, 0]


def test_ranks_whose_calls_differ_are_not_matched() -> None:
    found = job((10, 10, 10), (20, 20))
    assert [one.skew for one in found] == [0, 0]
    assert any("different calls (all_reduce)" in doubt for doubt in found[0].doubts)


def test_two_jobs_in_one_command_are_not_compared() -> None:
    files = [trace(flat([collective(5, 20)]), rank=0, world_size=world) for world in (4, 8)]
    assert [one.ranks for one in reports([rank_of(file) for file in files])] == [1, 1]


def test_a_file_is_read_from_any_binary_source() -> None:
    assert rank_of(io.BytesIO(trace(collective(5, 20))).getvalue()).calls[0].size == 2000
