/* The module quell.native._kernels: its list of functions, and what they need of SciPy. */
#include "kernels.h"

void (*dpotrf)(char *, int *, double *, int *, int *);
void (*dpotri)(char *, int *, double *, int *, int *);
void (*dpotrs)(char *, int *, int *, double *, int *, double *, int *, int *);
void (*dtrtrs)(char *, char *, char *, int *, int *, double *, int *, double *, int *, int *);
void (*dtrtri)(char *, char *, int *, double *, int *, int *);
void (*dlauum)(char *, int *, double *, int *, int *);
void (*dtrmm)(char *, char *, char *, char *, int *, int *, double *, double *, int *, double *,
              int *);
void (*dgemm)(char *, char *, int *, int *, int *, double *, double *, int *, double *, int *,
              double *, double *, int *);
void (*dtrsv)(char *, char *, char *, int *, double *, int *, double *, int *);
void (*dgemv)(char *, int *, int *, double *, double *, int *, double *, int *, double *, double *,
              int *);

/* A function that SciPy offers to compiled code, from a module's table of capsules. */
static int find(const char *module_name, const char *name, void *place)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *table = module ? PyObject_GetAttrString(module, "__pyx_capi__") : NULL;
    PyObject *capsule = table ? PyMapping_GetItemString(table, name) : NULL;
    void *function = capsule ? PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(table);
    Py_XDECREF(module);
    *(void **)place = function;
    return function ? 0 : -1;
}

int find_linear_algebra(void)
{
    const char *lapack = "scipy.linalg.cython_lapack", *blas = "scipy.linalg.cython_blas";
    return find(lapack, "dpotrf", &dpotrf) || find(lapack, "dpotri", &dpotri) ||
           find(lapack, "dpotrs", &dpotrs) || find(lapack, "dtrtrs", &dtrtrs) ||
           find(lapack, "dtrtri", &dtrtri) || find(lapack, "dlauum", &dlauum) ||
           find(blas, "dtrmm", &dtrmm) || find(blas, "dgemm", &dgemm) ||
           find(blas, "dtrsv", &dtrsv) || find(blas, "dgemv", &dgemv);
}

int has_doubles(const Py_buffer *buffer, Py_ssize_t n, const char *name)
{
    if (buffer->len == n * (Py_ssize_t)sizeof(double))
        return 1;
    PyErr_Format(PyExc_ValueError, "%s must hold %zd doubles, it has %zd bytes", name, n,
                 buffer->len);
    return 0;
}

static PyMethodDef functions[] = {
    {"fill_kernel", fill_kernel, METH_VARARGS, "See quell.gp.pairs."},
    {"marginal_likelihood", marginal_likelihood, METH_VARARGS, "See quell.gp.marginal."},
    {"hyperposterior", hyperposterior, METH_VARARGS, "See quell.gp.hyperposterior."},
    {"cross_kernel", cross_kernel, METH_VARARGS, "See quell.gp.model."},
    {"local_prediction", local_prediction, METH_VARARGS, "See quell.gp.gradients."},
    {"lookahead", lookahead, METH_VARARGS, "See quell.acquisition.interquantile."},
    {"entropy", entropy, METH_VARARGS, "See quell.mixture.entropy."},
    {"expected_log_joint", expected_log_joint, METH_VARARGS, "See quell.quadrature."},
    {"edges_expectation", edges_expectation, METH_VARARGS, "See quell.space.edges."},
    {"penalty", penalty, METH_VARARGS, "See quell.variational.objective."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_kernels", "Compiled kernels; see quell.native.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernels(void)
{
    if (find_linear_algebra())
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddStringConstant(module, "sources", QUELL_SOURCES)) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
