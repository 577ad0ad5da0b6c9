/* See normal.c. */
#ifndef QUELL_NORMAL_H
#define QUELL_NORMAL_H

#include "kernels.h"

/* density phi(r) and share Phi(r) of the n numbers r; s (n,) is workspace. */
void normal(double *restrict density, double *restrict share, const double *restrict r,
            double *restrict s, ptrdiff_t n);

#endif
