"""The source of randomness: never repeated, never stale, never replaced."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import threading
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

import dpcli.noise
from dpcli.noise import entropy
from tests.benchmarks.coupling import walked
from tests.support.streams import Script, Stream
from tests.support.syntax import trees

PACKAGE = Path(dpcli.noise.__file__).parents[1]


def test_forked_children_have_distinct_streams() -> None:
    """Eight children of a process with a full buffer get eight different values."""
    entropy.random_bytes(16)
    drawn = []
    for _ in range(8):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, entropy.random_bytes(16))
            os._exit(0)
        os.close(writer)
        drawn.append(os.read(reader, 16))
        os.close(reader)
        os.waitpid(child, 0)
    drawn.append(entropy.random_bytes(16))
    assert len(set(drawn)) == 9


def test_threads_never_share_bytes() -> None:
    """Four threads at the same time get no value twice."""
    drawn: list[bytes] = []

    def draw() -> None:
        drawn.extend([entropy.random_bytes(12) for _ in range(2000)])

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == len(drawn) == 8000


def test_each_thread_fetches_for_itself(stream: Stream) -> None:
    """A thread never uses bytes that another thread has fetched."""
    entropy.random_bytes(8)
    thread = threading.Thread(target=entropy.random_bytes, args=(8,))
    thread.start()
    thread.join()
    entropy.random_bytes(8)
    assert stream.calls == 2


def test_a_replaced_source_is_used_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No byte of the old source is returned after it was replaced."""
    entropy.random_bytes(1)
    monkeypatch.setattr(entropy, "source", bytes)
    assert entropy.random_bytes(32) == bytes(32)
    monkeypatch.undo()
    assert entropy.random_bytes(32) != bytes(32)


def test_a_stream_is_repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same deterministic source gives the same values, buffered or not."""
    runs = []
    for _ in range(2):
        monkeypatch.setattr(entropy, "source", Stream("same"))
        runs.append([entropy.random_bits(k) for k in range(200)] + [entropy.random_bytes(9999)])
    assert runs[0] == runs[1]


def test_uniform_below_has_equal_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all pairs of bytes, every value below a limit occurs equally often."""
    monkeypatch.setattr(entropy, "CHUNK", 1)
    for limit in (1, 2, 3, 7, 10, 16, 100):
        seen: Counter[int] = Counter()
        for pair in product(range(0, 256, 2 if limit < 100 else 1), repeat=2):
            monkeypatch.setattr(entropy, "source", Script(bytes(pair)))
            try:
                seen[entropy.uniform_below(limit)] += 1
            except EOFError:
                continue
        assert len(seen) == limit
        assert len(set(seen.values())) == 1


def test_bits_fill_their_range() -> None:
    """A sample of k bits is below 2^k and reaches its upper half."""
    for k in (0, 1, 7, 8, 9, 64, 1000):
        values = [entropy.random_bits(k) for _ in range(100)]
        assert all(0 <= value < 1 << k for value in values)
        assert k == 0 or max(values) >= 1 << (k - 1)


def test_a_short_answer_of_the_source_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few random bytes stop the program instead of being padded."""
    monkeypatch.setattr(entropy, "source", lambda count: b"x" * (count - 1))
    with pytest.raises(OSError, match="too few"):
        entropy.random_bytes(5000)
    with pytest.raises(ValueError, match="below"):
        entropy.uniform_below(0)


def test_no_other_generator_is_imported() -> None:
    """Nothing in the package imports `random` or names `numpy.random`; one file asks the system."""
    for path, tree in trees().items():
        for node in walked(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names = [f"{node.value.id}.{node.attr}"]
            for name in names:
                assert name.split(".")[0] != "random", path
                assert not name.startswith(("numpy.random", "np.random")), path
                assert name != "os.urandom" or path.endswith("/entropy.py"), path


def test_mechanisms_do_not_load_numpy() -> None:
    """Importing the mechanisms and drawing a few samples loads no numerical library."""
    program = (
        "import sys, dpcli.mechanisms\n"
        "from fractions import Fraction\n"
        "from dpcli.noise.discrete_gaussian import DiscreteGaussian\n"
        "from dpcli.noise.discrete_laplace import DiscreteLaplace\n"
        "DiscreteLaplace(Fraction(10)).sample(50), DiscreteGaussian(Fraction(10)).sample(50)\n"
        "assert not {'numpy', 'scipy', 'polars'} & set(sys.modules)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
