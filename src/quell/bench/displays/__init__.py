"""The displays of the paper from finished runs: figures and the table of overheads.

``quell bench figures`` makes them all, by `making.make_displays`, from rows of the benchmark; no
inference is made. They need matplotlib (``quell[plots]``).
"""
