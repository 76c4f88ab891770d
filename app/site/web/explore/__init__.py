"""The explorers, and their figures on other pages."""
