/* Sums over training points of a Gaussian around a component's mean: most of the work of the expected
 * log joint. */
#include "overlaps.h"
#include "exponential.h"

/* Into sums (1 + 2D,): sum_n z_n alpha_n times 1, u_i and u_i^2, with u = mean - x_n and
 *     z_n = exp(log_height - sum_i u_i^2 precision_i / 2).
 * x is (D, n), alpha (n,), mean and precision (D,); z (n,) is workspace. */
FOR_EVERY_CPU
void sum_overlaps(double *restrict sums, const double *restrict x, const double *restrict alpha,
                  const double *restrict mean, const double *restrict precision, double log_height,
                  double *restrict z, ptrdiff_t dimension, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j++)
        z[j] = log_height;
    for (ptrdiff_t i = 0; i < dimension; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
            const double u = mean[i] - x[i * n + j];
            z[j] -= 0.5 * precision[i] * (u * u);
        }
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t j = 0; j < n; j++) {
        z[j] = alpha[j] * quick_exp(z[j]);
        sum += z[j];
    }
    sums[0] = sum;
    for (ptrdiff_t i = 0; i < dimension; i++) {
        double first = 0.0, second = 0.0;
#pragma omp simd reduction(+ : first, second)
        for (ptrdiff_t j = 0; j < n; j++) {
            const double u = mean[i] - x[i * n + j], zu = z[j] * u;
            first += zu;
            second += zu * u;
        }
        sums[1 + i] = first;
        sums[1 + dimension + i] = second;
    }
}
