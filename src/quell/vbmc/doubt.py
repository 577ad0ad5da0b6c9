"""Evaluations that are too far from what was expected to be believed at once.

A simulator that sometimes returns a value that is wildly off does more harm with it than a hundred
good ones can mend: the surrogate digs a hole, or builds a tower, and shortens its kernel everywhere
to do so. But a value that nobody expected may as well be the first of a mode that was missed, or
an edge. From one value, and a surrogate that did not know of it, that cannot be told. So with
``Settings(robust=True)`` such a value is *doubted*: it is left out until its point has been
evaluated again, twice if it takes two to settle it (`quell.evaluations.repeated`). What is true is
true the second time, and is believed more than before.

An evaluation is doubted if it differs from what the others say of it by `DOUBTED` SDs of that
prediction and its noise together, and by so many nats that it matters: one where the posterior is,
and the more the further below it both of them are. While the posterior is searched for surrogates
are often too low, and low values are dropped in the end: then only high ones are doubted, where a
wrong one would set the scale for all. This is asked of every evaluation when it comes, of the
surrogate that has not seen it yet; and at the end of every iteration, for what came too early for
that, of the worst predicted one that was never doubted, those dropped for being low among them.

After warm-up the points of a few evaluations where the posterior is, chosen without a look at their
values, are evaluated again in any case: they are *audited*, to see whether SDs are as stated
(`quell.vbmc.noise_scale`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from quell.arrays import BoolArray, FloatArray
from quell.evaluations import Evaluations, Origin
from quell.evaluations.repeated import set_aside
from quell.gp import GaussianProcess
from quell.gp.leaving_out import left_out_errors
from quell.variational.islands import high_depth
from quell.vbmc.state import State

#: An evaluation is doubted beyond this many SDs: of normal noise one in 16 000 is.
DOUBTED = 4.0
#: Nats by which it has to be off: less than what makes a log evidence unusable is no harm. Below
#: where the posterior is, by this part of the depth more: there only the order matters.
SMALLEST_ERROR, ERROR_PER_DEPTH = 1.0, 0.5
#: Share of the evaluations that may be repeats, and so many in any case.
LARGEST_SHARE, SOME = 0.1, 3
#: Repeats of one point at most: two settle it, unless one of them is wrong as well or fails.
MOST_REPEATS = 3
#: Points that are audited. Five differences tell a factor of four from one without doubt, and with
#: the surrogate's word a factor of two.
N_AUDITED = 5


def doubts_at_arrival(state: State, evaluations: Evaluations) -> tuple[int, ...]:
    """Rows of ``evaluations`` that the state does not know yet and that are to be doubted."""
    if state.fit is None:
        return ()
    rows = np.arange(len(state.evaluations), len(evaluations))
    origins = [evaluations.origin[row] for row in rows]
    own = np.array([origin not in (Origin.AGAIN, Origin.GIVEN) for origin in origins], dtype=bool)
    rows = rows[own & evaluations.ok[rows]]
    gp = state.fit.gp
    if not gp.data.has_unknown_noise:
        rows = rows[np.isfinite(evaluations.sd[rows])]
    if not len(rows):
        return ()
    doubtful = is_doubtful(state, gp, *_expected(state, gp, evaluations, rows))
    left = n_left(state, evaluations)
    return tuple(int(row) for row in rows[doubtful][:left])


def with_worst_doubted(state: State) -> State:
    """The state at the end of an iteration, its worst predicted evaluation doubted if it has to be.

    The surrogate still knows the evaluation until the next one comes.
    """
    if state.fit is None or not state.noisy or not n_left(state, state.evaluations):
        return state
    gp, training = state.fit.gp, state.training
    if gp.data.size != training.data.size:  # just trimmed
        return state
    error, sd = left_out_errors(gp)
    doubtful = is_doubtful(state, gp, gp.data.y, gp.data.y - error, sd)
    doubtful &= ~(gp.data.variance == 0) & state.evaluations.ok[training.rows]
    size = np.where(doubtful, np.abs(error) / sd, 0.0)
    dropped, size_of_dropped = _dropped(state, gp)
    rows, size = np.append(training.rows, dropped), np.append(size, size_of_dropped)
    size[np.isin(rows, state.doubted)] = 0.0
    if not size.any():
        return state
    doubted = (*state.doubted, int(rows[size.argmax()]))
    aside = rows_aside(state, state.evaluations, doubted)
    trimmed = state.trimmed.copy()
    trimmed[list(aside)] = True
    return state.with_data(doubted=doubted, aside_rows=aside, trimmed=trimmed)


def _dropped(state: State, gp: GaussianProcess) -> tuple[NDArray[np.intp], FloatArray]:
    """Rows (n,) that were dropped for being low; how far off they are in SDs, 0 where in no doubt.

    A wrong value that came in warm-up is among them; or a right one, where the surrogate has come
    to expect too much since.
    """
    table = state.evaluations
    rows = np.flatnonzero(state.trimmed & table.ok & ~state.aside & (np.nan_to_num(table.sd) > 0))
    if not len(rows):
        return rows, np.zeros(0)
    y, mean, sd = _expected(state, gp, table, rows)
    return rows, np.where(is_doubtful(state, gp, y, mean, sd), np.abs(y - mean) / sd, 0.0)


def _expected(
    state: State, gp: GaussianProcess, table: Evaluations, rows: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values (n,) in these rows, what the surrogate expects of them, and the SD of that."""
    x = state.space.to_inference(table.theta[rows])
    y = table.log_joint[rows] + state.space.log_jacobian(x)
    mean, variance = gp.pooled(x)
    noise = gp.weights @ gp.new_observation_variance(table.sd[rows] * state.noise_scale, len(rows))
    return y, mean, np.sqrt(variance + noise)


