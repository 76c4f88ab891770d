"""What is run by hand or by CI and is no test: audits of pages, mutations, advisories."""
