"""A transformer tensor by tensor, and its matrix products one at a time."""

from app.simulators.transformer.products import backward, forward_products, weight_products
from app.simulators.transformer.tensors import Plan, elements, tensors

__all__ = ["Plan", "backward", "elements", "forward_products", "tensors", "weight_products"]
