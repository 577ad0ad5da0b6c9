/* The parts of the compiled entropy; entropy.c puts them together. */
#ifndef QUELL_ENTROPY_H
#define QUELL_ENTROPY_H

#include "mixture.h"

/* Points come in whole blocks: loops over them leave no rest that would not be vectorised. */
#define BLOCK 16
#define ROUND_UP(n, step) (((n) + (step)-1) / (step) * (step))

/* The features (F, n rounded up) of the base sample (D, n): eps, |eps|^2, zeros. */
void entropy_features(double *features, const double *base, ptrdiff_t dimension,
                      ptrdiff_t n_features, ptrdiff_t n);

/* The points of component k as component l sees them: its standardised distance, and the
 * coefficients (K, 1 + F) of (1, features) in log(w_l N_l). Returns the largest of these, absolutely.
 * heights (K,): log w_l - D log sigma_l. See entropy_terms.c. */
double entropy_coefficients(double *z, double *coefficients, const double *heights,
                            const Mixture *q, ptrdiff_t k, ptrdiff_t n_features);

/* Averages of their exponentials over the points: see entropy_average.h. features_single are the
 * features in single precision, or NULL for double. */
double entropy_average(double *moments, const double *coefficients, const double *features,
                       const float *features_single, double *workspace, ptrdiff_t n_components,
                       ptrdiff_t n_features, ptrdiff_t n);

/* Doubles of workspace for it. */
ptrdiff_t entropy_workspace(ptrdiff_t n_components, ptrdiff_t n_features);

/* Adds to the gradient what the points of component k give. See entropy_terms.c. */
void entropy_gradient(Gradient gradient, const Mixture *q, ptrdiff_t k, const double *z,
                      const double *moments, ptrdiff_t n_features);

#endif
