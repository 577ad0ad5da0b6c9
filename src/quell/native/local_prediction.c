/* The surrogate at one point, under all hyperparameter samples: quell.gp.gradients.
 *
 *     cross = kappa(x, X),   solved = K^-1 cross,   mean = m(x) + cross . alpha,
 *     variance = max(sigma_f^2 - |L^-1 cross|^2, 0). */
#include "gp.h"
#include <math.h>
#include <string.h>

/* Of one sample; columns (D, m) are the training points, lower its factor. */
static void predict(const double *x, const double *columns, const double *theta, double *lower,
                    const double *alpha, int m, int dimension, double *lengths, double *cross,
                    double *solved, double *mean, double *variance)
{
    const double output = exp(2.0 * theta[dimension]);
    const double *centre = theta + dimension + 3, *scales = centre + dimension;
    double sum = theta[dimension + 2], explained = 0.0;
    int one = 1;
    for (int d = 0; d < dimension; d++) {
        const double offset = (x[d] - centre[d]) / exp(scales[d]);
        sum -= 0.5 * offset * offset;
        lengths[d] = exp(theta[d]);
    }
    kernel_row(cross, x, columns, lengths, output, m, dimension);
    memcpy(solved, cross, sizeof(double) * (size_t)m);
    dtrsv("L", "N", "N", &m, lower, &m, solved, &one);
    for (int i = 0; i < m; i++) {
        explained += solved[i] * solved[i];
        sum += cross[i] * alpha[i];
    }
    dtrsv("L", "T", "N", &m, lower, &m, solved, &one);
    *mean = sum;
    *variance = output - explained > 0.0 ? output - explained : 0.0;
}

/* local_prediction(x, points, theta, factors, alpha, out) with x (D,), points (M, D), theta
 * (S, size), factors (S, M, M), alpha (S, M), and out (2M + 2, S): cross (S, M), solved (S, M),
 * mean (S,), variance (S,). What is known of f is left to the caller. */
PyObject *local_prediction(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer x, points, theta, factors, alpha, out;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*w*", &x, &points, &theta, &factors, &alpha, &out))
        return NULL;
    const Py_ssize_t dimension = x.len / (Py_ssize_t)sizeof(double);
    const Py_ssize_t m = dimension ? points.len / x.len : 0, n_samples = m ? alpha.len / m / 8 : 0;
    const Py_ssize_t size = n_samples ? theta.len / n_samples / 8 : 0;
    int good = has_doubles(&x, dimension, "x") && has_doubles(&points, m * dimension, "points") &&
               has_doubles(&alpha, n_samples * m, "alpha") &&
               has_doubles(&factors, n_samples * m * m, "factors") &&
               has_doubles(&theta, n_samples * (3 * dimension + 3 + (size > 3 * dimension + 3)),
                           "theta") &&
               has_doubles(&out, n_samples * (2 * m + 2), "out");
    double *room = good ? PyMem_Malloc((size_t)(points.len + x.len) + 1) : NULL;
    if (good && !room) {
        PyErr_NoMemory();
        good = 0;
    }
    if (good) {
        double *cross = out.buf, *solved = cross + n_samples * m, *mean = solved + n_samples * m;
        columns_of(room + dimension, points.buf, m, dimension);
        for (Py_ssize_t s = 0; s < n_samples; s++)
            predict(x.buf, room + dimension, (const double *)theta.buf + s * size,
                    (double *)factors.buf + s * m * m, (const double *)alpha.buf + s * m, (int)m,
                    (int)dimension, room, cross + s * m, solved + s * m, mean + s,
                    mean + n_samples + s);
    }
    PyMem_Free(room);
    PyBuffer_Release(&x);
    PyBuffer_Release(&points);
    PyBuffer_Release(&theta);
    PyBuffer_Release(&factors);
    PyBuffer_Release(&alpha);
    PyBuffer_Release(&out);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}
