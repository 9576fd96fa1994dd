"""What there is to run: ``python -m tensorplay_ref``."""

import sys
from collections.abc import Sequence

import tensorplay_ref

COMMANDS = {
    "tensorplay_ref.course": "run notebooks, make exercises and slides, grade submissions",
    "tensorplay_ref.conformance": "run the statements here, on PyTorch, TensorPlay, yours",
}
_IN_A_CHECKOUT = {
    "jupyter lab notebooks/00_start_here.ipynb": "the course",
    "python -m pytest -n 2 --dist loadfile": "all tests, the notebooks included",
    "python -m tests.benchmarks --quick": "times beside hand-written NumPy",
}
_READING = {
    "tensorplay_ref/tensor.py": "Tensor, whose methods stand by topic in methods/",
    "tensorplay_ref/autograd/graph.py": "saved_tensor_hooks and save_on_cpu",
    "tensorplay_ref/autograd/saved.py": "one saved slot, the heart of the package",
}


def overview() -> str:
    """The commands and the places to begin with, one a line."""
    commands = {f"python -m {module} --help": says for module, says in COMMANDS.items()}
    parts = (
        ("To run:", commands),
        ("To run in a checkout of the repository:", _IN_A_CHECKOUT),
        ("To read:", _READING),
    )
    width = max(len(what) for _, part in parts for what in part)
    lines = [f"tensorplay_ref {tensorplay_ref.__version__}: saved-tensor hooks on NumPy", ""]
    lines += ["To use it: import tensorplay_ref as tp", ""]
    for heading, each in parts:
        lines += [heading, *(f"  {what:<{width}}  {says}" for what, says in each.items()), ""]
    return "\n".join(lines[:-1])


def main(words: Sequence[str]) -> int:
    """Print the overview; 2 for words that are no question for help."""
    if words and words != ["--help"] and words != ["-h"]:
        said = f"python -m tensorplay_ref has no {' '.join(words)!r}; it only shows what there is:"
        print(f"{said}\n\n{overview()}", file=sys.stderr)
        return 2
    print(overview())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
