/* A mixture as the kernels see it, and the parts of a gradient in its free parameters. */
#ifndef QUELL_MIXTURE_H
#define QUELL_MIXTURE_H

#include "kernels.h"

typedef struct {
    ptrdiff_t n_components, dimension;
    const double *weights, *means, *scales, *lengths; /* (K,), (K, D), (K,), (D,) */
} Mixture;

/* The order of Mixture.to_vector: means (K, D), log scales (K,), log lengths (D,), eta (K,). */
typedef struct {
    double *means, *scales, *lengths, *eta;
} Gradient;

/* The mixture of the buffers weights, means, scales, lengths; 0 with an error set if their sizes do
 * not fit together, or there is no component or no coordinate. */
int as_mixture(Mixture *mixture, const Py_buffer *buffers);

/* The length of the gradient, and its parts. */
Py_ssize_t n_free(const Mixture *mixture);
Gradient gradient_parts(double *gradient, const Mixture *mixture);

#endif
