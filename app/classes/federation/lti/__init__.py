"""LTI 1.3 Advantage: learning platforms (LMS) open assignments here, and get points back."""
