"""Computation for training a model and for serving it."""

from app.core.formulas.checks import at_least, positive, whole
from app.core.formulas.refusals import not_below
from app.core.units import Count, Flops, Ratio


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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Kaplan et al., Scaling Laws for Neural Language Models, arXiv:2001.08361, section 2.1.
    """
    return 2 * whole("parameters", parameters) * at_least("tokens", tokens, 0)


def lifetime_flops(parameters: Count, training_tokens: Ratio, served_tokens: Ratio, samples: Count = 1) -> Flops:
    """Computation for training a model and for serving it over its lifetime.

    Six FLOP per parameter and training token, two per parameter and served token, times the
    number of samples.

        C = (6 * training_tokens + 2 * served_tokens * samples) * parameters * 1 FLOP

    Convention:
        *served_tokens* counts one answer per question; each further sample costs as much again.

    Args:
        parameters: parameters that process a token.
        training_tokens: tokens of training.
        served_tokens: tokens served over the model's lifetime, at one sample per question.
        samples: answers drawn per question.

    Raises:
        ValueError: an argument is outside its domain.

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
