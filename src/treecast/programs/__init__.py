"""What ranks do: operations that send, receive, add and wait, whoever wrote them down, and the one judge of them.

A schedule says what passes where in which step. A program says the same from the ranks' side: what each of them does, in which
order, and what it waits for. Files of other tools are programs, so what can be judged of a program can be judged of any of them.
"""
