"""The inner loops: functions over arrays, in folders named after the packages that use them.

Small work runs as the Python it is written in; work that pays for it is compiled (compiled.py).
"""
