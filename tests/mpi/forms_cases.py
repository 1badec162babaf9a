"""Run by mpirun: calls of one form are read alike, so arguments that are read otherwise have other forms."""

from array import array
from itertools import combinations

import numpy as np
from mpi4py import MPI

from treecast.mpi.comm.forms import WRONG, form_of_call

room, own = np.zeros(9), np.zeros(2)


def form(*items):
    return form_of_call("Allgatherv", (own, list(items)))


def check(what, right):
    if not right:
        raise SystemExit(what)


def all_differ(forms):
    return all(one != other for one, other in combinations(forms, 2))


def refuses(each):
    try:
        form(room, each)
    except WRONG:
        return True
    return False


counts = ([2, 3], (2, 3), ([2, 3], None), ([2, 3], [0, 4]), 2, None)
check("counts in a list, and one count beside a stride", all_differ([form(room, each) for each in counts]))
check("other memory", form(room, [2, 3]) == form(np.ones(9), [2, 3]))
many = array("i", [2, 3])
before = form(room, many, "d")
check("equal arrays", before == form(room, array("i", [2, 3]), "d"))
many[1] = 4
check("an array with another entry", form(room, many, "d") != before)
check("floats are no counts", refuses(array("d", [2, 3])))
check("arrays of numpy", all_differ([form(room, np.array(each), "d") for each in ([2, 3], [3, 2])]))
check("datatypes", all_differ([form(room, [2, 3], each) for each in (MPI.BYTE, MPI.DOUBLE, "BYTE", "d")]))
check("one datatype", form(room, [2, 3], MPI.BYTE) == form(room, [2, 3], MPI.BYTE))
print("forms differ as calls do")
