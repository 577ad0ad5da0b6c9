"""A run under way, between :func:`quell.infer` or :class:`quell.Sampler` and the algorithm.

* ``engine``: the algorithm as a function of what was asked and told; ``told``, ``noise_check``
  its vocabulary.
* ``session``: an engine with its journal; ``beginning``, ``matching`` what users hand in.
* ``run``: the loop of ``infer``; ``pool``, ``executing`` where its points are evaluated;
  ``stopping`` when it ends.
* ``dispatch``: calls by the workers of an executor, which may die; ``executors`` what those differ
  in; ``processes`` one with a process for every call.
* ``campaign``: many runs on one executor; ``study_folder`` where those of a study are kept.
"""
