"""Records that the ranks of a job left, and the ranks that keep it waiting.

Whatever people have of a job that stands still becomes one model: the calls of each rank in each of its groups. Blamed is whom
others wait for and who waits for nobody; of each rank only the first call that has not ended counts, since what stands behind it
waits for it. What the records cannot show is said, and not guessed.
"""
