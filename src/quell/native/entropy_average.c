/* The sums over the base sample in the entropy of a mixture, in double and in single precision. */
#include "entropy.h"
#include <math.h>
#include <string.h>
#include "exponential.h"

#define RUN 256  /* points at once: what is needed of them stays in the nearest cache */
#define GROUP 16 /* of so many sums, each between 1 and K, one logarithm is taken */
_Static_assert(RUN % BLOCK == 0, "a run is made of whole blocks");

#define NUMBER double
#define EXP quick_exp
#define AVERAGE average_double
#include "entropy_average.h"
#undef NUMBER
#undef EXP
#undef AVERAGE

#define NUMBER float
#define EXP quick_exp_single
#define AVERAGE average_single
#include "entropy_average.h"

ptrdiff_t entropy_workspace(ptrdiff_t n_components, ptrdiff_t n_features)
{
    return (n_components + 2) * RUN + n_components * (1 + n_features);
}

double entropy_average(double *moments, const double *coefficients, const double *features,
                       const float *features_single, double *workspace, ptrdiff_t n_components,
                       ptrdiff_t n_features, ptrdiff_t n)
{
    const ptrdiff_t size = n_components * (1 + n_features);
    if (!features_single)
        return average_double(moments, coefficients, features, workspace, n_components, n_features,
                              n);
    float *copy = (float *)workspace;
    for (ptrdiff_t i = 0; i < size; i++)
        copy[i] = (float)coefficients[i];
    return average_single(moments, copy, features_single, copy + size, n_components, n_features, n);
}
