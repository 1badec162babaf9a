"""Write the moving picture of README.md: the explorer's page, state after state of its address, by headless Chromium.

python docs/film.py docs/pictures/explorer.gif
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

import treecast

WINDOW = (1200, 690)
CHROMIUM = (
    "chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--virtual-time-budget=8000",  # ms: on a busy machine a page is drawn late
)
STATES = [f"t={step}&n=10" for step in range(3)] + [f"t={step}&n=10&k=5@2" for step in range(2, 9)]
"""The steps before node 5 dies at step 2, and all from there on; the paths to node 10 are dark."""
SECONDS = [0.9] * (len(STATES) - 1) + [3.0]


def main(output: str) -> None:
    """Write the film of a broadcast in two copies."""
    schedule = treecast.plan("broadcast", "torus:4x4", messages=8, survive=1)
    frames = list[Image.Image]()
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder, "page.html"), Path(folder, "shot.png")
        treecast.draw(schedule, str(page))
        for state in STATES:
            size = ",".join(map(str, WINDOW))
            profile = f"--user-data-dir={folder}/profile"
            asked = [profile, f"--window-size={size}", f"--screenshot={shot}", f"{page.as_uri()}#{state}"]
            subprocess.run([*CHROMIUM, *asked], check=True, capture_output=True)
            frames.append(Image.open(shot).convert("RGB"))
    palette = frames[-1].quantize(256)
    first, *rest = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    first.save(output, save_all=True, append_images=rest, duration=[round(1000 * each) for each in SECONDS], loop=0)


if __name__ == "__main__":
    main(sys.argv[1])
