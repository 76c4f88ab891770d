# TRIES: an entry that is no function | MUST: an error verdict
solve = 424242
