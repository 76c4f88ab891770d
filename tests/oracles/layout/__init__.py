"""The tensors of a model placed on the ranks of a layout, and what each rank holds."""

from tests.oracles.layout.placing import Mesh, MeshRank, WeightTensor, place

__all__ = ["Mesh", "MeshRank", "WeightTensor", "place"]
