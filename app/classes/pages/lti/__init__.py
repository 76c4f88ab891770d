"""The pages that learning platforms open, by LTI 1.3."""
