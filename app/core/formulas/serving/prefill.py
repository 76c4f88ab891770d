"""The time to read a prompt, what of it fits into decoding steps, and the wait before it."""

import math

from app.core.formulas.checks import at_least, fraction, positive, whole
from app.core.translation import say
from app.core.units import Count, FlopsPerSecond, Ratio, Seconds


def prefill_time(parameters: Count, tokens: Ratio, gpus: Count, peak: FlopsPerSecond, utilization: Ratio) -> Seconds:
    """Time to read a prompt.

    A forward pass: two FLOP per parameter and token.

        T = 2 FLOP * parameters * tokens / (gpus * peak * utilization)

    Convention:
        Attention's own products are left out, and so is what a prefix in the cache saves. Of a
        mixture of experts only the active parameters count.

    Args:
        parameters: parameters that process a token.
        tokens: tokens of the prompt that are not cached.
        gpus: GPUs that work on it together.
        peak: dense peak FLOP per second of one GPU.
        utilization: share of the peak that is reached.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Kaplan et al., arXiv:2001.08361, section 2.1 (2 FLOP); Pope et al., arXiv:2211.05102,
        section 2.
    """
    computed = 2 * whole("parameters", parameters) * at_least("tokens", tokens, 0)
    reached = positive("peak", peak) * fraction("utilization", utilization)
    return computed / (whole("gpus", gpus) * reached)


def free_prefill_tokens(
    step_time: Seconds, gpus: Count, peak: FlopsPerSecond, parameters: Count, batch: Count, utilization: Ratio = 1
) -> Count:
    """Tokens of prompts that a decoding step can process without becoming longer.

    While memory is read, the GPUs could compute step_time * gpus * peak FLOP. Each token takes two
    per parameter, those of the sequences that decode too.

        N = max(0, floor(step_time * gpus * peak * utilization / (2 FLOP * parameters) - batch))

    Convention:
        Perfect overlap of computing and memory traffic; attention's own products are left out.

    Args:
        step_time: seconds in which the step reads weights and caches.
        gpus: GPUs that run the step.
        peak: dense peak FLOP per second of one GPU.
        parameters: parameters that process a token.
        batch: sequences that are decoded in the step.
        utilization: share of the peak that is reached.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Agrawal et al., Sarathi-Serve, arXiv:2403.02310, section 4 (chunked prefill).
    """
    reached = positive("peak", peak) * fraction("utilization", utilization)
    computed = positive("step_time", step_time) * whole("gpus", gpus) * reached
    tokens = computed / (2 * whole("parameters", parameters))
    return max(0, math.floor(tokens - whole("batch", batch)))


def time_to_first_token(service_time: Seconds, load: Ratio) -> Seconds:
    """Mean time from the arrival of a prompt until it has been read, with the wait in the queue.

    Prompts arrive at random times at one server that takes equally long for each (an M/D/1 queue).
    The wait alone takes load / (2 (1 - load)) services on average.

        T = service_time * (1 + load / (2 * (1 - load)))

    Convention:
        A mean over a long time, in order of arrival. Services of varying length wait longer: twice
        as long if they vary exponentially.

    Args:
        service_time: seconds to read one prompt.
        load: share of the time in which the server is busy, below 1.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Pollaczek and Khinchine's formula; Zhong et al., DistServe, arXiv:2401.09670, section 3.1.
    """
    if at_least("load", load, 0) >= 1:
        raise ValueError(
            say("{name} must be below 1, or the queue grows without end, not {value}", name="load", value=load)
        )
    return positive("service_time", service_time) * (1 + load / (2 * (1 - load)))
