/* The entropy of a mixture averaged over a base sample, -sum_k w_k <log q>_k, with its gradient.
 *
 * Notation of quell/mixture/entropy.py. One component k after the other: the log densities at its
 * points are linear in the features (1, eps, |eps|^2) of the base sample (entropy_terms.c), their
 * exponentials are averaged (entropy_average.h), and the gradient follows from those averages. */
#include "entropy.h"
#include <math.h>
#include <string.h>

#define LOG_TWO_PI 1.83787706640934548356
#define LARGEST_SINGLE 1e4 /* as in quell/mixture/entropy.py */

/* The value; the gradient too, if that is not NULL. */
static double average_entropy(double *gradient, const Mixture *q, const double *base, ptrdiff_t n,
                              ptrdiff_t n_features, int single, double *workspace)
{
    const ptrdiff_t n_components = q->n_components, dimension = q->dimension;
    const ptrdiff_t n_numbers = n_features * ROUND_UP(n, BLOCK);
    double *features = workspace, *z = features + n_numbers;
    double *coefficients = z + n_components * dimension;
    double *moments = coefficients + n_components * (1 + n_features);
    double *heights = moments + n_components * (1 + n_features), *rest = heights + n_components;
    float *rounded = (float *)(rest + entropy_workspace(n_components, n_features));
    double value = 0.0, constant = 0.5 * (double)dimension * LOG_TWO_PI;
    const Gradient parts = gradient_parts(gradient, q);

    entropy_features(features, base, dimension, n_features, n);
    for (ptrdiff_t k = 0; k < n_components; k++)
        heights[k] = log(q->weights[k]) - (double)dimension * log(q->scales[k]);
    for (ptrdiff_t k = 0; single && k < n_components; k++)
        single = q->weights[k] == 0.0 || entropy_coefficients(z, coefficients, heights, q, k,
                                                              n_features) < LARGEST_SINGLE;
    for (ptrdiff_t i = 0; single && i < n_numbers; i++)
        rounded[i] = (float)features[i];
    for (ptrdiff_t i = 0; i < dimension; i++)
        constant += log(q->lengths[i]);
    for (ptrdiff_t k = 0; k < n_components; k++) {
        if (q->weights[k] == 0.0)
            continue;
        entropy_coefficients(z, coefficients, heights, q, k, n_features);
        const double log_density =
            entropy_average(gradient ? moments : NULL, coefficients, features,
                            single ? rounded : NULL, rest, n_components, n_features, n) - constant;
        value -= q->weights[k] * log_density;
        if (gradient) {
            entropy_gradient(parts, q, k, z, moments, n_features);
            parts.eta[k] += q->weights[k] * (1.0 - log_density);
        }
    }
    for (ptrdiff_t k = 0; gradient && k < n_components; k++) {
        parts.eta[k] -= q->weights[k] * value;
        for (ptrdiff_t i = 0; i < dimension; i++)
            parts.means[k * dimension + i] /= q->lengths[i];
    }
    for (ptrdiff_t i = 0; gradient && i < dimension; i++)
        parts.lengths[i] += 1.0; /* stretching everything adds the log of the factor */
    return value;
}

/* entropy(gradient, weights, means, scales, lengths, base, single); base is (D, n), and gradient is
 * empty if only the value is wanted, which is returned. */
PyObject *entropy(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer b[6];
    Mixture q;
    if (!take_buffers(arguments, b, 6, 7))
        return NULL;
    const int single = PyObject_IsTrue(PyTuple_GetItem(arguments, 6));
    double value = 0.0, *workspace = NULL;
    int good = single >= 0 && as_mixture(&q, b + 1);
    if (good) {
        const Py_ssize_t k = q.n_components, d = q.dimension, n = count_doubles(b + 5) / d;
        const Py_ssize_t f = ROUND_UP(d + 1, 4), columns = ROUND_UP(n, BLOCK);
        const Py_ssize_t size = 2 * f * columns + k * (d + 3 + 2 * f) + entropy_workspace(k, f);
        good = has_doubles(b + 5, n ? n * d : d, "base") &&
               (!b[0].len || has_doubles(b, n_free(&q), "gradient")) &&
               ((workspace = PyMem_Malloc((size_t)size * sizeof(double))) || PyErr_NoMemory());
        if (good) {
            memset(b[0].buf, 0, (size_t)b[0].len);
            value = average_entropy(b[0].len ? b[0].buf : NULL, &q, b[5].buf, n, f, single,
                                    workspace);
        }
    }
    PyMem_Free(workspace);
    release_buffers(b, 6);
    return good ? PyFloat_FromDouble(value) : NULL;
}
