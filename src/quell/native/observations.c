/* The training covariance of the surrogate, its factor, and the likelihood of the observations.
 *
 *     K_ij  = sigma_f^2 exp(-1/2 sum_d (x_id - x_jd)^2 / l_d^2),
 *     K_ii  = sigma_f^2 (1 + nugget) + sigma_bar^2 + s_i^2,     s_i^2 = nu where unknown,
 *     e     = y - m_0 + 1/2 sum_d ((x_d - x_m,d) / omega_d)^2,  alpha = K^-1 e,
 *     log p = -(e . alpha + log |K| + n log 2 pi) / 2,
 *
 * with theta = (log l_1..D, log sigma_f, log sigma_bar, m_0, x_m,1..D, log omega_1..D [, log nu]). */
#include "gp.h"
#include <math.h>
#include <string.h>

/* As in quell.gp.factor and quell.gp.model. */
static const double jitter_ladder[] = {0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8};
static const double nugget = 1e-13, log_2pi = 1.8378770664093454836;

int read_observations(struct observations *data, const Py_buffer *table, const Py_buffer *work,
                      Py_ssize_t size)
{
    const Py_ssize_t dimension = size / 3 - 1;
    const Py_ssize_t n = table->len / (Py_ssize_t)sizeof(double) / (dimension + 2);
    if (dimension < 1 || size % 3 == 2 || n < 1) {
        PyErr_Format(PyExc_ValueError, "theta has %zd entries and there are %zd observations", size,
                     n);
        return 0;
    }
    if (!has_doubles(table, (dimension + 2) * n, "observations") ||
        !has_doubles(work, 2 * n * n + 3 * n + dimension + size, "work"))
        return 0;
    data->n = (int)n;
    data->dimension = (int)dimension;
    data->x = table->buf;
    data->rest = data->x + dimension * n;
    data->variance = data->rest + n;
    data->kernel = work->buf;
    data->factor = data->kernel + n * n;
    data->residual = data->factor + n * n;
    data->alpha = data->residual + n;
    data->column = data->alpha + n;
    data->weights = data->column + n;
    data->theta = data->weights + dimension;
    return 1;
}

/* The lower factor of data->kernel into data->factor; the jitter it took, or -1. */
static double factorise(const struct observations *data)
{
    int n = data->n, info;
    const ptrdiff_t step = n + 1;
    double largest = data->kernel[0];
    for (ptrdiff_t i = 1; i < n; i++)
        largest = fmax(largest, data->kernel[i * step]);
    for (size_t rung = 0; rung < sizeof jitter_ladder / sizeof *jitter_ladder; rung++) {
        const double jitter = jitter_ladder[rung] * largest;
        for (ptrdiff_t j = 0; j < n; j++) {
            memcpy(data->factor + j * step, data->kernel + j * step, sizeof(double) * (n - j));
            data->factor[j * step] += jitter;
        }
        dpotrf("L", &n, data->factor, &n, &info);
        if (info == 0 && isfinite(data->factor[(n - 1) * step]))
            return jitter;
    }
    return -1.0;
}

int solve_observations(const struct observations *data, const double *theta, int unknown,
                       double *value)
{
    int n = data->n, dimension = data->dimension, one = 1, info;
    const double *scales = theta + 2 * dimension + 3, *centre = theta + dimension + 3;
    const double variance = exp(2.0 * theta[dimension]), noise = exp(2.0 * theta[dimension + 1]);
    const double nu = unknown ? exp(theta[3 * dimension + 3]) : NAN, own = variance * (1.0 + nugget);
    for (int d = 0; d < dimension; d++)
        data->weights[d] = 0.5 * exp(-2.0 * theta[d]);
    fill_lower(data->kernel, data->x, data->weights, variance, n, dimension);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double reported = data->variance[i];
        data->kernel[i * (n + 1)] = own + (noise + (isnan(reported) ? nu : reported));
        data->residual[i] = data->rest[i] - theta[dimension + 2];
    }
    const double jitter = factorise(data);
    if (jitter < 0.0)
        return 0;
    for (int d = 0; d < dimension; d++) {
        const double *x = data->x + (ptrdiff_t)d * n, weight = 0.5 * exp(-2.0 * scales[d]);
        for (ptrdiff_t i = 0; i < n; i++)
            data->residual[i] += weight * (x[i] - centre[d]) * (x[i] - centre[d]);
    }
    memcpy(data->alpha, data->residual, sizeof(double) * n);
    dpotrs("L", &n, &one, data->factor, &n, data->alpha, &n, &info);
    double sum = n * log_2pi;
    for (ptrdiff_t i = 0; i < n; i++) {
        /* From here on without the noise. The jitter scales with sigma_f^2, as the nugget does. */
        data->kernel[i * (n + 1)] = own + jitter;
        sum += data->residual[i] * data->alpha[i] + 2.0 * log(data->factor[i * (n + 1)]);
    }
    *value = -0.5 * sum;
    return 1;
}
