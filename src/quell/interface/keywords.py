"""Unknown keyword arguments: what was probably meant, also by users of PyVBMC and SciPy."""

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

#: Names less similar than this (`difflib`, 0 to 1) are not suggested for each other.
SIMILAR = 0.65

_PROBLEM, _INFER, _SETTINGS = "quell.Problem", "quell.infer", "quell.Settings"
#: Where an argument is looked for that a function does not have.
_ASKED_FIRST = (_PROBLEM, _INFER, _SETTINGS)
#: The arguments of all functions with explanations, by name; complete once they are imported.
_KNOWN: dict[str, list[str]] = {}
#: What an argument or option of another program, in small letters, is called here, and where.
ELSEWHERE: dict[str, tuple[str, str]] = {
    # the problem
    "log_density": ("log_likelihood", _PROBLEM),
    "log_joint": ("log_likelihood", _PROBLEM),
    "logp": ("log_likelihood", _PROBLEM),
    "loglike": ("log_likelihood", _PROBLEM),
    "log_like": ("log_likelihood", _PROBLEM),
    "target": ("log_likelihood", _PROBLEM),
    "fun": ("log_likelihood", _PROBLEM),
    "lower_bounds": ("lower", _PROBLEM),
    "upper_bounds": ("upper", _PROBLEM),
    "plausible_lower_bounds": ("plausible_lower", _PROBLEM),
    "plausible_upper_bounds": ("plausible_upper", _PROBLEM),
    "lb": ("lower", _PROBLEM),
    "ub": ("upper", _PROBLEM),
    "plb": ("plausible_lower", _PROBLEM),
    "pub": ("plausible_upper", _PROBLEM),
    "bounds": ("lower= and upper", _PROBLEM),
    "log_prior": ("prior", _PROBLEM),
    "priors": ("prior", _PROBLEM),
    "sample_prior": ("prior", _PROBLEM),
    "parameter_names": ("names", _PROBLEM),
    "param_names": ("names", _PROBLEM),
    "var_names": ("names", _PROBLEM),
    "labels": ("names", _PROBLEM),
    "specify_target_noise": ('noise="reported"', _PROBLEM),
    "uncertainty_handling": ('noise="reported" or noise="unknown"', _PROBLEM),
    "noise_size": ("noise_guess", _PROBLEM),
    "noise_sd": ("noise_guess", _PROBLEM),
    "integer_vars": ("integer", _PROBLEM),
    "bounded_transform": ("bounded", _PROBLEM),
    "vectorized": ("vectorised", _PROBLEM),
    "constraints": ("constraint", _PROBLEM),
    # the run
    "max_fun_evals": ("budget", _INFER),
    "max_evaluations": ("budget", _INFER),
    "max_evals": ("budget", _INFER),
    "maxiter": ("budget", _INFER),
    "max_iter": ("budget", _INFER),
    "n_evaluations": ("budget", _INFER),
    "x0": ("start", _INFER),
    "init": ("start", _INFER),
    "f_vals": ("evaluations=(points, values", _INFER),
    "fvals": ("evaluations=(points, values", _INFER),
    "s_vals": ("evaluations=(points, values, sds", _INFER),
    "options": ("settings", _INFER),
    "user_options": ("settings", _INFER),
    "random_state": ("seed", _INFER),
    "random_seed": ("seed", _INFER),
    "rng": ("seed", _INFER),
    "display": ("progress", _INFER),
    "verbose": ("progress", _INFER),
    "progressbar": ("progress", _INFER),
    "n_jobs": ("workers= with executor", _INFER),
    "n_workers": ("workers", _INFER),
    "pool": ("executor", _INFER),
    "checkpoint": ("journal", _INFER),
    # the algorithm
    "fun_evals_per_iter": ("batch", _SETTINGS),
    "search_acq_fcn": ("acquisition", _SETTINGS),
    "acq_fcn": ("acquisition", _SETTINGS),
    "warp_rotoscaling": ("whitening", _SETTINGS),
    "rotate": ("whitening", _SETTINGS),
    "min_final_components": ("final_components", _SETTINGS),
    "ns_gp_max": ("max_samples", _SETTINGS),
    "gp_samples": ("max_samples", _SETTINGS),
}
#: Options of PyVBMC that have no counterpart, and why.
NONE_HERE = {
    "fun_eval_start": "the first design has max(D, 10) points; give points of your own by start=",
    "fun_evals_start": "the first design has max(D, 10) points; give points of your own by start=",
    "min_fun_evals": "a run ends when its answer has been stable for long enough",
    "tol_stable_count": "a run ends when its answer has been stable for long enough",
    "tol_stable_excpt_frac": "a run ends when its answer has been stable for long enough",
    "do_final_boost": "set final_components=0 in quell.Settings for no last polish",
    "k_warmup": "warm-up has two components until it ends",
    "warmup": "a warm-up ends by itself",
    "plot": "results are plotted after the run",
    "log_file_name": "journal= of quell.infer records every evaluation",
}


