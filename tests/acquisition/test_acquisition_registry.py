import numpy as np
import pytest
from helpers.acquisition import NAMES, make_situation

from quell import acquisition


def test_every_name_prepares_a_score():
    kinds = {type(acquisition.by_name(name)) for name in NAMES}
    assert kinds == {
        acquisition.WIQR,
        acquisition.VIQR,
        acquisition.IMIQR,
        acquisition.ExpectedInformationGain,
        acquisition.NoisyProspective,
        acquisition.Prospective,
    }
    situation = make_situation()
    for name in NAMES:
        score = acquisition.by_name(name).prepare(np.random.default_rng(0), situation)
        assert np.isfinite(score.values([[0.1, 0.2]])).all()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("vqir", "viqr"), ("VIQR", "viqr"), ("imqr", "imiqr"), ("eigs", "eig"), ("nproo", "npro")],
)
def test_unknown_name_suggests_the_nearest(wrong, right):
    with pytest.raises(ValueError, match=f"got {wrong!r}; did you mean {right!r}"):
        acquisition.by_name(wrong)


def test_unknown_name_like_none_lists_them_all():
    with pytest.raises(
        ValueError, match=r"one of 'wiqr', 'viqr', 'imiqr', 'eig', 'npro', 'pro', got 'xyz'$"
    ):
        acquisition.by_name("xyz")


def test_public_things_have_examples():
    undocumented = {"Acquisition", "Score", "SearchResult"}  # protocols, and a pair
    for name in set(acquisition.__all__) - undocumented:
        assert ">>> " in getattr(acquisition, name).__doc__, name
