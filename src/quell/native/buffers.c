/* Taking and giving back the arrays of a call. */
#include "kernels.h"
#include <string.h>

int take_buffers(PyObject *arguments, Py_buffer *buffers, Py_ssize_t n, Py_ssize_t n_arguments)
{
    if (PyTuple_Size(arguments) != n_arguments) {
        PyErr_Format(PyExc_TypeError, "takes %zd arguments, got %zd", n_arguments,
                     PyTuple_Size(arguments));
        return 0;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        const int flags = PyBUF_FORMAT | (i == 0 ? PyBUF_WRITABLE : PyBUF_SIMPLE);
        if (PyObject_GetBuffer(PyTuple_GetItem(arguments, i), buffers + i, flags)) {
            release_buffers(buffers, i);
            return 0;
        }
        if (!buffers[i].format || strcmp(buffers[i].format, "d")) {
            release_buffers(buffers, i + 1);
            PyErr_Format(PyExc_ValueError, "argument %zd must hold doubles", i + 1);
            return 0;
        }
    }
    return 1;
}

void release_buffers(Py_buffer *buffers, Py_ssize_t n)
{
    while (n > 0)
        PyBuffer_Release(buffers + --n);
}

Py_ssize_t count_doubles(const Py_buffer *buffer)
{
    return buffer->len / (Py_ssize_t)sizeof(double);
}
