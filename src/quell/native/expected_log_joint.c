/* The expected log joint of a mixture under a surrogate, per sample, and a sum of its gradients.
 *
 * Notation of quell/quadrature.py: with tau^2 = sigma_k^2 lambda^2 + l^2 and u = mu_k - x_n,
 *     z_n = sigma_f^2 prod_i (l_i/tau_i) exp(-sum_i u_i^2 / (2 tau_i^2)),
 *     I_k = sum_n z_n alpha_n + m_0 - sum_i [(mu_k,i - x_m,i)^2 + sigma_k^2 lambda_i^2]/(2 omega_i^2)
 *           + what is known;           E[G] = sum_k w_k I_k. */
#include <math.h>
#include <string.h>
#include "mixture.h"
#include "overlaps.h"

/* What is known: its expectations (K,), and their derivatives (K, D) in means and variances. */
typedef struct {
    const double *value, *by_mean, *by_variance;
} Known;

/* The surrogate: points (D, n), alpha (n,), sample (log sigma_f^2, m_0, l^2, x_m, 1/omega^2). */
typedef struct {
    ptrdiff_t n;
    const double *x, *alpha, *sample;
} Surrogate;

/* Returns I_k, and adds c_s times the gradient of w_k I_k, but for eta, where c_s I_k is added. */
static double add_component(Gradient gradient, const Mixture *q, ptrdiff_t k, double c,
                            const Surrogate *f, const Known *known, double *workspace)
{
    const ptrdiff_t dimension = q->dimension;
    const double *squared_lengths = f->sample + 2, *location = squared_lengths + dimension;
    const double *curvature = location + dimension, *mean = q->means + k * dimension;
    double *precision = workspace, *sums = precision + dimension, *z = sums + 1 + 2 * dimension;
    double log_height = f->sample[0], value = f->sample[1] + known->value[k];
    for (ptrdiff_t i = 0; i < dimension; i++) {
        const double sd = q->scales[k] * q->lengths[i], u = mean[i] - location[i];
        const double squared = sd * sd + squared_lengths[i];
        precision[i] = 1.0 / squared;
        log_height += 0.5 * log(squared_lengths[i] / squared);
        value -= 0.5 * (u * u + sd * sd) * curvature[i];
    }
    sum_overlaps(sums, f->x, f->alpha, mean, precision, log_height, z, dimension, f->n);
    value += sums[0];
    gradient.eta[k] += c * value;
    for (ptrdiff_t i = 0; i < dimension; i++) {
        const double sd = q->scales[k] * q->lengths[i], share = c * q->weights[k];
        const double first = sums[1 + i], second = sums[1 + dimension + i];
        const ptrdiff_t place = k * dimension + i;
        const double u = mean[i] - location[i];
        const double by_mean = known->by_mean[place] - first * precision[i] - u * curvature[i];
        const double by_variance =
            known->by_variance[place] +
            0.5 * ((second * precision[i] - sums[0]) * precision[i] - curvature[i]);
        gradient.means[place] += share * by_mean;
        gradient.scales[k] += 2.0 * sd * sd * share * by_variance;
        gradient.lengths[i] += 2.0 * sd * sd * share * by_variance;
    }
    return value;
}

/* expected_log_joint(out, weights, means, scales, lengths, coefficients, x, alpha, samples, known,
 * known_by_mean, known_by_variance): coefficients c (S,), x (D, N), alpha (S, N), samples (S, 2 +
 * 3D). Into out: sum_s c_s times the gradient of E[G], then E[G] of every sample. */
PyObject *expected_log_joint(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer b[12];
    Mixture q;
    if (!take_buffers(arguments, b, 12, 12))
        return NULL;
    double *workspace = NULL;
    int good = as_mixture(&q, b + 1);
    if (good) {
        const Py_ssize_t k = q.n_components, d = q.dimension, n_samples = count_doubles(b + 5);
        const Py_ssize_t n = count_doubles(b + 6) / d, length = 2 + 3 * d;
        good = has_doubles(b, n_free(&q) + n_samples, "out") &&
               has_doubles(b + 5, n_samples, "coefficients") && has_doubles(b + 6, n * d, "x") &&
               has_doubles(b + 7, n_samples * n, "alpha") &&
               has_doubles(b + 8, n_samples * length, "samples") &&
               has_doubles(b + 9, k, "known") && has_doubles(b + 10, k * d, "known_by_mean") &&
               has_doubles(b + 11, k * d, "known_by_variance") &&
               ((workspace = PyMem_Malloc((size_t)(1 + 3 * d + n) * sizeof(double))) ||
                PyErr_NoMemory());
        const Known known = {b[9].buf, b[10].buf, b[11].buf};
        const Gradient parts = gradient_parts(b[0].buf, &q);
        double *means = parts.eta + k, total = 0.0;
        memset(b[0].buf, 0, good ? (size_t)b[0].len : 0);
        for (Py_ssize_t s = 0; good && s < n_samples; s++) {
            const Surrogate f = {n, b[6].buf, (double *)b[7].buf + s * n,
                                 (double *)b[8].buf + s * length};
            for (Py_ssize_t j = 0; j < k; j++)
                means[s] += q.weights[j] * add_component(parts, &q, j, ((double *)b[5].buf)[s], &f,
                                                         &known, workspace);
            total += ((double *)b[5].buf)[s] * means[s];
        }
        for (Py_ssize_t j = 0; good && j < k; j++) /* from the weights to eta: w is its softmax */
            parts.eta[j] = q.weights[j] * (parts.eta[j] - total);
    }
    PyMem_Free(workspace);
    release_buffers(b, 12);
    return good ? Py_BuildValue("") : NULL;
}
