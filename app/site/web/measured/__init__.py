"""The pages of what users measured themselves: /measured."""
