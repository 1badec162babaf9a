"""The inner loops that make tables of the bytes of a pickle, and no object of anything in it.

A value is one number: 2 x + 1 for the whole number x, 16 n + 2 tag for text, list, dict, tuple n of its tables, 2 tag for None.
"""
# pyright: basic

from treecast.compiled import njit

NONE, TEXT, LIST, DICT, TUPLE, FLOAT, _MARK = range(1, 8)
_MASK, _FACTOR = (1 << 62) - 1, 0x2545F4914F6CDD1D
_MOST = 1 << 62  # whole numbers below it are int64s when doubled, too


@njit(inline=True)
def mix(digest, value):
    """Return a digest below 2^62 of what was digested before and of one value more.

    O(1). Only low bits of the product are kept: they are the same whether it wraps around, as compiled, or not.
    """
    digest = ((digest ^ value) * _FACTOR) & _MASK
    return digest ^ (digest >> 31)


@njit(work=lambda data, *_: 1.5 * len(data))
def parse(data, behind, stack, memo, cells, texts, boxes):
    """Return the value of a pickle of plain data, or -1 - the byte at which it is none.

    ``data``, uint8. ``behind``, int64 (256,), says of each opcode how many bytes follow it: -1 where it is not of plain data,
    100 + n where n bytes follow that say how many more do. ``stack`` and ``memo`` (zeros) have room for a value of each opcode
    that there may be. ``cells``: a value in a list, and the next. ``texts``: begin, length, digest. ``boxes``, lists, tuples and
    dicts (keys and values in turn): the first cell, the last, digest, length. A number in the memo may not be beyond the opcodes
    so far, as four bytes would make room for all below it. What a list gets once it is in another changes no digest but its own.

    Each byte is looked at once, and so is each item: O(bytes). Invariant: ``stack[:top]`` has the values that are not in a
    container yet, and the cells of each list are linked:

        boxes[n] = first cell ─▶ cells[c] = value, next ─▶ … ─▶ -1
    """
    at, size, opcodes, top, filled, written, boxed, puts = 0, len(data), 0, 0, 0, 0, 0, 0
    while at < size:
        # 1. The number behind the opcode, the least byte first.
        code = int(data[at])
        want = behind[code]
        opcodes += 1
        wide = 0 if want < 0 or want == 8 else want if want < 100 else want - 100
        # unknown, more values than there is room for, or cut off
        if want < 0 or opcodes > len(stack) or at + wide >= size:
            return -1 - at
        number = 0
        for k in range(wide):
            byte = int(data[at + 1 + k])
            if k > 3 and byte:  # no length of plain data needs more than four bytes
                return -1 - at
            number |= byte << (8 * k)
        begin = at + 1 + wide
        after = begin + (number if want >= 100 else 8 if want == 8 else 0)
        if after > size:  # what it says to follow is not there
            return -1 - at

        # 2. What it puts on the stack.
        value = 0
        if code == 104 or code == 106:  # BINGET, LONG_BINGET
            if number >= opcodes or memo[number] == 0:  # 0: nobody put anything there
                return -1 - at
            value = memo[number]
        elif code == 113 or code == 114 or code == 0x94:  # BINPUT, LONG_BINPUT, MEMOIZE
            number = puts if code == 0x94 else number
            # nothing to put, or a mark, which is no value
            if number >= opcodes or top == 0 or stack[top - 1] == 2 * _MARK:
                return -1 - at
            memo[number] = stack[top - 1]
            puts += 1
        elif code == 75 or code == 77:  # BININT1, BININT2
            value = 2 * number + 1
        elif code == 74:  # BININT
            value = 2 * (number - ((number >> 31) << 32)) + 1  # the sign: bit 31 counts as minus 2^32
        elif code == 88 or code == 0x8C or code == 0x8D:  # BINUNICODE and the like
            digest = number
            for k in range(begin, after):
                digest = mix(digest, int(data[k]))
            texts[written, 0], texts[written, 1], texts[written, 2] = begin, number, digest
            value = 16 * written + 2 * TEXT
            written += 1
        elif code == 0x8A:  # LONG1, with a sign
            if number > 8:  # more bytes than an int64 has
                return -1 - at
            long = 0
            for k in range(after - 1, begin - 1, -1):  # from the highest byte, which has the sign
                byte = int(data[k])
                long = long * 256 + (byte - 256 if k == after - 1 and byte > 127 else byte)
            if not -_MOST <= long < _MOST:
                return -1 - at
            value = 2 * long + 1
        elif code == 78:
            value = 2 * NONE
        elif code == 0x88 or code == 0x89:  # True and False are the whole numbers 1 and 0
            value = 3 if code == 0x88 else 1
        elif code == 71:  # BINFLOAT
            value = 16 * begin + 2 * FLOAT
        elif code == 40:
            value = 2 * _MARK
        elif code == 93 or code == 125:  # EMPTY_LIST, EMPTY_DICT
            value = 16 * boxed + 2 * (LIST if code == 93 else DICT)
            boxes[boxed, 0], boxes[boxed, 1], boxes[boxed, 2], boxes[boxed, 3] = -1, -1, code, 0
            boxed += 1
        elif code == 46:  # STOP
            return stack[0] if top == 1 and stack[0] > 0 else -1 - at  # one value is left, and no mark
        elif code != 0x80 and code != 0x95:  # items: APPEND and SETITEM, TUPLE1 … 3, those up to a mark, none
            # how many items the opcode takes: 97 APPEND one, 115 SETITEM two, 0x85 … 0x87 as many as they say
            first = top - (1 if code == 97 else 2 if code == 115 else code - 0x84 if code > 0x84 else 0)
            if code == 116 or code == 101 or code == 117:  # TUPLE, APPENDS, SETITEMS: down to the mark
                while first > 0 and stack[first - 1] != 2 * _MARK:
                    first -= 1
                if first == 0:  # there is no mark
                    return -1 - at
            under = first - 1 if code == 101 or code == 117 or code == 116 else first  # the mark goes as well
            if code == 41 or code == 116 or code > 0x84:
                # a tuple: a new one, of these items
                box, below = boxed, under
                boxes[box, 0], boxes[box, 1], boxes[box, 2], boxes[box, 3] = -1, -1, 41, 0
                boxed += 1
                value = 16 * box + 2 * TUPLE
            else:
                # a list or a dict that is on the stack already
                below = under
                holder = DICT if code == 115 or code == 117 else LIST
                # not on a list or dict, or a key without a value
                if under < 1 or (stack[under - 1] & 15) != 2 * holder or (holder == DICT and (top - first) % 2):
                    return -1 - at
                box = stack[under - 1] >> 4
            if first < 0:  # fewer items on the stack than the opcode takes
                return -1 - at
            # 3. Put the items into it, one cell each.
            last, digest = boxes[box, 1], boxes[box, 2]
            for k in range(first, top):
                item = stack[k]
                if item == 2 * _MARK:  # a mark inside of a tuple
                    return -1 - at
                cells[filled, 0], cells[filled, 1] = item, -1
                if last >= 0:
                    cells[last, 1] = filled
                else:
                    boxes[box, 0] = filled
                last = filled
                filled += 1
                kind = (item >> 1) & 7
                # text and containers count by their digests, so equal ones are equal wherever they stand
                if item & 1 == 0 and TEXT <= kind <= TUPLE:
                    item = texts[item >> 4, 2] if kind == TEXT else boxes[item >> 4, 2]
                digest = mix(digest, item)
            boxes[box, 1], boxes[box, 2] = last, digest
            boxes[box, 3] += top - first
            top = below
        if value != 0:
            stack[top] = value
            top += 1
        at = after
    return -1 - size  # it ended without STOP


