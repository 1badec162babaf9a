"""The engine alone, over links that are played: a rank in the middle of a chain does no more for a chunk where there are many."""

from types import SimpleNamespace

import numpy as np
import pytest

from treecast.running.engine.engine import Engine
from treecast.running.engine.memory import Part
from treecast.running.engine.transfers import Transfer, with_tags


class Played:
    """Links over which a chunk comes whenever somebody waits, and sends are over at once."""

    def __init__(self):
        self.asked, self.sent = [], []

    def send(self, peer, tag, piece, sure):
        self.sent.append((peer, tag, bytes(piece)))
        return SimpleNamespace(over=True, lost=False, length=len(piece))

    def receive(self, peer, tag, place):
        self.asked.append(SimpleNamespace(over=False, lost=False, length=len(place), place=place, tag=tag))
        return self.asked[-1]

    def wait(self, until, seconds):
        for ticket in self.asked[:1]:
            ticket.place[:] = ticket.tag % 251
            ticket.over = True
            self.asked.remove(ticket)
        until()


@pytest.mark.parametrize("chunks", [50, 400])
def test_each_chunk_is_posted_a_few_times_however_many_there_are(chunks, monkeypatch):
    posts, post = [], Engine._post
    monkeypatch.setattr(Engine, "_post", lambda self, active: [posts.append(active), post(self, active)][1])
    data = np.zeros((chunks, 8), np.uint8)
    chain = [Transfer(sends, peer, 0, chunks, sends, 1, 0, 0, 0) for sends, peer in ((False, 0), (True, 2))]
    links = Played()
    outcome = Engine(links, with_tags(chain, 1 << 20), Part(lambda chunk: data[chunk], ()), 1e9).run()
    assert outcome.held == set(range(chunks))
    assert links.sent == [(2, chunk, bytes([chunk % 251] * 8)) for chunk in range(chunks)]
    assert len(posts) <= 5 * chunks