def with_audit(state: State) -> State:
    """The state after warm-up, with the evaluations chosen whose points are to be audited."""
    if state.fit is None or not state.noisy or state.is_searching or state.audited:
        return state
    gp, training = state.fit.gp, state.training
    if gp.data.size != training.data.size:  # just trimmed
        return state
    mean = gp.weights @ gp.predict_mean(gp.data.x)
    high = mean > mean.max() - high_depth(state.dimension)
    rows = training.rows[high & (gp.data.variance > 0)]
    if len(rows) < N_AUDITED:
        return state
    chosen = rows[np.linspace(0, len(rows) - 1, N_AUDITED).astype(np.intp)]
    return replace(state, audited=tuple(int(row) for row in chosen))


def is_auditing(state: State) -> bool:
    """Whether an evaluation that is audited has not been made again yet."""
    return any(is_open(state, state.evaluations, row) for row in state.audited)


def is_doubtful(
    state: State, gp: GaussianProcess, y: FloatArray, expected: FloatArray, sd: FloatArray
) -> BoolArray:
    """Which of the values y (n,) are too far from what was expected, with these SDs (n,)."""
    top = float((gp.weights @ gp.predict_mean(gp.data.x)).max())
    error = y - expected
    depth = np.maximum(top - high_depth(state.dimension) - np.maximum(y, expected), 0.0)
    least = SMALLEST_ERROR + ERROR_PER_DEPTH * depth
    far = (np.abs(error) > DOUBTED * sd) & (np.abs(error) > least)
    return np.asarray(far & (error > 0 if state.is_searching else True))


def n_left(state: State, evaluations: Evaluations) -> int:
    """How many more evaluations may be doubted, if each of them takes one repeat.

    None where all are the user's own: nobody may be there to answer.
    """
    if all(origin in (Origin.GIVEN, Origin.USER) for origin in evaluations.origin):
        return 0
    made = evaluations.origin.count(Origin.AGAIN)
    waiting = sum(is_open(state, evaluations, row) for row in state.doubted)
    allowed = int(max(SOME, LARGEST_SHARE * len(evaluations))) + len(state.audited)
    return max(0, allowed - made - waiting)


def is_open(state: State, evaluations: Evaluations, row: int) -> bool:
    """Whether another evaluation is wanted at the point of this row.

    As long as there is one value only, or none that another one agrees with.
    """
    rows = same_point(evaluations, row)
    repeats = sum(evaluations.origin[i] == Origin.AGAIN for i in rows)
    if repeats >= MOST_REPEATS:
        return False
    values = rows[evaluations.ok[rows]]
    if len(values) < 2:
        return True
    return bool(repeats and set_aside(evaluations, fitted_sd(state))[values].all())


def same_point(evaluations: Evaluations, row: int) -> NDArray[np.intp]:
    """The rows of all evaluations at the point of this row."""
    return np.flatnonzero(np.all(evaluations.theta == evaluations.theta[row], axis=1))


def fitted_sd(state: State) -> float:
    """The SD of noise of unknown size as it was fitted; nan where all is known, or nothing yet."""
    size = None if state.fit is None else state.fit.gp.hyper.unknown_variance
    if state.fit is None or size is None:
        return float("nan")
    return float(np.sqrt(state.fit.gp.weights @ size))


def rows_aside(state: State, evaluations: Evaluations, doubted: Sequence[int]) -> tuple[int, ...]:
    """Rows of ``evaluations`` that are not believed: contradicted, or to be asked for again."""
    mask = set_aside(evaluations, fitted_sd(state))
    for row in doubted:
        if is_open(state, evaluations, row):
            mask[same_point(evaluations, row)] = True
    return tuple(int(row) for row in np.flatnonzero(mask & evaluations.ok))


def next_again(state: State, pending: FloatArray) -> FloatArray | None:
    """The point θ (D_full,) to evaluate again; None if there is none, or it is ``pending``."""
    for row in (*state.doubted, *state.audited):
        theta = state.evaluations.theta[row]
        if is_open(state, state.evaluations, row) and not np.any(np.all(pending == theta, axis=1)):
            return theta
    return None
