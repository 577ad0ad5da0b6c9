/* The inverse of a covariance from its Cholesky factor. */
#include "kernels.h"

/* Triangles up to this size are inverted here; LAPACK's call overhead and its unblocked code would
 * cost more. */
#define LEAF 24

/* L (n, n) becomes L^-1, row after row: (L^-1)_ij = -(sum_j<=k<i L_ik (L^-1)_kj) / L_ii. Fortran
 * order with columns `stride` apart; only the lower triangle is touched. */
FOR_EVERY_CPU
static void invert_leaf(double *lower, int n, int stride)
{
    double rows[LEAF * LEAF]; /* L^-1 by rows, so that the loop over j is one run */
    for (int i = 0; i < n; i++) {
        double *row = rows + i * LEAF;
        const double pivot = 1.0 / lower[i + (ptrdiff_t)i * stride];
        for (int j = 0; j < LEAF; j++)
            row[j] = 0.0;
        for (int k = 0; k < i; k++) {
            const double entry = lower[i + (ptrdiff_t)k * stride];
            for (int j = 0; j < LEAF; j++)
                row[j] -= entry * rows[k * LEAF + j];
        }
        for (int j = 0; j < LEAF; j++)
            row[j] *= pivot;
        row[i] = pivot;
    }
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            lower[i + (ptrdiff_t)j * stride] = rows[i * LEAF + j];
}

/* L becomes L^-1 by halves: [[A, 0], [B, C]]^-1 = [[A^-1, 0], [-C^-1 B A^-1, C^-1]]. */
static void invert_triangle(double *lower, int n, int stride)
{
    if (n <= LEAF) {
        invert_leaf(lower, n, stride);
        return;
    }
    int first = (n / 2 + 7) / 8 * 8, rest = n - first;
    double *border = lower + first, *last = border + (ptrdiff_t)first * stride;
    double plus = 1.0, minus = -1.0;
    invert_triangle(lower, first, stride);
    invert_triangle(last, rest, stride);
    dtrmm("R", "L", "N", "N", &rest, &first, &minus, lower, &stride, border, &stride);
    dtrmm("L", "L", "N", "N", &rest, &first, &plus, last, &stride, border, &stride);
}

/* lower (n, n), the factor L of K, becomes the lower triangle of K^-1 = L^-T L^-1. */
void inverse_from_factor(double *lower, int n)
{
    int info;
    invert_triangle(lower, n, n);
    dlauum("L", &n, lower, &n, &info);
}
