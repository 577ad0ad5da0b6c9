"""How the truth about the problems on simulated data is found and written; see make_truth.py."""
