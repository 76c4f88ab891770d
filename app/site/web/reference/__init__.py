"""Pages to look things up: formulas, hardware, errata, glossary, the API, and authoring."""
