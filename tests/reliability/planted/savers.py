"""Faults in checkpoint and in the ready pairs of `saving`."""

from __future__ import annotations

from tests.reliability.planted.mutant import LIFETIMES, Mutant

REGION = "utils/region.py"
RECOMPUTATION = "utils/recomputation.py"
CHECKPOINT = (
    "tests/test_checkpoint.py",
    "tests/test_checkpoint_errors.py",
    "tests/test_checkpoint_surroundings.py",
    "tests/test_checkpoint_lifetimes.py",
)

ON_DISK = ("tests/saving/test_on_disk.py", "tests/saving/test_on_disk_accidents.py")

MUTANTS: list[Mutant] = [
    Mutant(
        "checkpoint: the second run draws other random numbers",
        REGION,
        "                set_rng_state(self._rng_state)\n",
        "                pass\n",
        CHECKPOINT,
    ),
    Mutant(
        "checkpoint: the caller's random stream is moved back",
        REGION,
        "                set_rng_state(rng_state)\n",
        "                pass\n",
        CHECKPOINT,
    ),
    Mutant(
        "checkpoint: a refused second run is left to the garbage collector",
        REGION,
        "            run.error = None\n",
        "            pass\n",
        ("tests/test_checkpoint_lifetimes.py",),
    ),
    Mutant(
        "checkpoint: what was computed again is kept",
        REGION,
        "        return collected.pop(index).value()\n",
        "        return collected[index].value()\n",
        (*CHECKPOINT, "tests/test_checkpoint_memory.py"),
    ),
    Mutant(
        "checkpoint: every read runs the region again",
        REGION,
        "        collected = self._collected.get(walk)\n",
        "        collected = None\n",
        CHECKPOINT,
    ),
    Mutant(
        "checkpoint: backward under no_grad records nothing",
        REGION,
        "            enable_grad(),\n",
        "",
        CHECKPOINT,
    ),
    Mutant(
        "checkpoint: a different recomputation is taken",
        RECOMPUTATION,
        "        if self._region.compare and not same:\n",
        "        if False:\n",
        CHECKPOINT,
    ),
    Mutant(
        "checkpoint: the second run goes on to its end",
        RECOMPUTATION,
        "            if self._region.early_stop and len(self._values) == len(self._wanted):\n",
        "            if False:\n",
        CHECKPOINT,
    ),
    Mutant(
        "checkpoint: an overwritten tensor is not noticed",
        RECOMPUTATION,
        "        record.check_version(tensor)\n",
        "",
        CHECKPOINT,
    ),
    Mutant(
        "files: a changed file is read",
        "saving/files.py",
        "        return array if _checksum(array) == self._checksum else None\n",
        "        return array\n",
        ON_DISK,
    ),
    Mutant(
        "files: a file outlives its owner",
        "saving/files.py",
        "        weakref.finalize(self, _in_process, os.getpid(), _remove_file, self.path)\n",
        "",
        ON_DISK,
    ),
    Mutant(
        "files: a half written file is left",
        "saving/files.py",
        "    except OSError as error:\n        _remove_file(path)\n",
        "    except OSError as error:\n",
        (LIFETIMES,),
    ),
    Mutant(
        "files: an interrupted file is left",
        "saving/files.py",
        "    except BaseException:\n        _remove_file(path)\n        raise\n",
        "    except BaseException:\n        raise\n",
        (LIFETIMES,),
    ),
    Mutant(
        "files: a forked child removes its parent's files",
        "saving/files.py",
        "    if os.getpid() != pid:\n        return\n",
        "",
        ON_DISK,
    ),
    Mutant(
        "cast: a small element becomes zero",
        "saving/cast.py",
        "        narrow[lost] = np.copysign(smallest, array[lost])\n",
        "        pass\n",
        ("tests/saving/test_cast.py",),
    ),
    Mutant(
        "quantize: a small element becomes zero",
        "saving/quantize.py",
        "        codes[lost] = np.copysign(1, values[lost])\n",
        "        pass\n",
        ("tests/saving/test_quantize.py",),
    ),
    Mutant(
        "policy: the same packed object after a write",
        "saving/policy.py",
        "(tensor._version, *place_of(tensor))",
        "place_of(tensor)",
        ("tests/saving",),
    ),
    Mutant(
        "policy: views of one storage are taken for one",
        "saving/policy.py",
        "(tensor._version, *place_of(tensor))",
        "(tensor._version,)",
        ("tests/saving",),
    ),
    Mutant(
        "policy: what is kept as it is may be overwritten",
        "autograd/kept.py",
        "        require_version(self.tensor, self.version, self._by)\n",
        "",
        ("tests/saving",),
    ),
]
