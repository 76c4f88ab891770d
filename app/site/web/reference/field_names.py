"""What the fields of records are called in tables, in the current language."""

from app.core.translation import SOURCE, language, noted, translate_known

_NAMES = {"nvlink": "NVLink", "sms": "SMs"}
_MEANT = {"hidden": noted("hidden size"), "sequence": noted("sequence length")}
# As the words of a field; what is missing here stays English in every language.
FIELDS = (
    noted("year"),
    noted("peak"),
    noted("peak, 8 bits"),
    noted("peak, 4 bits"),
    noted("memory"),
    noted("memory bandwidth"),
    noted("power"),
    noted("tensor cores"),
    noted("product share"),
    noted("product share, 8 bits"),
    noted("memory share"),
    noted("bandwidth"),
    noted("effective"),
    noted("latency"),
    noted("start"),
    noted("ramp"),
    noted("approached"),
    noted("GPUs per node"),
    noted("rack"),
    noted("pod"),
    noted("intra bandwidth"),
    noted("inter bandwidth"),
    noted("intra latency"),
    noted("inter latency"),
    noted("oversubscription"),
    noted("layers"),
    noted("heads"),
    noted("key value heads"),
    noted("head size"),
    noted("feed forward"),
    noted("vocabulary"),
    noted("gated"),
    noted("tied"),
    noted("biases"),
    noted("norm"),
    noted("query key norm"),
    noted("positions"),
    noted("experts"),
    noted("active experts"),
    noted("expert feed forward"),
    noted("shared"),
    noted("dense layers"),
    noted("router bias"),
    noted("latent"),
    noted("query latent"),
    noted("tensor"),
    noted("pipeline"),
    noted("context"),
    noted("expert"),
    noted("data"),
    noted("virtual"),
    noted("microbatches"),
    noted("micro batch"),
    noted("zero stage"),
    noted("recompute"),
    noted("sequence parallel"),
    noted("precision"),
    noted("context by"),
    noted("weight bytes"),
    noted("gradient bytes"),
    noted("optimizer bytes"),
    noted("element bytes"),
    noted("reduced bytes"),
    noted("logit bytes"),
    noted("floor"),
    noted("size scale"),
    noted("data scale"),
    noted("size exponent"),
    noted("data exponent"),
)


def field_name(field: str) -> str:
    """What a column of the values of *field* is called."""
    words = field.replace("gpu", "GPU").replace("_8bit", ", 8 bits").replace("_4bit", ", 4 bits")
    name = words.replace("_", " ")
    if language() != SOURCE:  # where one word of English has two meanings
        name = _MEANT.get(name, name)
    return _NAMES.get(field) or translate_known(name)
