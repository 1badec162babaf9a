"""``treecast buy``: what the page says of its table. tests/advice/test_buying.py counts by hand."""


def test_buy_as_the_page_shows_it(ask):
    status, out, _ = ask("buy", "--hosts", "12", "--switch-ports", "8", "--uplinks", "2,4", "--cards", "1")
    cells = [line.split("  ") for line in out.splitlines() if "leaves, " in line]
    rows = [[cell.strip() for cell in line if cell.strip()] for line in cells]
    assert status == 0
    assert [(row[0], row[4], row[6], row[8]) for row in rows] == [
        ("2 leaves, 1 spine", "16", "2.5 ms", "cuts off 6 hosts"),
        ("2 leaves, 2 spines", "16", "2.5 ms", "+100.0%"),
        ("3 leaves, 2 spines", "24", "1.528 ms", "+45.5%"),
    ]


def test_what_is_no_list_of_numbers_is_answered_in_a_line(ask):
    status, out, err = ask("buy", "--hosts", "12", "--switch-ports", "8", "--uplinks", "x")
    assert (status, out) == (2, "")
    assert "--uplinks are numbers with commas between, as in 3,4" in err
    assert "there are 2 to 512 hosts" in ask("buy", "--hosts", "1", "--switch-ports", "8")[2]
