"""Where evaluations happen.

``pool`` is what a run sees, and evaluates in this process; ``executor_pool`` has the workers of an
executor do it. ``dispatch`` makes calls by workers that may die, ``readiness`` waits until they are
ready; ``executors`` is what executors differ in; ``inline`` and ``process_per_call`` are two of
Quell's own.
"""
