"""Every tensor of a model put on every rank of a layout, and what each rank then holds."""

from app.simulators.layout.placing import Mesh, MeshRank, WeightTensor, place

__all__ = ["Mesh", "MeshRank", "WeightTensor", "place"]
