"""The journal: nothing an evaluation has cost is ever lost.

``rows`` is how events are written, ``store`` the SQLite file, ``lock`` keeps a second process out,
``identity`` refuses another run, ``recovery`` saves what can be read of a damaged file,
``snapshots`` are the result so far;
``journal`` puts them together and ``reading`` looks in from outside.
"""

from quell.journal.journal import Journal
from quell.journal.reading import JournalContents, read_journal

__all__ = ["Journal", "JournalContents", "read_journal"]
