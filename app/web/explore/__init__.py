"""The explorers, and their figures in other pages."""
