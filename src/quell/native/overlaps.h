/* Sums over training points; see overlaps.c. */
#ifndef QUELL_OVERLAPS_H
#define QUELL_OVERLAPS_H

#include "kernels.h"

void sum_overlaps(double *restrict sums, const double *restrict x, const double *restrict alpha,
                  const double *restrict mean, const double *restrict precision, double log_height,
                  double *restrict z, ptrdiff_t dimension, ptrdiff_t n);

#endif
