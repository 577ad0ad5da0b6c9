"""The picture of docs/report.md: the report of the demonstration in a browser.

Needs chromium, playwright (``pip install "quell[browser]"``) and Pillow, which matplotlib brings.
"""

import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from quell.demo import run_demo

WIDTH, HEIGHT = 1160, 1500
#: Colours of the picture: it has few, and is small with no more than these.
COLOURS = 96


def main() -> None:
    """Make it again."""
    target = Path(__file__).parent / "images" / "report.png"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        made = run_demo(Path(folder), progress=False)
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(made.report.as_uri())
        page.check("#pair-points")
        page.locator("#pair-view").hover(position={"x": 230, "y": 200})
        raw = Path(folder) / "raw.png"
        page.screenshot(path=raw)
        browser.close()
        Image.open(raw).convert("RGB").quantize(COLOURS).save(target, optimize=True)
    print(f"{target.name}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
