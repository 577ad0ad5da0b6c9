"""A stacked result as the bytes of a ``.quell`` file (docs/files.md)."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from quell.archive import pack
from quell.records.tables import evaluation_members
from quell.results.writing import about, posterior_bytes, prior_of

if TYPE_CHECKING:  # its own method calls this
    from quell.stacking.result import StackedResult

#: Fields that are in the file as they are.
NUMBERS = ("log_evidence", "log_evidence_sd", "elbo", "effective_draws")
SCALARS = (*NUMBERS, "evidence_method", "n_components")


def stack_bytes(result: "StackedResult") -> bytes:
    """The whole file: figures and evaluations, and the file of every member's posterior."""
    evaluations, of_evaluations = evaluation_members(result.evaluations)
    members = result.posterior.members
    plain = {
        **{name: getattr(result, name) for name in SCALARS},
        "reasons": list(result.reasons),
        "left_out": [asdict(one) for one in result.left_out],
        "runs": result.runs,
        "members": len(members),
        "problem": result.problem,
        "prior": prior_of(result.log_prior, members[0]),
        "evaluations": of_evaluations,
    }
    return pack(
        {
            "format.json": about("stack"),
            "stack.json": plain,
            "stack/shares.npy": result.posterior.shares,
            "stack/run_weights.npy": result.run_weights,
            **evaluations,
            **{member_name(i): posterior_bytes(one) for i, one in enumerate(members)},
        }
    )


def member_name(i: int) -> str:
    """The name in the file of the posterior of member ``i``."""
    return f"members/{i}.quell"
