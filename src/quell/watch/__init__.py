"""Following a run by its journal, from another process; nothing is ever written.

``following`` reads what is new, ``answer`` is what the result so far shows, ``state`` puts all that
there is to see into plain data; ``terminal`` and ``server`` (with ``page.html`` and what belongs to
it) show that.
"""
