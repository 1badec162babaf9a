"""The compiled inner loops: functions over arrays, one file per part of the theory.

They are imported only where one is about to run, since numba takes a third of a second to import.
"""
