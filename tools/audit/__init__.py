"""What is looked at with tools from outside: python -m tools.audit (make audit)."""
