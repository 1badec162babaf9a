"""Scatterv and gatherv from the command line."""


def test_the_gain_of_a_cover(answer, ask):
    line = (
        "plan",
        "scatterv",
        "torus:4x4",
        "--lengths",
        "random:15",
        "--model",
        "bufferless-multiport",
        "--builder",
        "cover",
    )
    found = answer(*line)
    assert found["single_tree_steps"] >= found["steps"]
    assert "one tree " in ask(*line)[1]
