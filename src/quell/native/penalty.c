/* The penalties on a mixture that is being fitted, with their gradient.
 *
 * Notation of quell/variational/objective.py: a soft bound on v in [a, b] of width c costs
 * ((distance of v from [a, b])/(0.01 c))^2/2; bounded are the means (the box of the points), log
 * sigma_k + log lambda_i (1e-6 to 1 times the box) and, where weights are fitted, eta_k, which is
 * relative to the largest of them. Light weights cost 0.1 sum_k min(w_k, threshold). */
#include <float.h>
#include <math.h>
#include <string.h>
#include "mixture.h"

/* As in quell/variational/objective.py. */
#define SOFT_BOUND_SCALE 0.01
#define SMALLEST_SCALE 1e-6
#define WEIGHT_PENALTY 0.1

/* Adds the cost to value and returns its derivative in v. */
static double soft_bound(double *value, double v, double lower, double upper, double width)
{
    const double outside = v > upper ? v - upper : v < lower ? v - lower : 0.0;
    const double scaled = outside / (SOFT_BOUND_SCALE * width);
    *value += 0.5 * scaled * scaled;
    return scaled / (SOFT_BOUND_SCALE * width);
}

static double bound_places(Gradient gradient, const Mixture *q, const double *lower,
                           const double *upper)
{
    double value = 0.0;
    for (ptrdiff_t i = 0; i < q->dimension; i++) {
        const double width = upper[i] > lower[i] ? upper[i] - lower[i] : 1.0;
        const double log_length = log(q->lengths[i]), ceiling = log(width);
        const double range = -log(SMALLEST_SCALE);
        for (ptrdiff_t k = 0; k < q->n_components; k++) {
            const ptrdiff_t place = k * q->dimension + i;
            gradient.means[place] =
                soft_bound(&value, q->means[place], lower[i], upper[i], width);
            const double slope = soft_bound(&value, log(q->scales[k]) + log_length, ceiling - range,
                                            ceiling, range);
            gradient.scales[k] += slope;
            gradient.lengths[i] += slope;
        }
    }
    return value;
}

static double bound_weights(double *by_eta, const Mixture *q, double pruning_weight)
{
    const double *w = q->weights;
    double value = 0.0, slopes = 0.0, mean_slope = 0.0;
    const double threshold = fmax(0.25 / (double)q->n_components, pruning_weight);
    ptrdiff_t top = 0;
    for (ptrdiff_t k = 1; k < q->n_components; k++)
        top = w[k] > w[top] ? k : top;
    for (ptrdiff_t k = 0; k < q->n_components; k++) {
        if (pruning_weight > 0.0) {
            const double floor = log(0.5 * pruning_weight);
            const double eta = log(fmax(w[k], DBL_MIN)) - log(w[top]);
            by_eta[k] = soft_bound(&value, eta, floor, 0.0, -floor);
            slopes += by_eta[k];
        }
        value += WEIGHT_PENALTY * fmin(w[k], threshold);
        mean_slope += w[k] < threshold ? WEIGHT_PENALTY * w[k] : 0.0;
    }
    by_eta[top] -= slopes; /* the largest of them moves all the others */
    for (ptrdiff_t k = 0; k < q->n_components; k++)
        by_eta[k] += w[k] * ((w[k] < threshold ? WEIGHT_PENALTY : 0.0) - mean_slope);
    return value;
}

/* penalty(gradient, weights, means, scales, lengths, lower, upper, pruning_weight, fitted): lower and
 * upper (D,), fitted says whether the weights are. Returns the value. */
PyObject *penalty(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer b[7];
    Mixture q;
    double value = 0.0;
    if (!take_buffers(arguments, b, 7, 9))
        return NULL;
    const double pruning_weight = PyFloat_AsDouble(PyTuple_GetItem(arguments, 7));
    const int fitted = PyObject_IsTrue(PyTuple_GetItem(arguments, 8));
    const int good = !PyErr_Occurred() && as_mixture(&q, b + 1) &&
                     has_doubles(b, n_free(&q), "gradient") &&
                     has_doubles(b + 5, q.dimension, "lower") &&
                     has_doubles(b + 6, q.dimension, "upper");
    if (good) {
        const Gradient parts = gradient_parts(b[0].buf, &q);
        memset(b[0].buf, 0, (size_t)b[0].len);
        value = bound_places(parts, &q, b[5].buf, b[6].buf);
        value += fitted ? bound_weights(parts.eta, &q, pruning_weight) : 0.0;
    }
    release_buffers(b, 7);
    return good ? PyFloat_FromDouble(value) : NULL;
}
