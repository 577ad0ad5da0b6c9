/* The entropy of a mixture: features of the points, and what depends on pairs of components only.
 *
 * Notation of quell/mixture/entropy.py. The point s of component k lies, in units of the SD of
 * component l, d = z + rho eps_s from the mean of l, with z = (mu_k - mu_l)/(lambda sigma_l) and
 * rho = sigma_k/sigma_l, so that up to a constant
 *     log(w_l N_l) = log w_l - D log sigma_l - |z|^2/2 - rho z . eps - rho^2/2 |eps|^2. */
#include "entropy.h"
#include <math.h>
#include <string.h>

/* The features (F, n rounded up) of the base sample (D, n): eps, |eps|^2, zeros. */
void entropy_features(double *features, const double *base, ptrdiff_t dimension,
                      ptrdiff_t n_features, ptrdiff_t n)
{
    const ptrdiff_t stride = ROUND_UP(n, BLOCK);
    memset(features, 0, (size_t)(n_features * stride) * sizeof(double));
    for (ptrdiff_t i = 0; i < dimension; i++)
        for (ptrdiff_t s = 0; s < n; s++) {
            features[i * stride + s] = base[i * n + s];
            features[dimension * stride + s] += base[i * n + s] * base[i * n + s];
        }
}

/* The features are eps, |eps|^2, and zeros up to n_features; z (K, D). */
double entropy_coefficients(double *z, double *c, const double *heights, const Mixture *q,
                            ptrdiff_t k, ptrdiff_t n_features)
{
    const ptrdiff_t dimension = q->dimension;
    double largest = 0.0;
    for (ptrdiff_t l = 0; l < q->n_components; l++, z += dimension, c += 1 + n_features) {
        const double ratio = q->scales[k] / q->scales[l];
        c[0] = heights[l]; /* -inf of an absent component keeps it out of all sums */
        memset(c + 1, 0, (size_t)n_features * sizeof(double));
        c[dimension + 1] = -0.5 * ratio * ratio;
        for (ptrdiff_t i = 0; i < dimension; i++) {
            const double offset = q->means[k * dimension + i] - q->means[l * dimension + i];
            z[i] = offset / q->lengths[i] / q->scales[l];
            c[0] -= 0.5 * z[i] * z[i];
            c[i + 1] = -ratio * z[i];
            largest = fmax(largest, fabs(c[i + 1]));
        }
        largest = fmax(largest, q->weights[l] > 0.0 ? fabs(c[0]) : 0.0);
        largest = fmax(largest, -c[dimension + 1]);
    }
    return largest;
}

/* From the moments <r_l (1, eps, |eps|^2)>_k, (K, 1 + F). The means are left in units of lambda. */
void entropy_gradient(Gradient gradient, const Mixture *q, ptrdiff_t k, const double *z,
                      const double *moments, ptrdiff_t n_features)
{
    const ptrdiff_t dimension = q->dimension;
    const double weight = q->weights[k];
    for (ptrdiff_t l = 0; l < q->n_components; l++, z += dimension, moments += 1 + n_features) {
        const double ratio = q->scales[k] / q->scales[l], share = moments[0];
        double d_epsilon = ratio * moments[dimension + 1], d_squared = 0.0; /* <r d.eps>, <r d.d> */
        for (ptrdiff_t i = 0; i < dimension; i++) {
            const double d = z[i] * share + ratio * moments[i + 1]; /* <r d_i> */
            const double force = weight / q->scales[l] * d;
            gradient.means[k * dimension + i] += force;
            gradient.means[l * dimension + i] -= force;
            gradient.lengths[i] -= weight * d * z[i];
            d_epsilon += z[i] * moments[i + 1];
            d_squared += z[i] * d;
        }
        d_squared += ratio * d_epsilon;
        /* A log scale moves the points of its own component, and log q everywhere. */
        gradient.scales[k] += weight * ratio * d_epsilon;
        gradient.scales[l] -= weight * (d_squared - (double)dimension * share);
        gradient.eta[l] -= weight * share;
    }
}
