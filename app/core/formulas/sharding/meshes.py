"""How the kinds of parallelism divide the GPUs of a run."""

from app.core.formulas.checks import whole
from app.core.translation import say
from app.core.units import Count


def data_parallel_degree(gpus: Count, tensor: Count, pipeline: Count, context: Count = 1, expert: Count = 1) -> Count:
    """Data-parallel degree: copies of the model that work in parallel.

    The product of the tensor, pipeline, context and data-parallel degrees is the number of GPUs.

        D = gpus / (tensor * pipeline * context)

    Convention:
        Expert parallelism is not another factor: experts are spread over ranks that are data or
        context parallel for everything else, so it has to divide those.

    Args:
        gpus: GPUs of the run.
        tensor: ranks of tensor parallelism.
        pipeline: stages of the pipeline.
        context: ranks of context parallelism.
        expert: ranks that experts are spread over.

    Raises:
        ValueError: an argument is outside its domain, or the degrees do not divide the GPUs.

    Source:
        Grattafiori et al., arXiv:2407.21783, section 3.3.2 and table 4; Megatron-LM, expert
        parallelism.
    """
    total, one_copy = whole("gpus", gpus), 1
    for name, degree in (("tensor", tensor), ("pipeline", pipeline), ("context", context)):
        left = total // one_copy
        one_copy *= whole(name, degree)
        if total % one_copy:
            raise ValueError(
                say(
                    "{name} must divide the GPUs that other degrees leave, {left} of {total}, not {value}",
                    name=name,
                    left=f"{left:,}",
                    total=f"{total:,}",
                    value=degree,
                )
            )
    copies = total // one_copy
    if copies * int(context) % whole("expert", expert):
        raise ValueError(
            say(
                "{name} must divide the data and context parallel ranks, {whole}, not {value}",
                name="expert",
                whole=copies * int(context),
                value=expert,
            )
        )
    return copies


def parallelism_order() -> tuple[str, ...]:
    """Kinds of parallelism, from the fastest links to the slowest.

    The kind that communicates most often, and waits for it, gets the fastest links. Tensor
    parallelism needs N all-reduces per layer; context parallelism gathers keys and values once per
    layer; the pipeline sends one activation per stage; data parallelism communicates once per step.

        N = 4

    Convention:
        The order of Llama 3: tensor, context, pipeline, data. Megatron-LM's default swaps the last
        two: its pipeline, whose messages are the smallest, gets the slowest links.

    Source:
        Grattafiori et al., The Llama 3 Herd of Models, arXiv:2407.21783, section 3.3.2 and
        figure 5; Megatron-LM, megatron/core/parallel_state.py (tp-cp-ep-dp-pp).
    """
    return ("tensor", "context", "pipeline", "data")
