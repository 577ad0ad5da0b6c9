"""Many runs as one campaign.

``campaign`` has an executor perform independent jobs; ``folder`` keeps the runs of a study, and
``result`` is what it returns.
"""
