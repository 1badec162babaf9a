"""Files to all hosts: in pieces, by broadcasts that survive, each piece checked before it counts.

Hosts are started by ssh (``launch``), or by any launcher. Those that are there are the ranks of a job over sockets (``rank``),
which compares what each has, and brings what some lack from who has it. Hosts that come later, or die, change the job, and what
is there stays (``files``).
"""
