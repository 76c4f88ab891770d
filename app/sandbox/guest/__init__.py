"""What runs inside the component: the standard library alone."""
