"""The code of the ranks: the only code that imports torch, and it imports none of the rest."""
