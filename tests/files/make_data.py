"""Makes tests/files/data/format-1.quell: once, with the first version that had the format.

    PYTHONPATH=src:tests python tests/files/make_data.py

Never make it again for format 1: that the old file opens is what the test is about.
"""

from pathlib import Path

from helpers.files import noisy_result

if __name__ == "__main__":
    path = Path(__file__).parent / "data" / "format-1.quell"
    assert not path.exists(), "format 1 has its file"
    noisy_result().save(path)
