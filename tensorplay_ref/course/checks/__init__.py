"""The checks of the exercises, one module for each notebook; see `check.py` for how to add one."""
