/* The expectation of what soft edges do to a log density, under normals, with derivatives.
 *
 * Notation of quell/space/edges.py: u = x . a + b of an edge has mean m and variance v under a
 * component, and with V = v + tau_j^2, r = -m/sqrt(V),
 *     E[log sigma(u)] = -sum_j w_j (-m Phi(r) + sqrt(V) phi(r)),
 *     d/dm = sum_j w_j Phi(r),        d/dv = -sum_j w_j phi(r)/(2 sqrt(V)). */
#include <math.h>
#include <string.h>
#include "normal.h"

typedef struct {
    ptrdiff_t n_edges, n_normals, dimension;
    const double *slopes, *offsets, *weights, *sds; /* (E, D), (E,), and of the normals (J,) */
} Edges;

/* Adds the value and its derivatives (D,) of one component; workspace (5 E J + E,). */
static void add_expectation(double *value, double *by_mean, double *by_variance, const double *mean,
                            const double *variance, const Edges *edges, double *workspace)
{
    const ptrdiff_t d = edges->dimension, n_normals = edges->n_normals;
    const ptrdiff_t n = edges->n_edges * n_normals;
    double *sd = workspace, *r = sd + n, *density = r + n, *share = density + n;
    double *rest = share + n, *below = rest + n;
    for (ptrdiff_t e = 0; e < edges->n_edges; e++) {
        const double *slope = edges->slopes + e * d;
        double spread = 0.0;
        below[e] = -edges->offsets[e];
        for (ptrdiff_t i = 0; i < d; i++) {
            below[e] -= mean[i] * slope[i];
            spread += variance[i] * slope[i] * slope[i];
        }
        for (ptrdiff_t j = 0, at = e * n_normals; j < n_normals; j++, at++) {
            sd[at] = sqrt(spread + edges->sds[j] * edges->sds[j]);
            r[at] = below[e] / sd[at];
        }
    }
    normal(density, share, r, rest, n);
    for (ptrdiff_t e = 0; e < edges->n_edges; e++) {
        const double *slope = edges->slopes + e * d;
        double by_m = 0.0, by_v = 0.0;
        for (ptrdiff_t j = 0, at = e * n_normals; j < n_normals; j++, at++) {
            *value -= edges->weights[j] * (below[e] * share[at] + sd[at] * density[at]);
            by_m += edges->weights[j] * share[at];
            by_v -= 0.5 * edges->weights[j] * density[at] / sd[at];
        }
        for (ptrdiff_t i = 0; i < d; i++) {
            by_mean[i] += by_m * slope[i];
            by_variance[i] += by_v * slope[i] * slope[i];
        }
    }
}

/* edges_expectation(out, means, variances, slopes, offsets, weights, sds): means and variances (K,
 * D). Into out the expectations (K,), then their derivatives in the means (K, D) and in the
 * variances (K, D). */
PyObject *edges_expectation(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer b[7];
    if (!take_buffers(arguments, b, 7, 7))
        return NULL;
    const Py_ssize_t n_edges = count_doubles(b + 4), n_normals = count_doubles(b + 5);
    const Py_ssize_t d = n_edges ? count_doubles(b + 3) / n_edges : 0;
    const Py_ssize_t k = d ? count_doubles(b + 1) / d : 0;
    const Edges edges = {n_edges, n_normals, d, b[3].buf, b[4].buf, b[5].buf, b[6].buf};
    const size_t size = (size_t)(5 * n_edges * n_normals + n_edges + 1) * sizeof(double);
    double *workspace = NULL, *out = b[0].buf;
    const int good =
        has_doubles(b, k * (1 + 2 * d), "out") && has_doubles(b + 1, k * d, "means") &&
        has_doubles(b + 2, k * d, "variances") && has_doubles(b + 3, n_edges * d, "slopes") &&
        has_doubles(b + 6, n_normals, "sds") &&
        ((workspace = PyMem_Malloc(size)) || PyErr_NoMemory());
    memset(out, 0, good ? (size_t)b[0].len : 0);
    for (Py_ssize_t c = 0; good && c < k; c++)
        add_expectation(out + c, out + k + c * d, out + k + (k + c) * d,
                        (double *)b[1].buf + c * d, (double *)b[2].buf + c * d, &edges, workspace);
    PyMem_Free(workspace);
    release_buffers(b, 7);
    return good ? Py_BuildValue("") : NULL;
}