@njit(work=lambda box, cells, texts, boxes, keys, known, table: 40 * len(table))
def tabulate(box, cells, texts, boxes, keys, known, table):
    """Fill a row of a table for each dict in a list with its values of some keys, 0 for none.

    Return -1, or the row of what is no dict. ``keys``: the digests of their texts; their columns stand in this order. ``known``,
    zeros (texts,), gets 2 + the column of each text, 1 for others.

    O(items of all dicts): each once. A text is compared with the keys the first time only: ``known`` keeps its column.
    """
    row, entry = 0, boxes[box, 0]
    while entry >= 0:
        if cells[entry, 0] & 15 != 2 * DICT:
            return row
        cell = boxes[cells[entry, 0] >> 4, 0]
        while cell >= 0:
            key, cell = cells[cell, 0], cells[cell, 1]  # keys and values stand in turn
            if key & 15 == 2 * TEXT:
                text = key >> 4
                if known[text] == 0:
                    known[text] = 1  # 1: looked at, no key of ours
                    for column in range(len(keys)):
                        if keys[column] == texts[text, 2]:  # texts are compared by digest, not by their bytes
                            known[text] = 2 + column
                if known[text] > 1:
                    # of a key that comes twice the last counts, as in Python
                    table[row, known[text] - 2] = cells[cell, 0]
            cell = cells[cell, 1]
        row += 1
        entry = cells[entry, 1]
    return -1
