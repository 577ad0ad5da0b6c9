/* The reduction of an interquantile range by one observation, and its gradient, for one sample:
 * quell.acquisition.interquantile and lookahead.
 *
 *     reduction = sum_a terms_a (1 + e^-2p) (1 - e^-2q),   p = u (s + s')/2,   q = u (s - s')/2,
 *     s'^2      = max(s^2 - C^2/total, (floor s)^2),       C = kappa(x, a) - cross . solved_a,
 *
 * with s the SD of f(a), C its covariance with f(x), total the variance of the observation. */
#include "gp.h"
#include <math.h>
#include <string.h>

static const double u = 0.67448975019608174320, sd_floor = 1e-8; /* as in interquantile */

/* The sum is returned; covariance (n,) becomes its derivative in C, *by_total that in total. */
static double reduction(double *covariance, double total, const double *sd, const double *terms,
                        ptrdiff_t n, double *by_total)
{
    double sum = 0.0;
    *by_total = 0.0;
    for (ptrdiff_t a = 0; a < n; a++) {
        const double tau_squared = covariance[a] * covariance[a] / total, least = sd_floor * sd[a];
        const double after = sqrt(fmax(sd[a] * sd[a] - tau_squared, least * least));
        const double both = after + sd[a], tail = exp(-u * both);
        const double drop = -expm1(-u * tau_squared / both);
        const double by_tau_squared = terms[a] * 0.5 * u / after * (1.0 - drop + tail);
        sum += terms[a] * (1.0 + tail) * drop;
        covariance[a] = by_tau_squared * 2.0 * covariance[a] / total;
        *by_total -= by_tau_squared * tau_squared / total;
    }
    return sum;
}

/* gradient += sum_i coefficients_i kernel_i (points_i - x) / l^2, points given as columns (D, n). */
FOR_EVERY_CPU
static void add_slopes(double *gradient, const double *restrict coefficients,
                       const double *restrict kernel, const double *restrict columns,
                       const double *x, const double *lengths, ptrdiff_t n, ptrdiff_t dimension)
{
    for (ptrdiff_t d = 0; d < dimension; d++) {
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (ptrdiff_t i = 0; i < n; i++)
            sum += coefficients[i] * kernel[i] * (columns[d * n + i] - x[d]);
        gradient[d] += sum / (lengths[d] * lengths[d]);
    }
}

enum { X, OBSERVED, LENGTHS, CROSS, WEIGHTS, POINTS, SOLVED, SD, TERMS, GRADIENT, N_BUFFERS };
static const char *names[] = {"x",      "observed", "lengths", "cross", "weights",
                              "points", "solved",   "sd",      "terms", "gradient"};

/* lookahead(x, observed, lengths, cross, weights, points, solved, sd, terms, gradient, variance,
 * total), with x, lengths and gradient (D,), observed (M, D), cross = kappa(x, X) and weights =
 * K^-1 cross (M,), points (A, D), solved = K^-1 kappa(X, a) (A, M), sd and terms (A,): returns the
 * reduction, and adds its gradient, the noise held, to gradient. */
PyObject *lookahead(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer of[N_BUFFERS];
    double variance, total, sum = 0.0, by_total, one = 1.0, minus = -1.0;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*y*y*y*y*w*dd", &of[X], &of[OBSERVED], &of[LENGTHS],
                          &of[CROSS], &of[WEIGHTS], &of[POINTS], &of[SOLVED], &of[SD], &of[TERMS],
                          &of[GRADIENT], &variance, &total))
        return NULL;
    int step = 1, dimension = (int)(of[X].len / 8), m = (int)(of[CROSS].len / 8);
    int n = (int)(of[SD].len / 8), good = 1;
    const Py_ssize_t sizes[] = {dimension,     (Py_ssize_t)m * dimension, dimension, m, m,
                                (Py_ssize_t)n * dimension, (Py_ssize_t)n * m, n, n, dimension};
    for (int k = 0; good && k < N_BUFFERS; k++)
        good = has_doubles(&of[k], sizes[k], names[k]);
    double *room = good ? PyMem_Malloc(sizeof(double) * (size_t)(n + m) * (dimension + 2) + 1) : NULL;
    if (room) {
        double *columns = room, *prior = columns + (ptrdiff_t)(n + m) * dimension;
        double *slopes = prior + n, *through = slopes + n, *observed = columns + n * dimension;
        columns_of(columns, of[POINTS].buf, n, dimension);
        columns_of(observed, of[OBSERVED].buf, m, dimension);
        kernel_row(prior, of[X].buf, columns, of[LENGTHS].buf, variance, n, dimension);
        memcpy(slopes, prior, sizeof(double) * (size_t)n);
        dgemv("T", &m, &n, &minus, of[SOLVED].buf, &m, of[CROSS].buf, &step, &one, slopes, &step);
        sum = reduction(slopes, total, of[SD].buf, of[TERMS].buf, n, &by_total);
        for (int i = 0; i < m; i++)
            through[i] = -2.0 * by_total * ((double *)of[WEIGHTS].buf)[i];
        dgemv("N", &m, &n, &minus, of[SOLVED].buf, &m, slopes, &step, &one, through, &step);
        add_slopes(of[GRADIENT].buf, slopes, prior, columns, of[X].buf, of[LENGTHS].buf, n, dimension);
        add_slopes(of[GRADIENT].buf, through, of[CROSS].buf, observed, of[X].buf, of[LENGTHS].buf, m,
                   dimension);
    }
    PyMem_Free(room);
    for (int k = 0; k < N_BUFFERS; k++)
        PyBuffer_Release(&of[k]);
    if (!good)
        return NULL;
    return room ? PyFloat_FromDouble(sum) : PyErr_NoMemory();
}
