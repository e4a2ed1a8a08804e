# The types of `cut_rows.py` when it is compiled.
cimport cython

@cython.locals(
    rows=list, row=list, decoders=list, at=Py_ssize_t, place=Py_ssize_t, size=Py_ssize_t, length=Py_ssize_t,
    width=Py_ssize_t, row_end=Py_ssize_t,
)
cpdef tuple lenenc_rows(bytes buffer, Py_ssize_t end, Py_ssize_t most, Py_ssize_t limit, object columns)

@cython.locals(
    rows=list, row=list, decoders=list, at=Py_ssize_t, place=Py_ssize_t, size=Py_ssize_t, length=Py_ssize_t,
    row_end=Py_ssize_t,
)
cpdef tuple int32_rows(bytes buffer, Py_ssize_t end, Py_ssize_t most, Py_ssize_t limit, object columns)

cdef object _cell(bytes buffer, Py_ssize_t start, Py_ssize_t end, object decode, object column)
