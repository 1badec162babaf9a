"""``treecast compare``: networks side by side."""

from treecast.networks import network
from treecast.papers import compare as comparison


def test_orders_of_growth_are_those_of_the_figures():
    """Measured figures over what stands in O( ) stay between constants as the networks grow."""
    for family, sizes in (("star", range(4, 7)), ("hypercube", range(4, 9))):
        for kind in comparison.PROBLEMS:
            quotients = []
            for size, entry in zip(
                sizes,
                comparison.compare([network(f"{family}:{s}") for s in sizes], collective=kind, messages=12).entries,
                strict=True,
            ):
                terms = {"n": size, "k": size, "N": network(entry.network).nodes, "M": 12}
                quotients.append(
                    (
                        entry.steps / value(entry.steps_order, terms),
                        entry.transmissions / value(entry.transmissions_order, terms),
                    )
                )
            for column in zip(*quotients, strict=True):
                assert 0.3 < min(column) <= max(column) < 2.5, (family, kind, column)


def value(order, terms):
    inside = order[2:-1].replace("²", "^").replace("·", "")
    total = 0
    for term in inside.split(" + "):
        product, _, below = term.partition("/")
        number = 1.0
        for at, letter in enumerate(product):
            number *= terms[product[at - 1]] if letter == "^" else terms[letter]
        total += number / (terms[below] if below else 1)
    return total
