"""Out-of-memory errors of every program and version: their numbers, and the tensors that have that size."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import wrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.memory import state_bytes
from app.core.formulas.presets import ModelShape
from app.core.formulas.transformer import model_parameters
from app.core.measurements.file_reader import read_files, read_stored, saved_report
from app.core.measurements.memory_shortage import ShortageExplanation, explain_shortage
from app.core.measurements.reports import MemoryShortage, TrainingLog, UnreadFile
from app.core.measurements.tensor_sizes import (
    RequestRange,
    TensorCandidate,
    TensorContext,
    TensorRole,
    cache_candidates,
    cures_of,
    every_model,
    known_candidates,
    tensor_candidates,
)
from tests.each import each

MEBI, GIBI = 1 << 20, 1 << 30
LLAMA = ModelShape.named("Llama-3-8B")
# Each as its program printed it. The words say where it is from.
MESSAGES: dict[str, tuple[str, dict[str, object]]] = {
    # PyTorch 1.5 of 2020, an issue of unilm
    "pytorch 1.5": (
        "RuntimeError: CUDA out of memory. Tried to allocate 128.00 MiB (GPU 0; 11.17 GiB total capacity; 10.85 GiB"
        " already allocated; 24.81 MiB free; 10.86 GiB reserved in total by PyTorch)",
        {"asked": 128 * MEBI, "total": 11.17 * GIBI, "allocated": 10.85 * GIBI, "free": 24.81 * MEBI,
         "unallocated": 10.86 * GIBI - 10.85 * GIBI},
    ),
    # PyTorch 1.13 with a limit for each process, of an issue of PyTorch itself, 2023
    "pytorch with a limit": (
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB (GPU 3; 11.93 GiB total capacity; 10.67 GiB"
        " already allocated; 515.38 MiB free; 11.93 GiB allowed; 10.92 GiB reserved in total by PyTorch) If reserved",
        {"asked": 4 * GIBI, "total": 11.93 * GIBI, "free": 515.38 * MEBI, "ranks": 4},
    ),
    # PyTorch 2.1, with its misspelled word, five processes on an RTX 3090: an issue of LLaMA-Factory, 2023
    "pytorch 2.1 with processes": (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 136.00 MiB. GPU 0 has a total capacty of"
        " 23.65 GiB of which 93.81 MiB is free. Process 62201 has 398.00 MiB memory in use. Process 62203 has 398.00 MiB"
        " memory in use. Process 62204 has 398.00 MiB memory in use. Process 62200 has 21.98 GiB memory in use. Process"
        " 62202 has 398.00 MiB memory in use. Of the allocated memory 21.51 GiB is allocated by PyTorch, and 2.30 MiB is"
        " reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb",
        {"asked": 136 * MEBI, "process": 21.98 * GIBI, "allocated": 21.51 * GIBI, "unallocated": 2.3 * MEBI,
         "others": (398.0 * MEBI,) * 4},
    ),
    # PyTorch 2.9 in four processes, of an issue of keys_values, 2025
    "pytorch 2.9": (
        "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 572.00 MiB. GPU 0 has a total capacity"
        " of 39.49 GiB of which 321.31 MiB is free. Process 3721648 has 414.00 MiB memory in use. Including non-PyTorch"
        " memory, this process has 37.46 GiB memory in use. Process 1374765 has 414.00 MiB memory in use. Of the"
        " allocated memory 36.04 GiB is allocated by PyTorch, and 321.37 MiB is reserved by PyTorch but unallocated. If"
        " reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid",
        {"asked": 572 * MEBI, "process": 37.46 * GIBI, "others": (414.0 * MEBI,) * 2, "doubts": ()},
    ),
    # PyTorch on AMD, of an issue of ComfyUI, 2025
    "rocm": (
        "HIP out of memory. Tried to allocate 432.00 MiB. GPU 0 has a total capacity of 15.92 GiB of which 7.12 GiB is"
        " free. Of the allocated memory 8.08 GiB is allocated by PyTorch, and 321.96 MiB is reserved by PyTorch but"
        " unallocated. If reserved but unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF",
        {"asked": 432 * MEBI, "free": 7.12 * GIBI, "program": "PyTorch"},
    ),
    # PyTorch on a Mac, which writes GB for GiB, of an issue of ComfyUI, 2025
    "mps": (
        "MPS backend out of memory (MPS allocated: 17.68 GB, other allocations: 3.95 MB, max allowed: 18.13 GB). Tried"
        " to allocate 1024.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit",
        {"asked": GIBI, "total": 18.13 * GIBI, "allocated": 17.68 * GIBI, "program": "PyTorch with MPS"},
    ),
    # Memory of the host, as DeepSpeed's offload runs into: PyTorch's own words
    "host": (
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you"
        " tried to allocate 26953662464 bytes. Error code 12 (Cannot allocate memory)",
        {"asked": 26953662464.0, "program": "PyTorch on the host"},
    ),
    # JAX on a GPU, of an issue of AFProfile, 2023, and of one of graphcast, 2024
    "jax": (
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354232"
        " bytes.",
        {"asked": 4770354232.0, "program": "JAX", "half_digit": 0.0},
    ),
    "jax request": (
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 2.99GiB (3206250496B)"
        " on device ordinal 0",
        {"asked": 3206250496.0, "program": "JAX", "half_digit": 0.0},
    ),
    # XLA on a TPU, of an issue of LWM, 2024
    "tpu": (
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in"
        " memory space hbm. Used 21.95G of 15.48G hbm. Exceeded hbm capacity by 6.47G.",
        {"asked": 21.95 * GIBI, "total": 15.48 * GIBI, "program": "XLA", "doubts": ()},
    ),
    # vLLM of 2024, 2025 and 2026, of its own issues
    "vllm 0.2": (
        "ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV"
        " cache (3664). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the",
        {"tokens": 4096, "room_tokens": 3664, "asked": None, "program": "vLLM"},
    ),
    "vllm 0.8": (
        "ERROR 04-05 01:12:55 [core.py:390] ValueError: To serve at least one request with the models's max seq len"
        " (1048576), (24.00 GiB KV cache is needed, which is larger than the available KV cache memory (9.97 GiB). Try",
        {"tokens": 1048576, "asked": 24.0 * GIBI, "free": 9.97 * GIBI, "room_tokens": None},
    ),
    "vllm 0.15": (
        "(EngineCore_DP0 pid=1094) ValueError: To serve at least one request with the models's max seq len (262144),"
        " (24.0 GiB KV cache is needed, which is larger than the available KV cache memory (3.18 GiB). Based on the"
        " available memory, the estimated maximum model length is 34736. Try increasing `gpu_memory_utilization`",
        {"tokens": 262144, "asked": 24.0 * GIBI, "free": 3.18 * GIBI, "room_tokens": 34736},
    ),
    "vllm at its start": (
        "ValueError: Free memory on device cuda:0 (5.9/23.64 GiB) on startup is less than desired GPU memory utilization"
        " (0.9, 21.28 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        {"asked": 21.28 * GIBI, "total": 23.64 * GIBI, "free": 5.9 * GIBI, "program": "vLLM"},
    ),
}  # fmt: skip


def read(tmp_path: Path, text: str) -> list[MemoryShortage]:
    path = tmp_path / "printed.log"
    path.write_text(text, encoding="utf-8")
    found = read_files([path])
    assert all(isinstance(one, MemoryShortage) for one in found), found
    return [one for one in found if isinstance(one, MemoryShortage)]


def explained(tmp_path: Path, text: str, **fields: str) -> ShortageExplanation:
    (found,) = read(tmp_path, text)
    return explain_shortage(found, fields)


@each("name", MESSAGES)
def test_a_message_is_read_as_it_was_printed_and_stored(name: str, tmp_path: Path) -> None:
    text, expected = MESSAGES[name]
    (found,) = read(tmp_path, f"Traceback (most recent call last):\n{text}\n")
    for field, value in expected.items():
        assert getattr(found, field) == pytest.approx(value), field
    assert read_stored(saved_report(found)) == found
    assert explain_shortage(found, {}).headline


@each("name", MESSAGES)
def test_a_message_that_a_terminal_wrapped_says_the_same(name: str, tmp_path: Path) -> None:
    text, expected = MESSAGES[name]
    for width in (60, 97):
        pieces = [text[at : at + width] for at in range(0, len(text), width)]
        for lines in (wrap(text, width, break_long_words=False, break_on_hyphens=False), pieces):
            (found,) = read(tmp_path, "\n".join(lines))
            assert found.asked == pytest.approx(expected.get("asked", found.asked)), (width, lines)
            assert found.free == pytest.approx(expected.get("free", found.free)), (width, lines)


def test_a_message_that_eight_ranks_print_is_one_report(tmp_path: Path) -> None:
    text, _ = MESSAGES["pytorch 2.9"]
    (found,) = read(tmp_path, "\n".join(text.replace("rank0", f"rank{rank}") for rank in range(8)))
    assert (found.times, found.ranks) == (8, 8)


def test_other_numbers_are_other_reports_up_to_four(tmp_path: Path) -> None:
    text, _ = MESSAGES["pytorch 2.9"]
    found = read(tmp_path, "\n".join(text.replace("572.00", f"{size}.00") for size in range(400, 500, 2)))
    assert [round((one.asked or 0) / MEBI) for one in found] == [400, 402, 404, 406]
    assert "46 further messages with other numbers are left out" in found[0].doubts


def test_an_error_after_the_steps_of_a_log_is_a_report_beside_the_log(tmp_path: Path) -> None:
    steps = [
        f"[2026-01-02 10:00:0{n}] iteration {n}/ 100 | elapsed time per iteration (ms): 1500.0 |" for n in range(1, 4)
    ]
    path = tmp_path / "printed.log"
    path.write_text("\n".join([*steps, MESSAGES["pytorch 2.9"][0]]))
    found = read_files([path])
    assert {type(one) for one in found} == {TrainingLog, MemoryShortage}


def test_a_message_that_is_cut_says_so(tmp_path: Path) -> None:
    (found,) = read(tmp_path, MESSAGES["pytorch 2.9"][0].split(" of which")[0])
    assert found.asked == 572 * MEBI
    assert "the message is cut" in found.doubts[0]


def test_a_size_that_no_device_has_is_left_out_with_a_doubt(tmp_path: Path) -> None:
    text = MESSAGES["pytorch 2.9"][0].replace("37.46 GiB", "17179869184.00 GiB")  # as under Windows
    (found,) = read(tmp_path, text)
    assert found.process is None
    assert "17179869184.00 GiB is more than any device has" in found.doubts[0]


HOSTILE = {
    "digits": "Tried to allocate " + "9" * 100_000 + " GiB",
    "zero": "Tried to allocate 0 bytes",
    "signs": "Tried to allocate -5 GiB. GPU nan has a total capacity of inf GiB of which 1e400 GiB is free.",
    "words": "Tried to allocate much. max seq len (many)",
    "processes": "Tried to allocate 2.50 GiB. " + "Process 1 has 1.00 GiB memory in use. " * 20_000,
    "spaces": "Tried to allocate" + " " * 200_000 + "2.50 GiB",
    "empty sizes": "max seq len (0) KV cache (0 GiB KV cache is needed, KV cache memory (0 GiB)",
    "many tokens": "max seq len (999999999999), (0.01 GiB KV cache is needed) KV cache memory (0.01 GiB)",
    "tiny": "Tried to allocate 1 bytes (GPU 9999; 1 bytes total capacity; 1 bytes already allocated; 1 bytes free)",
    "a script": "model: <script>alert(1)</script>\nCUDA out of memory. Tried to allocate 2.50 GiB",
}


@each("name", HOSTILE)
def test_a_hostile_message_is_read_or_refused_within_limits(name: str, tmp_path: Path) -> None:
    path = tmp_path / "sent"
    path.write_text(HOSTILE[name] + "\n")
    for found in read_files([path]):
        assert isinstance(found, MemoryShortage | UnreadFile)
        if isinstance(found, MemoryShortage):
            assert read_stored(saved_report(found)) == found
            assert explain_shortage(found, {}).headline
            assert explain_shortage(found, {"model": "Llama-3-8B", "layout": "data=2 sequence=4096"}).headline
            assert "<script>" not in repr(found)


# The arithmetic.


def printed_by_pytorch(request: int) -> tuple[float, float]:
    """The size that PyTorch prints for a *request* of bytes, and half of its last digit: an oracle of its allocator."""
    if request <= MEBI:
        size = 2 * MEBI
    elif request < 10 * MEBI:
        size = 20 * MEBI
    else:
        size = -(-request // (2 * MEBI)) * 2 * MEBI
    unit = GIBI if size >= GIBI else MEBI
    return float(f"{size / unit:.2f}") * unit, 0.005 * unit


def printed_range(request: int) -> RequestRange:
    return RequestRange.of(*printed_by_pytorch(request), rounded=True)


@given(st.integers(10 * MEBI, 1 << 40))
def test_what_was_asked_for_is_in_the_range_of_what_was_printed(request: int) -> None:
    asked = printed_range(request)
    assert asked.has(request)
    assert asked.high - asked.low <= 0.0101 * GIBI + 2 * MEBI


@given(st.integers(10 * MEBI, 1 << 40), st.integers(1, 1 << 40))
def test_what_is_printed_otherwise_is_not_in_the_range(request: int, other: int) -> None:
    same = printed_by_pytorch(request) == printed_by_pytorch(max(other, 10 * MEBI))
    assert printed_range(request).has(max(other, 10 * MEBI)) == same


@given(st.sampled_from(every_model()), st.sampled_from((2, 4)))
def test_all_weights_of_a_model_are_found_again(model: ModelShape, width: int) -> None:
    size = round(state_bytes(1, width, 0, 0) * model_parameters(model))
    first = tensor_candidates(printed_range(size), model, TensorContext())[0]
    assert (first.size, first.off, first.tokens) == (size, 0.0, 0)


@given(
    st.sampled_from([model for model in every_model() if model.vocabulary > 30_000]),
    st.integers(1, 15),
    st.integers(11, 16),
)
def test_logits_of_a_round_number_of_tokens_are_found_again(model: ModelShape, odd: int, power: int) -> None:
    tokens = odd << power
    found = tensor_candidates(
        printed_range(tokens * model.vocabulary * 4), model, TensorContext(role=TensorRole.LOGITS)
    )
    known = tensor_candidates(printed_range(tokens * model.vocabulary * 4), model, TensorContext(tokens=tokens))
    assert any(one.role is TensorRole.LOGITS and one.tokens == tokens for one in found)
    assert any(one.role is TensorRole.LOGITS and one.tokens == 0 for one in known)  # nothing is left open


@given(st.sampled_from(every_model()), st.integers(2, 64), st.sampled_from((2, 4)))
def test_a_shard_is_the_whole_over_the_ranks(model: ModelShape, ranks: int, width: int) -> None:
    size = math.ceil(model_parameters(model) / ranks) * width
    if size < 10 * MEBI:
        return
    found = tensor_candidates(printed_range(size), model, TensorContext(ranks=ranks))
    assert any(one.role is TensorRole.SHARD and one.size == size for one in found)


@given(st.integers(10 * MEBI, 1 << 38))
def test_a_candidate_agrees_with_what_was_printed_and_no_cure_saves_more_than_it(request: int) -> None:
    asked = printed_range(request)
    for model in (LLAMA, ModelShape.named("DeepSeek-V3")):
        for one in tensor_candidates(asked, model, TensorContext(ranks=8)):
            assert asked.has(one.size) == (one.off == 0)
            assert abs(one.off) <= 0.01
            assert all(0 < cure.saves <= one.size for cure in cures_of(one))


def match(printed: float, unit: int, model: str, **context: int) -> TensorCandidate:
    asked = RequestRange.of(printed * unit, 0.005 * unit, rounded=True)
    return tensor_candidates(asked, ModelShape.named(model), TensorContext(**context))[0]  # type: ignore[arg-type]


def test_sizes_of_public_threads_are_those_of_their_tensors() -> None:
    # Llama-3-8B has 8,030,261,248 parameters, by its weights.
    assert match(14.96, GIBI, "Llama-3-8B").arithmetic == "8,030,261,248 parameters × 2 bytes = 14.96 GiB"
    # ZeRO 2 on eight V100, in `exp_avg_sq.sqrt()`: an issue of LLaMA-Factory, 2023.
    shard = match(3.14, GIBI, "Llama-2-7B", ranks=8)
    assert (shard.role, shard.element_bytes, shard.size) == (TensorRole.SHARD, 4, 6_738_415_616 // 8 * 4)
    # 135 MiB, printed as 136: Llama-2-13B, an issue of LLaMA-Factory, 2023.
    assert match(136.00, MEBI, "Llama-2-13B").size == 5_120 * 13_824 * 2
    # A test of Liger's cross-entropy with 8 × 4,096 tokens in BF16, 2024.
    assert match(7.83, GIBI, "Llama-3-8B").tokens == 32_768
    # Of an issue of slime, 2026: [T, 76032] in FP32, half of a padded vocabulary, T about 205,280 (a pull request of it).
    (logits,) = (
        one
        for one in tensor_candidates(
            RequestRange.of(58.15 * GIBI, 0.005 * GIBI, rounded=True),
            ModelShape.named("Qwen3-4B"),
            TensorContext(tensor=2, tokens=205_300),
        )
        if one.role is TensorRole.LOGITS
    )
    assert logits.arithmetic == "205,300 tokens × 76,032 × 4 bytes = 58.15 GiB"
    # vLLM, Qwen3-Coder-30B-A3B, which has the shape of Qwen3-30B-A3B, 2026.
    cache = cache_candidates(RequestRange.of(24 * GIBI, 0.05 * GIBI, rounded=False), 262_144, every_model())
    assert "Qwen3-30B-A3B" in cache[0].models
    assert cache[0].size == 262_144 * 2 * 48 * 4 * 128 * 2


def test_without_a_model_every_known_one_is_compared_and_those_alike_are_told_together() -> None:
    asked = RequestRange.of(112 * MEBI, 0.005 * MEBI, rounded=True)
    (found,) = known_candidates(asked, TensorContext())
    assert {"Llama-3-8B", "Mistral-7B"} <= set(found.models)
    assert found.size == 4_096 * 14_336 * 2


def test_attention_scores_are_found_where_the_length_is_known() -> None:
    found = match(4.0, GIBI, "Llama-2-7B", tokens=8_192, sequence=8_192)
    assert found.role is TensorRole.SCORES
    assert found.size == 32 * 8_192 * 8_192 * 2


def test_nothing_that_agrees_is_said_plainly_with_what_is_left_open(tmp_path: Path) -> None:
    said = explained(tmp_path, "CUDA out of memory. Tried to allocate 13535.27 GiB", model="Llama-3-8B")
    assert not said.candidates
    assert "No tensor of Llama-3-8B that is looked for has this size." in said.says
    tokens = 13535.27 * GIBI / 128_256 / 2
    assert f"{tokens / 1e6:.0f},"[:3] in said.says


@each("size", (2, 20))
def test_a_block_of_pytorch_is_no_tensor(size: int, tmp_path: Path) -> None:
    said = explained(tmp_path, f"CUDA out of memory. Tried to allocate {size}.00 MiB", model="Llama-3-8B")
    assert not said.candidates
    assert "the GPU was full before" in said.says


def test_the_line_of_the_traceback_above_the_error_orders_the_candidates(tmp_path: Path) -> None:
    error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1002.00 MiB"
    (plain,) = read(tmp_path, error)
    (hinted,) = read(tmp_path, f"    loss = nn.functional.cross_entropy(source, target)\n{error}")
    orders = [
        [one.role for one in explain_shortage(found, {"model": "Llama-3-8B"}).candidates] for found in (plain, hinted)
    ]
    assert [order[0] for order in orders] == [TensorRole.MATRIX, TensorRole.LOGITS]
    assert all(set(order) == {TensorRole.MATRIX, TensorRole.LOGITS} for order in orders)


def test_the_model_that_the_text_names_is_compared(tmp_path: Path) -> None:
    text = f"model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\n{MESSAGES['pytorch 2.9'][0]}"
    (found,) = read(tmp_path, text)
    assert found.model == "Llama-3-8B"


FRAGMENTED = (
    "CUDA out of memory. Tried to allocate 22.78 GiB. GPU 0 has a total capacity of 79.15 GiB of which {free} GiB is"
    " free. Including non-PyTorch memory, this process has 50.00 GiB memory in use. Of the allocated memory 39.35 GiB"
    " is allocated by PyTorch, and {reserved} GiB is reserved by PyTorch but unallocated."
)


@each(("free", "reserved", "says"), [("12.73", "10.05", "enough for this request"), ("12.72", "10.05", "not enough")])
def test_what_is_reserved_without_a_tensor_is_enough_or_not(
    free: str, reserved: str, says: str, tmp_path: Path
) -> None:
    said = explained(tmp_path, FRAGMENTED.format(free=free, reserved=reserved))
    (cure,) = (one for one in said.cures if "expandable_segments" in one.says)
    assert cure.says.endswith(says)
    assert cure.saves == pytest.approx(10.05 * GIBI)


def test_hardly_anything_reserved_is_no_fragmentation(tmp_path: Path) -> None:
    said = explained(tmp_path, FRAGMENTED.format(free="12.73", reserved="1.50"))
    assert not any("expandable_segments" in one.says for one in said.cures)
    assert any(note.startswith("It is not fragmentation") for note in said.notes)


def test_the_account_adds_up_to_what_is_in_use(tmp_path: Path) -> None:
    account = dict(explained(tmp_path, FRAGMENTED.format(free="29.15", reserved="10.05")).account)
    assert account.pop("In all") == pytest.approx(sum(account.values()))
    assert account["CUDA, NCCL and libraries of this process"] == pytest.approx(0.6 * GIBI)


@each("name", MESSAGES)
def test_an_account_lists_what_was_printed_and_no_cure_is_told_twice(name: str, tmp_path: Path) -> None:
    said = explained(tmp_path, MESSAGES[name][0])
    assert all(size > 0 for _, size in said.account)
    assert len({one.says for one in said.cures}) == len(said.cures)


@each(("layout", "scores"), [
    ("sequence=8192", "8,192 tokens × 32 heads × 8,192 keys × 2 bytes = 4 GiB"),
    ("sequence=8192 context=2", "4,096 tokens × 32 heads × 8,192 keys × 4 bytes = 4 GiB"),
    ("sequence=2048 micro_batch=4", ""),
    ("micro_batch=4", ""),
])  # fmt: skip
def test_a_layout_that_says_its_sequences_tells_the_scores_of_attention(
    layout: str, scores: str, tmp_path: Path
) -> None:
    error = "CUDA out of memory. Tried to allocate 4.00 GiB"
    said = explained(tmp_path, error, model="Llama-2-7B", layout=layout)
    assert [one.arithmetic for one in said.candidates if one.role is TensorRole.SCORES] == [scores] * bool(scores)


@each(("gpus", "too_much"), [("", True), ("DGX-H100 gpus=8", False)])
def test_states_that_no_gpu_has_room_for_are_told_unless_enough_share_them(
    gpus: str, too_much: bool, tmp_path: Path
) -> None:
    error = FRAGMENTED.format(free="12.73", reserved="1.50")
    note = explained(tmp_path, error, model="Llama-3-8B", cluster=gpus).notes[-1]
    assert "takes 128 GB of weights, gradients and optimizer states" in note
    assert note.endswith("more than the GPU has.") is too_much
    assert ("or 16.1 GB on each of 8 GPUs" in note) is not too_much


GPUS_OF = {
    "79.15": {"A100 SXM 80GB", "H100 SXM"},
    "39.39": {"A100 SXM 40GB"},
    "139.81": {"H200 SXM"},
    "31.75": {"V100 SXM2"},
    "191.98": {"MI300X"},
    "56.00": set[str](),
}
OTHERS = {"H100 NVL", "GH200 144GB"}  # of 94 and 144 GB, which report more


@each("total", GPUS_OF)
def test_the_gpu_follows_from_the_memory_that_it_reports(total: str, tmp_path: Path) -> None:
    text = (
        f"CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of {total} GiB of which 1.00 GiB"
    )
    names = {gpu.name for gpu in explained(tmp_path, text).gpus}
    assert names >= GPUS_OF[total]
    assert bool(names) is bool(GPUS_OF[total])
    assert not any(name.startswith("TPU") for name in names)
    assert not names & OTHERS


def test_a_model_that_is_unknown_is_an_error_that_offers_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="did you mean"):
        explained(tmp_path, MESSAGES["rocm"][0], model="Llama-3-8C")


# What was printed, and what is said of it: the headline, a part of the verdict, of the notes, and the last cure.
PRINTED: Mapping[str, tuple[MemoryShortage, str, str, str, str]] = {
    "nothing": (MemoryShortage(program="X"), "No memory was left for what X asked for.", "", "", ""),
    "a request": (MemoryShortage(program="JAX", asked=3 * GIBI), "JAX asked for 3 GiB.", "by chance", "JAX asks for all", ""),
    "a little too much": (
        MemoryShortage(program="PyTorch", asked=3 * GIBI, free=2 * GIBI),
        "PyTorch asked for 3 GiB, and 2 GiB was free: 1 GiB too little.", "", "", "",
    ),
    "as much as was free": (
        MemoryShortage(program="PyTorch", asked=2 * GIBI, free=2 * GIBI),
        "PyTorch asked for 2 GiB; 2 GiB was free, but not in one piece, or not for this process.", "", "", "",
    ),
    "a program of XLA": (
        MemoryShortage(program="XLA", asked=100 * GIBI, total=80 * GIBI),
        "The compiled program takes 100 GiB of 80 GiB.", "not one tensor", "", "",
    ),
    "a cache by its tokens": (
        MemoryShortage(program="vLLM", tokens=8192, room_tokens=4096),
        "One request may have 8,192 tokens, and the cache has room for 4,096.", "", "", "",
    ),
    "a cache by its bytes": (
        MemoryShortage(program="vLLM", tokens=8192, room_tokens=4096, asked=4 * GIBI, free=2 * GIBI),
        "The cache of one request of 8,192 tokens takes 4 GiB; there is room for 2 GiB.", "keys and values", "",
        "--max-model-len 4096",
    ),
    "a large block": (MemoryShortage(program="PyTorch", asked=20 * 2**20), "", "between 1 and 10 MiB", "", ""),
    "a small block": (MemoryShortage(program="PyTorch", asked=2 * 2**20), "", "up to 1 MiB", "", ""),
    "more than all": (
        MemoryShortage(program="PyTorch", asked=81 * GIBI, free=GIBI, total=80 * GIBI), "", "", "more than the GPU has", "",
    ),
    "a fiftieth in reserve": (
        MemoryShortage(program="PyTorch", asked=3 * GIBI, free=GIBI, total=80 * GIBI, unallocated=1.6 * GIBI),
        "", "", "It is not fragmentation: only 1.6 GiB", "micro-batch",
    ),
    "more in reserve, not enough": (
        MemoryShortage(program="PyTorch", asked=3 * GIBI, free=GIBI, total=80 * GIBI, unallocated=1.7 * GIBI),
        "", "", "", "with what is free, not enough",
    ),
    "enough in reserve": (
        MemoryShortage(program="PyTorch", asked=3 * GIBI, free=GIBI, total=80 * GIBI, unallocated=2 * GIBI),
        "", "", "", "with what is free, enough for this request",
    ),
    "others": (
        MemoryShortage(program="PyTorch", asked=3 * GIBI, free=GIBI, total=80 * GIBI, others=(GIBI, 2 * GIBI)),
        "", "", "", "the other processes on this GPU",
    ),
}  # fmt: skip


@each("what", PRINTED)
def test_an_error_is_told_by_what_was_printed_of_it(what: str) -> None:
    found, headline, verdict, note, cure = PRINTED[what]
    told = explain_shortage(found, {})
    assert told.headline == headline or not headline
    assert verdict in told.says
    assert note in " ".join(told.notes)
    assert bool(told.notes) is bool(note)
    assert not cure or cure in told.cures[-1].says


def test_an_account_has_what_is_of_this_process_of_others_and_free() -> None:
    found = MemoryShortage(
        program="PyTorch", total=80 * GIBI, allocated=70 * GIBI, unallocated=1.5 * GIBI, process=75 * GIBI,
        others=(GIBI, 2 * GIBI), free=2 * GIBI,
    )  # fmt: skip
    sizes = [size / GIBI for _, size in explain_shortage(found, {}).account]
    assert sizes == [80, 70, 1.5, 3.5, 3, 2]
    plain = explain_shortage(replace(found, allocated=None, unallocated=None, others=(), free=None), {})
    assert [name for name, _ in plain.account] == ["In all", "This process"]
    less = replace(found, process=71 * GIBI)  # a rounded number is never less than nothing
    assert [size for name, size in explain_shortage(less, {}).account if "NCCL" in name] == [0]


@each(
    ("cluster", "total", "is_more"),
    [("1 H100", 119, True), ("1 H100", 120, False), ("2 H100", 59, True), ("2 H100", 60, False)],
)
def test_states_of_a_model_are_more_than_a_gpu_has_by_their_share(cluster: str, total: int, is_more: bool) -> None:
    """16 bytes of 8.03 billion parameters are 119.7 GiB."""
    found = MemoryShortage(program="PyTorch", asked=3.7 * GIBI, total=total * GIBI)
    *_, note = explain_shortage(found, {"model": "Llama-3-8B", "cluster": cluster}).notes
    assert note.endswith("more than the GPU has.") is is_more
    assert ("on each of 2 GPUs" in note) is (cluster[0] == "2")
