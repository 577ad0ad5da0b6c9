"""Settings: what is refused, the paper's variants, plain values."""

import dataclasses
import json

import numpy as np
import pytest

from quell import Settings
from quell.acquisition import VIQR


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("acquisition", "nonsense"),
        ("acquisition", 3),
        ("acquisition", None),
        ("hyperparameters", "mean"),
        ("batch", 0),
        ("batch", 2.5),
        ("batch", "5"),
        ("final_components", -1),
        ("final_components", None),
        ("min_samples", 0),
        ("max_failed", 0),
        ("max_failed", 1.5),
        ("max_failed", np.nan),
        ("retrain_share", -0.1),
        ("retrain_share", np.nan),
        ("output_scale_prior", 1.0),
        ("compress_low_values", 1.0),
        ("heavy_tails", 1),
        ("stop_sd", 0.0),
        ("stop_sd", np.nan),
    ],
)
def test_bad_values_name_their_field(field, value):
    with pytest.raises(ValueError, match=field):
        Settings(**{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("whitening", "no", id="switch"),
        pytest.param("stop_early", None, id="switch-none"),
        pytest.param("batch", True, id="bool-for-int"),
        pytest.param("max_failed", "x", id="text-for-number"),
        pytest.param("acquisition", VIQR, id="class-for-object"),
    ],
)
def test_wrong_types_name_their_field(field, value):
    with pytest.raises((TypeError, ValueError), match=field):
        Settings(**{field: value})


def test_numpy_integers_are_integers():
    assert Settings(batch=np.int64(3)).batch == 3


def test_frozen_and_equal_by_value():
    settings = Settings()
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.batch = 3
    assert settings == Settings()
    assert settings != Settings(batch=3)
    assert dataclasses.replace(settings, batch=3).batch == 3


@pytest.mark.parametrize("name", ["wiqr", "viqr", "imiqr", "eig", "npro", "pro"])
def test_every_documented_acquisition_is_accepted(name):
    assert Settings(acquisition=name).acquisition == name


def test_a_misspelt_acquisition_gets_a_hint():
    with pytest.raises(ValueError, match="did you mean 'viqr'"):
        Settings(acquisition="viqrr")


def test_an_object_of_the_users_own_is_accepted():
    class Mine:
        def prepare(self, rng, situation):
            raise NotImplementedError

    mine = Mine()
    settings = Settings(acquisition=mine)
    assert settings.acquisition is mine
    assert "Mine" in settings.as_dict()["acquisition"]


# What each of the paper's variants ran with.
VARIANTS = {
    "paper-viqr": ("viqr", True, True, 50, "sample"),
    "paper-imiqr": ("imiqr", True, True, 50, "sample"),
    "paper-eig": ("eig", True, True, 50, "sample"),
    "paper-npro": ("npro", True, True, 50, "sample"),
    "paper-nowv": ("viqr", True, False, 1, "sample"),
    "paper-map": ("viqr", True, True, 50, "map"),
    "paper-old": ("pro", False, False, 0, "sample"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_of_the_paper(name):
    s = Settings.variant(name)
    found = (s.acquisition, s.frequent_retrain, s.whitening, s.final_components, s.hyperparameters)
    assert found == VARIANTS[name]
    assert s.min_samples == 1  # the paper switches to the mode late in a run
    assert s.retrain_share == 0.0  # refits after every evaluation
    assert not s.output_scale_prior  # uniform
    assert not s.compress_low_values
    assert s.whitening_schedule == "paper"  # which neither softens edges nor goes back


def test_changes_on_top_of_a_variant():
    s = Settings.variant("paper-nowv", stop_early=False, acquisition="eig")
    assert (s.acquisition, s.stop_early, s.whitening) == ("eig", False, False)
    with pytest.raises(ValueError, match="batch"):
        Settings.variant("paper-viqr", batch=0)
    with pytest.raises(TypeError, match="btach"):
        Settings.variant("paper-viqr", btach=3)


def test_unknown_variant_gets_the_choices_and_the_nearest():
    with pytest.raises(ValueError, match=r"paper-old.*did you mean 'paper-imiqr'") as caught:
        Settings.variant("paper-imqr")
    assert all(name in str(caught.value) for name in VARIANTS)
    with pytest.raises(ValueError, match="unknown variant 'zzz'") as caught:
        Settings.variant("zzz")
    assert "did you mean" not in str(caught.value)


def test_as_dict_is_plain_and_complete():
    values = Settings(acquisition="eig", batch=3).as_dict()
    assert set(values) == {field.name for field in dataclasses.fields(Settings)}
    assert json.loads(json.dumps(values)) == values
    assert Settings(**values) == Settings(acquisition="eig", batch=3)
