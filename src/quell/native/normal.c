/* The density and the distribution function of the standard normal, of many numbers. */
#include "normal.h"
#include <math.h>
#include "exponential.h"

#define INVERSE_ROOT_TWO_PI 0.39894228040143267794
/* For a > 0, 1 - Phi(a) = phi(a) P(s)/(a + SHIFT) with s = (SHIFT - a)/(SHIFT + a), between -1 and 1,
 * and P a polynomial: a fit at the Chebyshev nodes, right to 4e-15. The highest power comes first. */
#define SHIFT 5.0
static const double TAIL[] = {
    1.21986743233688889e-08, 6.01447448042739214e-09, -1.42081224571828613e-07,
    -7.52107378176223981e-08, 1.04930690739221143e-06, 8.11780650171508828e-07,
    -6.90823249676186921e-06, -9.95741560618095145e-06, 4.17944517080753495e-05,
    1.24727698476011472e-04, -1.48825776303823036e-04, -1.36585685561101317e-03,
    -1.99996367730074110e-03, 7.50328241676724138e-03, 5.21255026582835637e-02,
    1.73254734126673804e-01, 4.13644715712770505e-01, 7.85911075544678317e-01,
    1.24154706157457606e+00, 1.66786659518898395e+00, 1.92808104715315309e+00
};
#define DEGREE (sizeof TAIL / sizeof TAIL[0] - 1)

FOR_EVERY_CPU
void normal(double *restrict density, double *restrict share, const double *restrict r,
            double *restrict s, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const double a = fabs(r[i]);
        density[i] = INVERSE_ROOT_TWO_PI * quick_exp(-0.5 * r[i] * r[i]);
        s[i] = (SHIFT - a) / (SHIFT + a);
        share[i] = TAIL[0];
    }
    for (size_t j = 1; j <= DEGREE; j++)
        for (ptrdiff_t i = 0; i < n; i++)
            share[i] = share[i] * s[i] + TAIL[j];
    for (ptrdiff_t i = 0; i < n; i++) {
        const double tail = share[i] * density[i] / (SHIFT + fabs(r[i]));
        share[i] = r[i] > 0.0 ? 1.0 - tail : tail;
    }
}
