/* The squared-exponential kernel between two sets of points: quell.gp.model. */
#include "exponential.h"
#include "gp.h"

/* b (m, D) as its columns (D, m). */
void columns_of(double *restrict out, const double *restrict b, ptrdiff_t m, ptrdiff_t dimension)
{
    for (ptrdiff_t d = 0; d < dimension; d++)
        for (ptrdiff_t j = 0; j < m; j++)
            out[d * m + j] = b[j * dimension + d];
}

FOR_EVERY_CPU
void kernel_row(double *restrict out, const double *restrict a, const double *restrict columns,
                const double *restrict lengths, double variance, ptrdiff_t m, ptrdiff_t dimension)
{
    for (ptrdiff_t j = 0; j < m; j++)
        out[j] = 0.0;
    for (ptrdiff_t d = 0; d < dimension; d++) {
        const double *restrict b = columns + d * m;
        const double here = a[d], weight = 0.5 / (lengths[d] * lengths[d]);
        /* Subtracted before squared: exact for near-duplicates. */
        for (ptrdiff_t j = 0; j < m; j++)
            out[j] -= weight * ((b[j] - here) * (b[j] - here));
    }
    for (ptrdiff_t j = 0; j < m; j++)
        out[j] = variance * quick_exp(out[j]);
}

/* cross_kernel(out, a, b, lengths, variance) with out (n, m), a (n, D), b (m, D), lengths (D,):
 * out_ij = variance exp(-1/2 sum_d (a_id - b_jd)^2 / lengths_d^2). */
PyObject *cross_kernel(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer out, a, b, lengths;
    double variance;
    if (!PyArg_ParseTuple(arguments, "w*y*y*y*d", &out, &a, &b, &lengths, &variance))
        return NULL;
    const Py_ssize_t dimension = lengths.len / (Py_ssize_t)sizeof(double);
    const Py_ssize_t row = dimension ? lengths.len : 1, n = a.len / row, m = b.len / row;
    int good = has_doubles(&lengths, dimension, "lengths") && has_doubles(&a, n * dimension, "a") &&
               has_doubles(&b, m * dimension, "b") && has_doubles(&out, n * m, "out");
    double *columns = good ? PyMem_Malloc((size_t)b.len + 1) : NULL;
    if (good && !columns) {
        PyErr_NoMemory();
        good = 0;
    }
    if (good) {
        columns_of(columns, b.buf, m, dimension);
        for (Py_ssize_t i = 0; i < n; i++)
            kernel_row((double *)out.buf + i * m, (const double *)a.buf + i * dimension, columns,
                       lengths.buf, variance, m, dimension);
    }
    PyMem_Free(columns);
    PyBuffer_Release(&out);
    PyBuffer_Release(&a);
    PyBuffer_Release(&b);
    PyBuffer_Release(&lengths);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}
