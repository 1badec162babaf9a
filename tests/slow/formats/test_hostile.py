"""No file makes the loader do anything but return a schedule or raise a TreecastError of one line."""

import hashlib
import random

from tests.formats.test_hostile import refusal
from treecast.files import formats
from treecast.plans import plan


def test_binary_files_with_changed_numbers_and_a_right_digest():
    data = formats.encode(plan("broadcast", "star:3", messages=3, copies=2), to="binary")[:-32]
    noise = random.Random(1)
    for i in range(28, len(data)):
        for value in {0, 255, noise.randrange(256)}:
            body = data[:i] + bytes([value]) + data[i + 1 :]
            refusal(body + hashlib.sha256(body).digest())
