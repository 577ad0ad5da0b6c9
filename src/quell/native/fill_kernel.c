/* The squared-exponential kernel between all pairs of points, as a lower triangle. */
#include "exponential.h"
#include "kernels.h"

/* out (n, n) in Fortran order: out[i, j] = variance exp(-sum_d weights[d] squares[d, pair]) for
 * i > j, the pairs counted column by column; the rest of out is left alone. */
FOR_EVERY_CPU
static void fill(double *restrict out, const double *restrict squares,
                 const double *restrict weights, double variance, ptrdiff_t n, ptrdiff_t dimension)
{
    const ptrdiff_t n_pairs = n * (n - 1) / 2;
    ptrdiff_t first = 0;
    for (ptrdiff_t j = 0; j + 1 < n; j++) {
        const ptrdiff_t length = n - 1 - j;
        double *restrict column = out + j * n + j + 1;
        for (ptrdiff_t i = 0; i < length; i++)
            column[i] = -weights[0] * squares[first + i];
        for (ptrdiff_t d = 1; d < dimension; d++)
            for (ptrdiff_t i = 0; i < length; i++)
                column[i] -= weights[d] * squares[d * n_pairs + first + i];
        for (ptrdiff_t i = 0; i < length; i++)
            column[i] = variance * quick_exp(column[i]);
        first += length;
    }
}

PyObject *fill_kernel(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer out, squares, weights;
    double variance;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(arguments, "w*y*y*dn", &out, &squares, &weights, &variance, &n))
        return NULL;
    const Py_ssize_t dimension = weights.len / (Py_ssize_t)sizeof(double);
    const int good = dimension > 0 && has_doubles(&out, n * n, "out") &&
                     has_doubles(&squares, dimension * (n * (n - 1) / 2), "squares");
    if (good)
        fill(out.buf, squares.buf, weights.buf, variance, n, dimension);
    PyBuffer_Release(&out);
    PyBuffer_Release(&squares);
    PyBuffer_Release(&weights);
    if (!good)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "weights are empty");
    Py_RETURN_NONE;
}
