"""What people and CI run beside the tests: audits of pages, mutations, advisories."""