def explains_unknown_arguments(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: unknown keywords are a ``TypeError`` that says what was probably meant.

    ``name`` is what users call the function. Its signature stays what it is.

    >>> @explains_unknown_arguments("quell.infer")
    ... def infer(*, budget=None, seed=None):
    ...     return budget
    >>> infer(max_fun_evals=3)
    Traceback (most recent call last):
        ...
    TypeError: quell.infer has no argument 'max_fun_evals'; here that is budget=
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        known = inspect.signature(function).parameters
        _KNOWN[name] = [*known]
        unnamed = [key for key, entry in known.items() if entry.kind is not entry.KEYWORD_ONLY]

        @functools.wraps(function)
        def call(*arguments: P.args, **named: P.kwargs) -> R:
            for keyword in named:
                if keyword not in known:
                    raise TypeError(unknown_argument(name, keyword, [*known]))
            if len(arguments) > len(unnamed):
                raise TypeError(_too_many(name, unnamed, [*known]))
            return function(*arguments, **named)

        return call

    return decorate


def explains_unknown_fields(name: str) -> Callable[[C], C]:
    """The same for a dataclass, whose ``__init__`` is not written out."""

    def decorate(kind: C) -> C:
        made = explains_unknown_arguments(name)(vars(kind)["__init__"])
        type.__setattr__(kind, "__init__", made)
        return kind

    return decorate


def _too_many(name: str, unnamed: list[str], known: list[str]) -> str:
    taken = [word for word in unnamed if word != "self"]
    rest = [f"{word}=" for word in known if word not in unnamed]
    only = f"only {' and '.join(taken)} may be" if taken else "none may be"
    return (
        f"{name} has too many arguments without a name: {only} (name the others: {', '.join(rest)})"
    )


def unknown_argument(name: str, keyword: str, known: list[str]) -> str:
    """The sentence about an unknown keyword.

    >>> unknown_argument("quell.infer", "buget", ["budget", "seed"])
    "quell.infer has no argument 'buget'; did you mean 'budget'?"
    >>> unknown_argument("quell.infer", "lb", ["budget", "seed"])
    "quell.infer has no argument 'lb'; that is lower= of quell.Problem"
    """
    begin = f"{name} has no argument {keyword!r}"
    key = _plain(keyword)
    if key in _NONE:
        return f"{begin}: {_NONE[key]}"
    if key in _THEIRS:
        here, where = _THEIRS[key]
        here += ")" if here.count("(") > here.count(")") else "" if here.endswith('"') else "="
        return f"{begin}; " + (
            f"here that is {here}" if where == name else f"that is {here} of {where}"
        )
    everywhere = {**_KNOWN, name: known}
    for where in _ASKED_FIRST:
        if keyword in everywhere.get(where, ()):
            return f"{begin}; that is an argument of {where}"
    near = _nearest(keyword, name, everywhere)
    if near:
        word, where = near
        return f"{begin}; did you mean {word!r}" + ("?" if where == name else f" of {where}?")
    return f"{begin} (it has {', '.join(word for word in known if word != 'self')})"


def _nearest(keyword: str, name: str, everywhere: dict[str, list[str]]) -> tuple[str, str] | None:
    """The known argument most like the keyword, and whose it is; of equals that of ``name``."""
    from difflib import SequenceMatcher  # only where there is an error to report

    found = [
        (SequenceMatcher(None, _plain(keyword), _plain(word)).ratio(), where == name, word, where)
        for where in {name, *_ASKED_FIRST}
        for word in everywhere.get(where, ())
        if word != "self"
    ]
    best = max(found, default=(0.0, False, "", ""))
    return best[2:] if best[0] >= SIMILAR else None


def _plain(keyword: str) -> str:
    return keyword.lower().replace("_", "").replace("=", "")


_THEIRS = {_plain(key): value for key, value in ELSEWHERE.items()}
_NONE = {_plain(key): value for key, value in NONE_HERE.items()}
