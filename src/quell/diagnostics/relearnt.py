"""A training value predicted by a surrogate that never saw it.

Leaving a value out of the surrogate that has learnt its hyperparameters from it is not enough: a
wrong value makes the kernel short, and then nothing contradicts it. Here the hyperparameters are
learnt again from the others (some of them, if they are many), by a search from where they were and
from a default. The latter is five times as long and mostly ends where the former does, or lower, so
fewer values are asked first.
"""

import numpy as np

from quell.arrays import FloatArray
from quell.gp import GaussianProcess, HyperparameterPrior
from quell.gp.hyperposterior import Hyperposterior
from quell.gp.marginal import MarginalLikelihood
from quell.gp.mode import OVERTAKEN, Mode, maximise
from quell.vbmc.subset import learning_part

#: So many observations tell whether a search from the default comes to another mode: a tenth of the
#: time that 300 take.
SCOUTED = 100


def relearnt_error(
    gp: GaussianProcess, row: int, plausible_range: FloatArray
) -> tuple[float, float]:
    """The error of predicting a training value from the others, and the SD of the prediction.

    ``plausible_range`` (D,) is about the width of the plausible box in x.

    >>> from quell.gp import TrainingData, train
    >>> x = np.random.default_rng(1).normal(size=(30, 1))
    >>> y = -0.5 * x[:, 0] ** 2
    >>> y[7] -= 50.0
    >>> fit = train(np.random.default_rng(2), TrainingData.from_arrays(x, y, noise_sd=0.1))
    >>> error, sd = relearnt_error(fit.gp, 7, np.ones(1))
    >>> bool(abs(error + 50) < 1), sd < 1
    (True, True)
    """
    data = gp.data
    rest = data.part(np.delete(np.arange(data.size), row))
    part = learning_part(rest)
    prior = HyperparameterPrior.for_data(
        part, plausible_range=plausible_range, output_scale=float(data.dimension)
    )
    target = Hyperposterior(MarginalLikelihood(part), prior)
    before = np.asarray(gp.weights @ gp.theta)
    if before.shape == prior.start.shape:
        mode = _mode_from_both(target, prior.unconstrain(before))
    else:  # noise of unknown size was that of this value alone
        mode = maximise(target, prior.unconstrain(prior.start))
    without = GaussianProcess.condition(rest, prior.constrain(mode[0])[None])
    mean, variance = without.pooled(data.x[row : row + 1])
    noise = data.variance[row]
    noise = 0.0 if np.isnan(noise) else float(noise)
    return float(data.y[row] - mean[0]), float(np.sqrt(variance[0] + noise))


def _mode_from_both(target: Hyperposterior, before: FloatArray) -> Mode:
    """The higher of the modes found from ``before`` (u) and from the prior's start.

    Of more than `SCOUTED` observations the search from the latter sees so many at even steps,
    and sees all where it has then come to another mode that is higher for them.
    """
    prior, data = target.prior, target.marginal.data
    known = maximise(target, before)
    start = prior.unconstrain(prior.start)
    if data.size > SCOUTED:
        rows = np.linspace(0, data.size - 1, SCOUTED).astype(np.intp)
        part = Hyperposterior(MarginalLikelihood(data.part(rows)), prior)
        start, height = maximise(part, start)
        if height < maximise(part, known[0])[1] + OVERTAKEN:
            return known
    return max(known, maximise(target, start), key=lambda mode: mode[1])
