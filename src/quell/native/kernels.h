/* What the files of this module share. */
#ifndef QUELL_KERNELS_H
#define QUELL_KERNELS_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stddef.h>

/* A function compiled for several instruction sets, of which the machine's best is taken. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define FOR_EVERY_CPU __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define FOR_EVERY_CPU
#endif

/* LAPACK and BLAS as SciPy has them: Fortran's calling convention, integers of 32 bits. */
extern void (*dpotrf)(char *, int *, double *, int *, int *);
extern void (*dpotri)(char *, int *, double *, int *, int *);
extern void (*dpotrs)(char *, int *, int *, double *, int *, double *, int *, int *);
extern void (*dtrtrs)(char *, char *, char *, int *, int *, double *, int *, double *, int *, int *);
extern void (*dtrtri)(char *, char *, int *, double *, int *, int *);
extern void (*dlauum)(char *, int *, double *, int *, int *);
extern void (*dtrmm)(char *, char *, char *, char *, int *, int *, double *, double *, int *,
                     double *, int *);
extern void (*dgemm)(char *, char *, int *, int *, int *, double *, double *, int *, double *,
                     int *, double *, double *, int *);
extern void (*dtrsv)(char *, char *, char *, int *, double *, int *, double *, int *);
extern void (*dgemv)(char *, int *, int *, double *, double *, int *, double *, int *, double *,
                     double *, int *);
int find_linear_algebra(void);

/* Whether a buffer holds n doubles; sets an error that names it if not. */
int has_doubles(const Py_buffer *buffer, Py_ssize_t n, const char *name);

/* The buffers of the first n arguments, the first of them writable, all contiguous and of doubles. 0
 * with an error set, and nothing taken, if there are not n_arguments in all or one is not so. */
int take_buffers(PyObject *arguments, Py_buffer *buffers, Py_ssize_t n, Py_ssize_t n_arguments);
void release_buffers(Py_buffer *buffers, Py_ssize_t n);
Py_ssize_t count_doubles(const Py_buffer *buffer);

/* The functions of the module, one file each. */
PyObject *fill_kernel(PyObject *module, PyObject *arguments);
PyObject *marginal_likelihood(PyObject *module, PyObject *arguments);
PyObject *hyperposterior(PyObject *module, PyObject *arguments);
PyObject *cross_kernel(PyObject *module, PyObject *arguments);
PyObject *local_prediction(PyObject *module, PyObject *arguments);
PyObject *lookahead(PyObject *module, PyObject *arguments);
PyObject *entropy(PyObject *module, PyObject *arguments);
PyObject *expected_log_joint(PyObject *module, PyObject *arguments);
PyObject *edges_expectation(PyObject *module, PyObject *arguments);
PyObject *penalty(PyObject *module, PyObject *arguments);

#endif
