"""What is looked at with tools from outside: python -m tests.audit (make audit)."""
