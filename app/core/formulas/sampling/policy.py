"""A step of reinforcement learning: writing answers, scoring them, and learning from them."""

from app.core.formulas.checks import at_least, fraction, positive, whole
from app.core.translation import say
from app.core.units import Bytes, BytesPerSecond, Count, Flops, Ratio, Seconds


def policy_step_flops(parameters: Count, tokens: Ratio, scorers: Count = 1, critics: Count = 0) -> Flops:
    """Computation of a step that writes, scores and learns from answers.

    Writing takes a forward pass per token, 2 FLOP per parameter. So does each model that only
    scores: a reference, a reward model. The policy is trained, which takes 6. A critic scores and
    is trained: 8.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Noukhovitch et al., Asynchronous RLHF, arXiv:2410.18252 (the two ways); the
        ratio is ours.
    """
    write, learn = positive("write_time", write_time), positive("learn_time", learn_time)
    if at_least("idle", idle, 0) >= 1:
        raise ValueError(say("{name} must be below 1, not {value}", name="idle", value=idle))
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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Yu et al., DAPO, arXiv:2503.14476, section 3.2 (dynamic sampling).
    """
    chance = fraction("probability", probability) if probability else 0.0
    answers = whole("group", group)
    return chance**answers + (1 - chance) ** answers
