"""The list schedule as its definition reads, in plain loops."""

from treecast.takes import takes


def list_schedule(ways, machine, order):
    """Return the step in which each hop begins; ``order``: hops, the first that is ready goes first."""
    wanted = takes(machine, ways.network)
    needs = [list(zip(*pair, strict=True)) for pair in zip(wanted.resource.tolist(), wanted.key.tolist(), strict=True)]
    place = {hop: i for i, hop in enumerate(order)}
    waits_for = {hop: set() for hop in order}
    for before, after in zip(ways.before.tolist(), ways.after.tolist(), strict=True):
        waits_for[after].add(before)
    began, busy, step = {}, {}, 0  # busy: the hops that take a resource, with their last step and key
    while len(began) < len(order):
        ready = [h for h in order if h not in began and all(began.get(b, step) < step for b in waits_for[h])]
        for arc in sorted({ways.arc[h] for h in ready}, key=lambda a: min(place[h] for h in ready if ways.arc[h] == a)):
            # a key says something of its own resource alone: that of a pair of nodes may be the number of another cable
            taken = [(own, key) for need, own in needs[arc] for last, key in busy.get(need, ()) if last >= step]
            if any(key < 0 or key != own for own, key in taken):
                continue
            going = [h for h in ready if ways.arc[h] == arc][: None if machine.combining else 1]
            for hop in going:
                began[hop] = step
                last = step if machine.combining else step + int(ways.lengths[hop]) - 1
                for need, key in needs[arc]:
                    busy.setdefault(need, []).append((last, key))
        step += 1
    return [began[hop] for hop in range(len(order))]
