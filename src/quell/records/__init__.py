"""The parts of a result as plain data and arrays, and back: one owner of how each is described.

``shapes``: spaces and mixtures, ``mixture``: both in a file; ``surrogate``: a solution; ``tables``:
evaluations and history; ``problem``: the prior, and with it the problem; ``choices``: settings and
verdict. What is read may be damaged or hostile: every part is checked as if a user had handed it
in.
"""
