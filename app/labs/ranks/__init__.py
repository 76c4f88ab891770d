"""What runs in the ranks: it alone imports torch, and nothing else of ours."""
