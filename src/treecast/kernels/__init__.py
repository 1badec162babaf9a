"""The inner loops: functions over arrays, one file per part of the theory.

Small work runs as the Python it is written in; work that pays for it is compiled (compiled.py).
"""
