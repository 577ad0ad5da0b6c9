/* Mixtures from buffers. */
#include "mixture.h"

int as_mixture(Mixture *mixture, const Py_buffer *buffers)
{
    const Py_ssize_t k = count_doubles(buffers), d = count_doubles(buffers + 3);
    if (k == 0 || d == 0) {
        PyErr_SetString(PyExc_ValueError, "weights and lengths must not be empty");
        return 0;
    }
    mixture->n_components = k;
    mixture->dimension = d;
    mixture->weights = buffers[0].buf;
    mixture->means = buffers[1].buf;
    mixture->scales = buffers[2].buf;
    mixture->lengths = buffers[3].buf;
    return has_doubles(buffers, k, "weights") && has_doubles(buffers + 1, k * d, "means") &&
           has_doubles(buffers + 2, k, "scales") && has_doubles(buffers + 3, d, "lengths");
}

Py_ssize_t n_free(const Mixture *mixture)
{
    return mixture->n_components * (mixture->dimension + 2) + mixture->dimension;
}

Gradient gradient_parts(double *gradient, const Mixture *mixture)
{
    Gradient parts;
    parts.means = gradient;
    parts.scales = parts.means + mixture->n_components * mixture->dimension;
    parts.lengths = parts.scales + mixture->n_components;
    parts.eta = parts.lengths + mixture->dimension;
    return parts;
}
