"""The strategies: pure generators that read as their papers' algorithms.

No clock, no randomness, no I/O: given the same replies they ask the same things, which is what makes a run resumable.
"""
