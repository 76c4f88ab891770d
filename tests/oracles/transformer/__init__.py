"""A transformer tensor by tensor, and its matrix products one at a time."""

from tests.oracles.transformer.products import backward, forward_products, weight_products
from tests.oracles.transformer.tensors import Plan, elements, tensors

__all__ = ["Plan", "backward", "elements", "forward_products", "tensors", "weight_products"]
