/* The log marginal likelihood of the surrogate and its gradient: quell.gp.marginal.
 *
 * With alpha = K^-1 (y - m(X)) and W = (K^-1 - alpha alpha^T) o kappa, as in observations.c,
 *     d log p / d log l_d     = -sum_i>j W_ij (x_id - x_jd)^2 / l_d^2,
 *     d log p / d log sigma_f = -sum_ij W_ij,
 *     d log p / d noise_i     = (alpha_i^2 - K^-1_ii) / 2,     d log p / d m(x_i) = alpha_i. */
#include "gp.h"
#include <math.h>

/* The sum of W is returned; those of W (x_id - x_jd)^2 over i > j are put into spread (D,). */
FOR_EVERY_CPU
static double sum_of_weights(const struct observations *data, double *restrict spread)
{
    const ptrdiff_t n = data->n;
    const double *restrict alpha = data->alpha;
    double *restrict column = data->column, total = 0.0;
    for (int d = 0; d < data->dimension; d++)
        spread[d] = 0.0;
    for (ptrdiff_t j = 0; j < n; j++) {
        const double *restrict inverse = data->factor + j * n, *restrict kernel = data->kernel + j * n;
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (ptrdiff_t i = j + 1; i < n; i++) {
            column[i] = (inverse[i] - alpha[i] * alpha[j]) * kernel[i];
            sum += column[i];
        }
        total += 2.0 * sum + (inverse[j] - alpha[j] * alpha[j]) * kernel[j];
        for (int d = 0; d < data->dimension; d++) {
            const double *restrict x = data->x + d * n, here = x[j];
            double moment = 0.0;
#pragma omp simd reduction(+ : moment)
            for (ptrdiff_t i = j + 1; i < n; i++)
                moment += column[i] * ((x[i] - here) * (x[i] - here));
            spread[d] += moment;
        }
    }
    return total;
}

int log_marginal(const struct observations *data, const double *theta, Py_ssize_t size,
                 double *value, double *gradient)
{
    const int dimension = data->dimension, unknown = size > 3 * dimension + 3;
    if (!solve_observations(data, theta, unknown, value))
        return 0;
    if (!gradient)
        return 1;
    const ptrdiff_t n = data->n;
    inverse_from_factor(data->factor, data->n);
    gradient[dimension] = -sum_of_weights(data, gradient);
    double all = 0.0, of_unknown = 0.0, by_mean = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double alpha = data->alpha[i], by_noise = alpha * alpha - data->factor[i * (n + 1)];
        all += by_noise;
        by_mean += alpha;
        if (isnan(data->variance[i]))
            of_unknown += by_noise;
    }
    gradient[dimension + 1] = exp(2.0 * theta[dimension + 1]) * all;
    gradient[dimension + 2] = by_mean;
    if (unknown)
        gradient[3 * dimension + 3] = 0.5 * exp(theta[3 * dimension + 3]) * of_unknown;
    for (int d = 0; d < dimension; d++) {
        const double *x = data->x + d * n, centre = theta[dimension + 3 + d];
        const double weight = exp(-2.0 * theta[2 * dimension + 3 + d]);
        double first = 0.0, second = 0.0;
        for (ptrdiff_t i = 0; i < n; i++) {
            const double moment = data->alpha[i] * (x[i] - centre);
            first += moment;
            second += moment * (x[i] - centre);
        }
        gradient[d] *= -exp(-2.0 * theta[d]);
        gradient[dimension + 3 + d] = weight * first;
        gradient[2 * dimension + 3 + d] = weight * second;
    }
    return 1;
}

/* marginal_likelihood(theta, observations, work, gradient): the value, or None where K cannot be
 * factorised; an empty gradient is left alone. */
PyObject *marginal_likelihood(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer theta, table, work, gradient;
    if (!PyArg_ParseTuple(arguments, "y*y*w*w*", &theta, &table, &work, &gradient))
        return NULL;
    const Py_ssize_t size = theta.len / (Py_ssize_t)sizeof(double);
    struct observations data;
    double value = 0.0;
    const int good = read_observations(&data, &table, &work, size) &&
                     (gradient.len == 0 || has_doubles(&gradient, size, "gradient"));
    const int found =
        good && log_marginal(&data, theta.buf, size, &value, gradient.len ? gradient.buf : NULL);
    PyBuffer_Release(&theta);
    PyBuffer_Release(&table);
    PyBuffer_Release(&work);
    PyBuffer_Release(&gradient);
    if (!good)
        return NULL;
    if (found)
        return PyFloat_FromDouble(value);
    Py_RETURN_NONE;
}
