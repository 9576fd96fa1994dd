"""Seeing it: what a graph saves and why, every pack and unpack, and memory rising and falling."""
