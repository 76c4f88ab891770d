"""What every page shares: rendering, assets, the visitor, and error pages."""
