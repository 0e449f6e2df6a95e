"""The strategies: pure generators that read as their papers' algorithms.

No clock, no randomness, no I/O: given the same replies they ask the same things, which is what makes a run resumable.

Each says how many calls and retrievals it takes, for a search that is plain: `grade_passages` adds a call for each
passage found, and HyDE as the retriever `num_hypothetical_docs` calls to each search.
"""
