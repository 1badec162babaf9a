"""The inner loop that looks at the bytes of a pickle before anything is made of them."""
# pyright: basic

from treecast.kernels.compiled import njit


@njit(work=lambda data, behind, most: 0.3 * len(data))
def check_plain(data, behind, most):
    """Return -1 where a pickle holds plain data to its end, with at most so many objects; else the byte at which it does not.

    ``data``, uint8. ``behind``, int64 (256,), says of each opcode how many bytes follow it: -1 where it is not of plain data,
    100 + n where n bytes follow that say how many more do. A number in the memo may not be beyond the opcodes so far, as
    unpicklers make room for all below it.
    """
    at, size, opcodes = 0, len(data), 0
    while at < size:
        code = data[at]
        want = behind[code]
        opcodes += 1
        if want < 0 or opcodes > most:
            return at
        if code == 46:  # STOP
            return -1
        if want == 4 or want >= 100:  # a number of some bytes, the least first
            wide = 4 if want == 4 else want - 100
            if at + wide >= size:
                return at
            number, factor = 0, 1
            for k in range(wide):
                if k > 4 and data[at + 1 + k] != 0:
                    return at
                if k <= 4:
                    number += int(data[at + 1 + k]) * factor
                    factor *= 256
            if want >= 100:
                if number > size or (code == 138 and number > 8):  # LONG1
                    return at
                want = wide + number
            elif (code == 114 or code == 106) and number > opcodes:  # LONG_BINPUT, LONG_BINGET
                return at
        at += 1 + want
    return size
