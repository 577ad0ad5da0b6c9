"""A run under way, between :func:`quell.infer` or :class:`quell.Sampler` and the algorithm.

* ``fold``: any algorithm as a function of what was asked and answered; ``engine``: Quell's own.
* ``session``: an engine with its journal; ``beginning``, ``matching`` what users hand in;
  ``same_target`` whether the journal is of the same target.
* ``conducting``: a session from beginning to end, around ``loop``, the loop of ``infer``;
  ``stopping`` when it ends, ``ending`` what is returned then.
"""
