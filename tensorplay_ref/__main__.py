"""What there is to run: ``python -m tensorplay_ref``."""

import sys

import tensorplay_ref

COMMANDS = {
    "tensorplay_ref.course": "refresh the notebooks, make exercises, grade submissions",
    "tensorplay_ref.conformance": "run the statements here, on PyTorch, TensorPlay, yours",
}
_READING = {
    "notebooks/00_start_here.ipynb": "the course, in a checkout of the repository",
    "tensorplay_ref/autograd/graph.py": "saved_tensor_hooks and save_on_cpu",
    "tensorplay_ref/autograd/saved.py": "one saved slot, the heart of the package",
}


def overview() -> str:
    """The commands and the places to begin with, one a line."""
    commands = {f"python -m {module} --help": says for module, says in COMMANDS.items()}
    width = max(map(len, [*commands, *_READING]))
    lines = [f"tensorplay_ref {tensorplay_ref.__version__}: saved-tensor hooks on NumPy", ""]
    lines += ["To use it: import tensorplay_ref as tp", ""]
    for heading, each in (("To run:", commands), ("To read:", _READING)):
        lines += [heading, *(f"  {what:<{width}}  {says}" for what, says in each.items()), ""]
    return "\n".join(lines[:-1])


if __name__ == "__main__":
    print(overview())
    sys.exit(0)
