"""What a user may change about the algorithm."""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from quell.acquisition import Acquisition, by_name
from quell.checks import choice, did_you_mean, flag, integer, number
from quell.interface.keywords import explains_unknown_fields

#: More hyperparameter samples than a run ever has.
NO_CAP = 1000
#: The ablations of Acerbi (2020), by what they change against its main algorithm.
_PAPER: dict[str, dict[str, Any]] = {
    "paper-viqr": {"acquisition": "viqr"},
    "paper-imiqr": {"acquisition": "imiqr"},
    "paper-eig": {"acquisition": "eig"},
    "paper-npro": {"acquisition": "npro"},
    "paper-nowv": {"acquisition": "viqr", "whitening": False, "final_components": 1},
    "paper-map": {"acquisition": "viqr", "hyperparameters": "map"},
    "paper-old": {
        "acquisition": "pro",
        "whitening": False,
        "final_components": 0,
        "frequent_retrain": False,
        "rules_of_2018": True,
    },
}


@explains_unknown_fields("quell.Settings")
@dataclass(frozen=True)
class Settings:
    """Settings of a run.

    The defaults depart from the paper: in what, why, and what was measured, is in
    docs/deviations.md. The settings from ``whitening_schedule`` on are there to reproduce the
    paper; see `Settings.variant`.

    Parameters
    ----------
    acquisition
        How the next point is chosen: "wiqr", "viqr", "imiqr", "eig", "npro", "pro" (for exact
        targets), or an object of your own.
    whitening
        Rotate and rescale the space so that the posterior is round.
    hyperparameters
        "sample" the surrogate's hyperparameters, or take their mode ("map").
    batch
        Evaluations per iteration.
    stop_early
        Stop when the solution is stable and known to ``stop_sd``, before the budget is spent.
    stop_sd
        SD, in nats, to which the log evidence and the log density within the posterior have to be
        known for that; None: a stable solution is enough, however little is known.
    final_components
        Components the returned posterior may grow to in a last polish; 1 for a polish without
        growth, 0 for none.
    max_failed
        Share of failed evaluations at which a run gives up.
    heavy_tails
        Parameters without bounds whose posterior is heavy-tailed or skewed get a map that is
        compressed in the tails, if the surrogate prefers it by far; elsewhere the run is the same.
        None: where values are exact, for under noise it is not always more accurate. Without effect
        if ``whitening`` is off or by the paper's schedule.
    robust
        Against values that are wildly off: evaluations that the surrogate did not expect at all,
        where it matters, are made again before they are believed, and what the second and third
        ones contradict is set aside; at most a tenth of the evaluations. Without effect if values
        are exact. See docs/noise.md.
    whitening_schedule
        When the posterior is long ("adaptive"), or by the "paper"'s rule.
    frequent_retrain
        Refit surrogate and posterior after every evaluation while the solution is unstable; None:
        under noise only.
    retrain_share
        Such a refit waits until the new evaluations are this share of all; at the end of an
        iteration the surrogate's hyperparameters wait for a few times that share. 0: no wait, a
        global search for hyperparameters in every iteration that is not reliable, and they are
        learnt from all evaluations also where these are more than 400.
    min_samples
        Hyperparameter samples kept late in a run; 1 switches to the mode late, or where the samples
        make no difference to the ELBO, as the paper's implementation does.
    max_samples
        Hyperparameter samples at most; never more than 8 in warm-up.
    output_scale_prior
        Expect the log joint to depart from a quadratic by about D; False for the paper's prior,
        in which any size down to nothing is as likely.
    climb
        As long as the posterior is not found, every other evaluation is where the surrogate may be
        highest, or where a law of squared residuals has its mode; False for the paper's way, by
        ``acquisition`` alone. Not the former with an acquisition function of your own.
    compress_low_values
        Values so low that the posterior has no mass there are compressed while it is searched for,
        as strongly as the observations say; False to fit them as they are, as the paper does.
    look_around
        The first points are spread evenly over the plausible box, in warm-up places that may be as
        high as the best one are looked at, and high evaluations that the posterior has lost become
        part of it; later its ends are evaluated along axes that are not known well. False for
        random first points and nothing else of this, as in the paper.
    cover
        After the last polish the returned posterior is fitted so that it covers what the surrogate
        says, tails and corners too; False for the ELBO alone, as in the paper.
    evidence
        The log evidence as the surrogate expects it, by "importance" sampling, or the "elbo".
    rules_of_2018
        The priors of the surrogate's hyperparameters from the training set, a lower floor of its
        noise, the end of warm-up by the ELBO alone, and an iteration without evaluations after it,
        as in the algorithm before the paper's.

    Raises
    ------
    ValueError
        For a value that a setting cannot have.

    Examples
    --------
    >>> Settings(acquisition="eig").acquisition
    'eig'
    >>> Settings.variant("paper-nowv").whitening
    False
    """

    acquisition: str | Acquisition = "wiqr"
    whitening: bool = True
    hyperparameters: Literal["sample", "map"] = "sample"
    batch: int = 5
    stop_early: bool = True
    stop_sd: float | None = 0.25
    final_components: int = 50
    max_failed: float = 0.8
    heavy_tails: bool | None = None
    robust: bool = False

    # Only to reproduce the paper

    whitening_schedule: Literal["adaptive", "paper"] = "adaptive"
    frequent_retrain: bool | None = None
    retrain_share: float = 0.01
    min_samples: int = 4
    max_samples: int = 8
    output_scale_prior: bool = True
    climb: bool = True
    compress_low_values: bool = True
    look_around: bool = True
    cover: bool = True
    evidence: Literal["importance", "elbo"] = "importance"
    rules_of_2018: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.acquisition, str):
            by_name(self.acquisition)
        elif isinstance(self.acquisition, type) or not callable(
            getattr(self.acquisition, "prepare", None)
        ):
            raise ValueError(
                f"acquisition must be a name or an object with a prepare method, "
                f"got {self.acquisition!r}"
            )
        choice("hyperparameters", self.hyperparameters, ("sample", "map"))
        choice("whitening_schedule", self.whitening_schedule, ("adaptive", "paper"))
        choice("evidence", self.evidence, ("importance", "elbo"))
        integer("batch", self.batch, least=1)
        integer("final_components", self.final_components, least=0)
        integer("min_samples", self.min_samples, least=1)
        integer("max_samples", self.max_samples, least=1)
        if self.max_samples < self.min_samples:
            raise ValueError(
                f"max_samples must be at least min_samples ({self.min_samples}), got "
                f"{self.max_samples}"
            )
        try:
            for name in (
                "whitening", "stop_early", "robust", "output_scale_prior", "climb",
                "compress_low_values", "look_around", "cover", "rules_of_2018",
            ):  # fmt: skip
                flag(name, getattr(self, name))
            for name in ("frequent_retrain", "heavy_tails"):
                if getattr(self, name) is not None:
                    flag(name, getattr(self, name))
            number("retrain_share", self.retrain_share, least=0, at_most=1)
            number("max_failed", self.max_failed, above=0, at_most=1)
            if self.stop_sd is not None:
                number("stop_sd", self.stop_sd, above=0)
        except TypeError as error:
            raise ValueError(str(error)) from None  # as for every other bad setting

    @classmethod
    def variant(cls, name: str, **changes: Any) -> "Settings":
        """The settings of a variant in the paper.

        The paper's runs also had a budget of 50 (D + 2) evaluations, which is an argument of
        `infer`, and the logit map of bounded parameters, an argument of `Problem`. They never
        stopped early. What the variants do otherwise than the paper's is in docs/deviations.md.

        Parameters
        ----------
        name
            "paper-viqr", "paper-imiqr", "paper-eig" or "paper-npro", by acquisition function;
            "paper-nowv", without whitening; "paper-map", without hyperparameter samples;
            "paper-old", with the acquisition function, refits, posterior, priors, noise floor and
            end of warm-up of the 2018 algorithm, but the others' search for points and fit of
            mixtures.
        **changes
            Settings to change on top of it.

        Examples
        --------
        >>> Settings.variant("paper-viqr", batch=3).batch
        3
        """
        if name not in _PAPER:
            hint = did_you_mean(name, _PAPER)
            raise ValueError(f"unknown variant {name!r}, choose from {', '.join(_PAPER)}{hint}")
        paper = cls(
            min_samples=1, max_samples=NO_CAP, evidence="elbo", whitening_schedule="paper",
            retrain_share=0.0, output_scale_prior=False, climb=False,
            compress_low_values=False, look_around=False, cover=False, heavy_tails=False,
            stop_early=False, stop_sd=None,
            **{"frequent_retrain": True, **_PAPER[name]},
        )  # fmt: skip
        return replace(paper, **changes)

    def __repr__(self) -> str:
        """The settings that differ from the defaults."""
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"Settings({', '.join(changed)})"

    def as_dict(self) -> dict[str, Any]:
        """The settings by name as plain values; your own acquisition function by its class."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if not isinstance(self.acquisition, str):
            values["acquisition"] = type(self.acquisition).__qualname__
        return values
