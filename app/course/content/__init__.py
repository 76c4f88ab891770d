"""The course: its exercises and packs, the errata, and the glossary."""
