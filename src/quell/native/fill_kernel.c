/* The squared-exponential kernel between all pairs of points, as a lower triangle. */
#include "exponential.h"
#include "gp.h"

FOR_EVERY_CPU
void fill_lower(double *restrict out, const double *restrict points,
                const double *restrict weights, double variance, int n, int dimension)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        double *restrict column = out + j * n;
        for (ptrdiff_t i = j + 1; i < n; i++)
            column[i] = 0.0;
        for (int d = 0; d < dimension; d++) {
            const double *restrict x = points + (ptrdiff_t)d * n;
            const double here = x[j], weight = weights[d];
            /* Subtracted before squared: exact for near-duplicates. */
            for (ptrdiff_t i = j + 1; i < n; i++)
                column[i] -= weight * ((x[i] - here) * (x[i] - here));
        }
        for (ptrdiff_t i = j + 1; i < n; i++)
            column[i] = variance * quick_exp(column[i]);
    }
}

/* fill_kernel(out, x, weights, variance) with out (n, n), x (D, n) and weights (D,). */
PyObject *fill_kernel(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer out, x, weights;
    double variance;
    if (!PyArg_ParseTuple(arguments, "w*y*y*d", &out, &x, &weights, &variance))
        return NULL;
    const Py_ssize_t dimension = weights.len / (Py_ssize_t)sizeof(double);
    const Py_ssize_t n = dimension ? x.len / (Py_ssize_t)sizeof(double) / dimension : 0;
    const int good = has_doubles(&weights, dimension, "weights") &&
                     has_doubles(&x, n * dimension, "x") && has_doubles(&out, n * n, "out");
    if (good)
        fill_lower(out.buf, x.buf, weights.buf, variance, (int)n, (int)dimension);
    PyBuffer_Release(&out);
    PyBuffer_Release(&x);
    PyBuffer_Release(&weights);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}
