"""What a machine has: GPUs as torch and the vendor's tool see them, processors, limits."""
