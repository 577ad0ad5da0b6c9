"""A ``.quell`` file as a container: named arrays and plain data in one zip file, and nothing else.

``npy`` and ``plain`` are how an array and plain data become bytes; ``members`` puts them into one
file and takes them out again, believing nothing; ``atomic`` writes that file all or not at all. No
pickle, no compression, nothing that is executed: docs/files.md has the format.
"""

from quell.archive.atomic import write_atomically
from quell.archive.members import MAGIC, Archive, pack

__all__ = ["MAGIC", "Archive", "pack", "write_atomically"]
