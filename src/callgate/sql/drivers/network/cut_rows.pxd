# The types of `cut_rows.py` when it is compiled.
cimport cython

cdef Py_ssize_t _NULL
cdef Py_ssize_t _FEW_DIGITS

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

@cython.locals(end=Py_ssize_t)
cdef Py_ssize_t _add_cell(
    list row, bytes buffer, Py_ssize_t place, Py_ssize_t length, Py_ssize_t row_end, object decode
) except -1

@cython.locals(start=Py_ssize_t, at=Py_ssize_t, digit=cython.int, number=cython.longlong)
cdef object _integer(bytes buffer, Py_ssize_t place, Py_ssize_t end)

cdef int _add_row(list rows, list row, Py_ssize_t place, Py_ssize_t row_end) except -1
