"""The programs of ranks: operations that send, receive, add and wait, whoever wrote them down, and the one judge of them.

A schedule says which chunks pass where in which step. A program says the same from the ranks' side: the operations of each, their
order, and their waits. Files of other tools are programs, so one judge of programs judges them all.
"""
