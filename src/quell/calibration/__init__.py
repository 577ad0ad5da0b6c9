"""Are posteriors right on average? Data simulated from known parameters, and predicted data."""

from quell.calibration.calibrate import Calibration, calibrate
from quell.calibration.predictive import PredictiveCheck, predictive_check

__all__ = ["Calibration", "PredictiveCheck", "calibrate", "predictive_check"]
