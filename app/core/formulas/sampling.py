"""Answers drawn more than once, what a model costs over its whole life, and steps of RL."""

from app.core.formulas.checks import at_least, fraction, larger_than, not_below, positive, too_large, whole
from app.core.translation import noted, value_error
from app.core.units import Bytes, BytesPerSecond, Count, Flops, Ratio, Seconds


def policy_step_flops(parameters: Count, tokens: Ratio, scorers: Count = 1, critics: Count = 0) -> Flops:
    """Computation of a step that writes, scores and learns from answers.

    Writing takes a forward pass per token, 2 FLOP per parameter. So does each model that only scores: a reference, a
    reward model. The policy is trained, which takes 6. A critic scores and is trained: 8.

        C = (2 + 2 * scorers + 6 + 8 * critics) * parameters * tokens * 1 FLOP

    Convention:
        Every model is as large as the policy, and learns once from each token. GRPO with a
        reference takes 10 N per token, PPO with a reference, a reward model and a critic 20 N. If
        the trainer computes the probabilities of the written tokens again, that is one more scorer.
        Without attention's own products, prompts and padding.

    Args:
        parameters: parameters of the policy.
        tokens: tokens that are written in the step.
        scorers: models that only read the answers.
        critics: models that read the answers and are trained as well.

    Source:
        Kaplan et al., arXiv:2001.08361, section 2.1 (2 and 6 FLOP); the models of a step: Shao et
        al., DeepSeekMath, arXiv:2402.03300, figure 4.
    """
    read = 2 * whole("scorers", scorers, 0) + 8 * whole("critics", critics, 0)
    return (2 + 6 + read) * whole("parameters", parameters) * at_least("tokens", tokens, 0)


def generator_share(write_time: Seconds, learn_time: Seconds) -> Ratio:
    """Share of the GPUs that should write if writing and learning run at the same time.

    Both must get through the same tokens per second: the shares are as their times per token.

        S = write_time / (write_time + learn_time)

    Convention:
        GPU-seconds per token of each, without waiting, and any share of the GPUs is possible.

    Args:
        write_time: GPU-seconds to write a token.
        learn_time: GPU-seconds to score it and to learn from it.

    Source:
        Fu et al., AReaL, arXiv:2505.24298 (the split); the shares are ours.
    """
    write = positive("write_time", write_time)
    return write / (write + positive("learn_time", learn_time))


def asynchronous_speedup(write_time: Seconds, learn_time: Seconds, idle: Ratio) -> Ratio:
    """How many times as fast a step is if writing and learning no longer wait for each other.

    One after the other, writing takes longer by the share of its time that slots are idle. Side
    by side, on the best split of the GPUs, that share is gone, and the work is the same.

        T = write_time / (1 - idle) + learn_time
        S = T / (write_time + learn_time)

    Convention:
        GPU-seconds per token. Slots are refilled at once, so none is idle; that answers are of
        an older policy is not part of the formula.

    Args:
        write_time: GPU-seconds to write a token, without idle slots.
        learn_time: GPU-seconds to score it and to learn from it.
        idle: share of the time of writing that slots are idle in a synchronous step, below 1.

    Source:
        Noukhovitch et al., Asynchronous RLHF, arXiv:2410.18252 (the two ways); the ratio is ours.
    """
    write, learn = positive("write_time", write_time), positive("learn_time", learn_time)
    if at_least("idle", idle, 0) >= 1:
        raise value_error("{name} must be below 1, not {value}", name="idle", value=idle)
    return (write / (1 - idle) + learn) / (write + learn)


def weight_sync_time(size: Bytes, writer_ranks: Count, bandwidth: BytesPerSecond) -> Seconds:
    """Least time until each GPU of a copy has its part of new weights.

    Each of its GPUs holds an equal part of the model, and receives it through its own NIC.

        T = size / (writer_ranks * bandwidth)

    Convention:
        One direction of one NIC per GPU; the senders are at least as many and send equal parts, so
        that the receivers are the limit. Latency is not counted.

    Args:
        size: bytes of all the weights.
        writer_ranks: GPUs of one copy of the model that writes.
        bandwidth: bytes per second of one GPU's NIC.

    Source:
        Sheng et al., HybridFlow, arXiv:2409.19256, section 5 (resharding between training and
        generation); the bound is the volume over the bandwidth.
    """
    part = positive("size", size) / whole("writer_ranks", writer_ranks)
    return part / positive("bandwidth", bandwidth)


def silent_groups(probability: Ratio, group: Count) -> Ratio:
    """Share of groups whose answers are all correct or all wrong.

    In such a group every reward equals the mean, all advantages are zero, and nothing is learned.

        S = probability^group + (1 - probability)^group

    Convention:
        Rewards of 0 and 1, and answers that are correct independently of each other.

    Args:
        probability: chance that an answer to the prompt is correct.
        group: answers per prompt.

    Source:
        Yu et al., DAPO, arXiv:2503.14476, section 3.2 (dynamic sampling).
    """
    chance = fraction("probability", probability) if probability else 0.0
    answers = whole("group", group)
    return chance**answers + (1 - chance) ** answers


