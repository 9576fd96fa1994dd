"""The statements, one module for each part of the behaviour."""
