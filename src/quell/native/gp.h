/* What the kernels of the Gaussian process share. */
#ifndef QUELL_GP_H
#define QUELL_GP_H

#include "kernels.h"

/* Observations, and room for work on them. From Python they come as one array (D + 2, N): the
 * coordinates, one row each, the values, the reported noise variances (nan = unknown). */
struct observations {
    int n, dimension;
    const double *x, *rest, *variance;
    double *kernel, *factor;           /* (n, n) in Fortran order, of which only i >= j is used */
    double *residual, *alpha, *column; /* (n,) */
    double *weights;                   /* (D,) */
    double *theta;                     /* (size,) */
};

/* Take the arrays apart for a theta of `size` entries; false, with an error set, if sizes differ. */
int read_observations(struct observations *data, const Py_buffer *table, const Py_buffer *work,
                      Py_ssize_t size);

/* variance exp(-sum_d weights[d] (x_id - x_jd)^2) for i > j into the lower triangle of out (n, n),
 * in Fortran order; the rest of it is left alone. x is (D, n). */
void fill_lower(double *out, const double *x, const double *weights, double variance, int n,
                int dimension);

/* The factor of K in data->factor, alpha, the kernel with its own diagonal (without the noise) in
 * data->kernel, and the value of log p. False where K cannot be factorised. */
int solve_observations(const struct observations *data, const double *theta, int unknown,
                       double *value);

/* The factor L of K (n, n) becomes the lower triangle of K^-1. */
void inverse_from_factor(double *lower, int n);

/* log p(y | theta), and its gradient unless that is NULL. False where K cannot be factorised. */
int log_marginal(const struct observations *data, const double *theta, Py_ssize_t size,
                 double *value, double *gradient);

/* Points (m, D) as their columns (D, m). */
void columns_of(double *out, const double *points, ptrdiff_t m, ptrdiff_t dimension);

/* The kernel between a point (D,) and m points, given as columns (D, m); out (m,). */
void kernel_row(double *out, const double *point, const double *columns, const double *lengths,
                double variance, ptrdiff_t m, ptrdiff_t dimension);

#endif
