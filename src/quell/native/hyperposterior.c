/* The log posterior density of the hyperparameters: quell.gp.hyperposterior and quell.gp.prior.
 *
 *     log p(u | y) = log p(y | theta) + log p(theta) + sum log dtheta/du,
 *     theta        = a + tau [softplus((u - a)/tau) - softplus((u - b)/tau)],
 *     log p(theta) = constant - 2 sum log(1 + z^2/3),    z = (theta - location)/scale. */
#include "gp.h"
#include <math.h>
#include <string.h>

/* The prior is one array (8, size) with these rows; a scale of nan is a uniform prior. */
enum row { LOWER, UPPER, SOFTNESS, LOWEST, HIGHEST, LOG_GAP, LOCATION, SCALE, N_ROWS };

#define STUDENT_DF 3.0

static double softplus(double t)
{
    return fmax(t, 0.0) + log1p(exp(-fabs(t)));
}

static double logistic(double t)
{
    const double power = exp(-fabs(t));
    return (t < 0.0 ? power : 1.0) / (1.0 + power);
}

static double constrain(const double *prior, Py_ssize_t size, double u)
{
    const double softness = prior[SOFTNESS * size], lower = prior[LOWER * size];
    const double below = softplus((u - lower) / softness);
    const double above = softplus((u - prior[UPPER * size]) / softness);
    const double theta = lower + softness * (below - above);
    if (theta < prior[LOWEST * size])
        return prior[LOWEST * size];
    return theta > prior[HIGHEST * size] ? prior[HIGHEST * size] : theta; /* nan stays nan */
}

/* The prior density of theta, without its constant; its gradient is added, unless that is NULL. */
static double log_prior(const double *prior, const double *theta, Py_ssize_t size, double *gradient)
{
    double value = 0.0;
    for (Py_ssize_t p = 0; p < size; p++) {
        const double scale = prior[SCALE * size + p];
        const double z = (theta[p] - prior[LOCATION * size + p]) / scale;
        if (isnan(scale))
            continue;
        value -= 0.5 * (STUDENT_DF + 1) * log1p(z * z / STUDENT_DF);
        if (gradient)
            gradient[p] -= (STUDENT_DF + 1) * z / (STUDENT_DF + z * z) / scale;
    }
    return value;
}

/* The density of u, and its gradient; -inf and zeros where there is none. */
static double log_density(const struct observations *data, const double *prior, double constant,
                          const double *u, Py_ssize_t size, double *gradient)
{
    double value = -INFINITY, likelihood, *theta = data->theta;
    for (Py_ssize_t p = 0; p < size; p++)
        theta[p] = constrain(prior + p, size, u[p]);
    int good = log_marginal(data, theta, size, &likelihood, gradient);
    if (good)
        value = likelihood + constant + log_prior(prior, theta, size, gradient);
    for (Py_ssize_t p = 0; good && p < size; p++) {
        const double *of = prior + p, softness = of[SOFTNESS * size];
        const double below = (u[p] - of[LOWER * size]) / softness;
        const double above = (u[p] - of[UPPER * size]) / softness;
        const double log_slope = -softplus(-below) - softplus(above) + of[LOG_GAP * size];
        value += log_slope;
        gradient[p] *= exp(log_slope);
        gradient[p] += (logistic(-below) - logistic(above)) / softness;
    }
    good = good && isfinite(value);
    for (Py_ssize_t p = 0; good && p < size; p++)
        good = isfinite(gradient[p]);
    if (!good)
        memset(gradient, 0, sizeof(double) * size);
    return good ? value : -INFINITY;
}

/* hyperposterior(u, prior, constant, observations, work, gradient): the log density of u, and its
 * gradient; with an empty gradient, that of theta, which then stands in place of u. */
PyObject *hyperposterior(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer u, prior, table, work, gradient;
    double constant, value = 0.0;
    if (!PyArg_ParseTuple(arguments, "y*y*dy*w*w*", &u, &prior, &constant, &table, &work,
                          &gradient))
        return NULL;
    const Py_ssize_t size = u.len / (Py_ssize_t)sizeof(double);
    struct observations data;
    const int good = read_observations(&data, &table, &work, size) &&
                     has_doubles(&prior, N_ROWS * size, "prior") &&
                     (gradient.len == 0 || has_doubles(&gradient, size, "gradient"));
    if (good && !gradient.len)
        value = log_marginal(&data, u.buf, size, &value, NULL)
                    ? value + constant + log_prior(prior.buf, u.buf, size, NULL)
                    : -INFINITY;
    else if (good)
        value = log_density(&data, prior.buf, constant, u.buf, size, gradient.buf);
    PyBuffer_Release(&u);
    PyBuffer_Release(&prior);
    PyBuffer_Release(&table);
    PyBuffer_Release(&work);
    PyBuffer_Release(&gradient);
    return good ? PyFloat_FromDouble(value) : NULL;
}
