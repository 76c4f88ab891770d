"""The page of one exercise."""