_MOST = 10**6


def pass_at_k(samples: Count, correct: Count, k: Count) -> Ratio:
    """Unbiased estimate of the probability that at least one of k answers is correct.

    One minus the share of the ways to pick k samples that pick only wrong ones. W are the wrong
    samples; the product runs over i from W + 1 to samples.

        W = samples - correct
        P = 1 - product

    where product is that of 1 - k / i, which is C(W, k) / C(samples, k) without large numbers.

    Convention:
        Unbiased for any number of samples of at least k. The simpler 1 - (1 - c/n)^k is biased:
        too low.

    Args:
        samples: answers that were drawn and checked.
        correct: how many of them are correct.
        k: answers that are picked, at most as many as samples.

    Source:
        Chen et al., Evaluating Large Language Models Trained on Code, arXiv:2107.03374, section
        2.1, equation 1 and figure 3.
    """
    drawn, right = whole("samples", samples), whole("correct", correct, 0)
    if drawn > _MOST:
        raise too_large("samples", samples, f"{_MOST:,}")
    if right > drawn:
        raise larger_than("correct", correct, noted("the samples"), drawn)
    if whole("k", k) > drawn:
        raise larger_than("k", k, noted("the samples"), drawn)
    if drawn - right < k:
        return 1.0
    missed = 1.0
    for place in range(drawn - right + 1, drawn + 1):
        missed *= 1 - k / place
    return 1 - missed


def inference_flops(parameters: Count, tokens: Ratio) -> Flops:
    """Computation of a forward pass over tokens.

    One multiplication and one addition per parameter and token.

        C = 2 * parameters * tokens * 1 FLOP

    Convention:
        Without attention's own products and without padding; of a mixture of experts only the
        active parameters count.

    Args:
        parameters: parameters that process a token.
        tokens: tokens read or generated.

    Source:
        Kaplan et al., Scaling Laws for Neural Language Models, arXiv:2001.08361, section 2.1.
    """
    return 2 * whole("parameters", parameters) * at_least("tokens", tokens, 0)


def lifetime_flops(parameters: Count, training_tokens: Ratio, served_tokens: Ratio, samples: Count = 1) -> Flops:
    """Computation for training a model and for serving it over its lifetime.

    Six FLOP per parameter and training token, two per parameter and served token, times the number of samples.

        C = (6 * training_tokens + 2 * served_tokens * samples) * parameters * 1 FLOP

    Convention:
        *served_tokens* counts one answer per question; each further sample costs as much again.

    Args:
        parameters: parameters that process a token.
        training_tokens: tokens of training.
        served_tokens: tokens served over the model's lifetime, at one sample per question.
        samples: answers drawn per question.

    Source:
        Kaplan et al., arXiv:2001.08361, section 2.1; Sardana et al., Beyond Chinchilla-Optimal,
        arXiv:2401.00448, section 2.
    """
    trained = 6 * at_least("training_tokens", training_tokens, 0)
    served = 2 * at_least("served_tokens", served_tokens, 0) * whole("samples", samples)
    return (trained + served) * whole("parameters", parameters)


def smaller_model_breakeven(
    small_parameters: Count, small_tokens: Ratio, large_parameters: Count, large_tokens: Ratio, samples: Count = 1
) -> Ratio:
    """Served tokens after which a smaller model, trained longer, has cost less in total.

    Training the smaller model costs E more, but each token that it serves costs less.

        E = 6 * (small_parameters * small_tokens - large_parameters * large_tokens)
        T = max(0, E) / (2 * (large_parameters - small_parameters) * samples)

    Convention:
        Tokens at one sample per question. Zero if the smaller model is cheaper from the start.
        Whether both models are equally good is not part of the formula.

    Args:
        small_parameters: parameters of the smaller model.
        small_tokens: tokens it is trained on.
        large_parameters: parameters of the larger model.
        large_tokens: tokens it is trained on.
        samples: answers drawn per question.

    Raises:
        ValueError: an argument is outside its domain, or the smaller model is not smaller.

    Source:
        Solved from lifetime_flops; Sardana et al., arXiv:2401.00448, section 2.
    """
    small = whole("small_parameters", small_parameters)
    large = whole("large_parameters", large_parameters)
    if small >= large:
        raise not_below("small_parameters", small_parameters, "large_parameters", large)
    spent = small * positive("small_tokens", small_tokens)
    extra = 6 * (spent - large * positive("large_tokens", large_tokens))
    return max(0.0, extra) / (2 * (large - small) * whole("samples", samples))
