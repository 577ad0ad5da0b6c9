"""A run under way, between :func:`quell.infer` or :class:`quell.Sampler` and the algorithm.

* ``engine``: the algorithm as a function of what was asked and told; ``told`` its vocabulary.
* ``session``: an engine with its journal; ``beginning``, ``matching`` what users hand in;
  ``same_target`` whether the journal is of the same target.
* ``loop``: the loop of ``infer``; ``stopping`` when it ends.
"""
