"""Arrays of torch and JAX in host memory: read without a copy, and answered in their kind."""

import numpy as np
import pytest

import espalier as es
from espalier import _core

KEYS = np.array([30, 10, 20], dtype="i4")
VALUES = np.array([3.0, 1.0, 2.0], dtype="f4")


def check(put, kind, has):
    """Every call of indexes and maps with arrays that put() makes; has(dtype): can the library hold it?"""
    ix, m = es.Index(put(KEYS), put(VALUES), keep="all"), es.SortedMap("i4", "f4")
    m.update(put(KEYS), put(VALUES))
    assert ix.dtype == np.int32 and ix.value_dtype == np.float32
    q = np.array([10, 15, 40], dtype="i4")
    lo, hi = np.array([10, 40], dtype="i4"), np.array([20, 50], dtype="i4")
    for call, *arguments in (
        (ix.searchsorted, q),
        (ix.get_indexer, q),
        (lambda x: ix.find(x, default=-1.0), q),
        (ix.contains, q),
        (ix.asof, q),
        (ix.successor, q),
        (ix.predecessor, q),
        (ix.at, np.array([2, 0], dtype="i4")),
        (ix.count, lo, hi),
        (ix.sum, lo, hi),
        (ix.avg, lo, hi),
        (lambda a, b: ix.min(a, b, default=0.0), lo, hi),
        (lambda a, b: ix.max(a, b, default=0.0), lo, hi),
        (ix.range, lo, hi),
        (lambda x: m.find(x, default=-1.0), q),
        (m.contains, q),
        (m.searchsorted, q),
        (m.lower_bound, q),
        (m.successor, q),
        (m.count, lo, hi),
        (m.sum, lo, hi),
        (m.discard, np.array([7], dtype="i4")),
    ):
        expected, found = call(*arguments), call(*map(put, arguments))
        assert isinstance(expected, tuple) == isinstance(found, tuple)
        pairs = zip(expected, found) if isinstance(found, tuple) else [(expected, found)]
        for wanted, got in pairs:
            assert isinstance(got, kind if has(wanted.dtype) else np.ndarray), (call, type(got))
            assert str(got.dtype).endswith(str(wanted.dtype))
            np.testing.assert_array_equal(np.asarray(got), wanted)
    assert isinstance(ix.contains(put(np.array([2.5]).astype("f4"))), kind)  # compared as real numbers
    assert ix.find(10) == 1.0 and isinstance(ix.contains([10]), np.ndarray)
    with pytest.raises(KeyError, match="query 1"):
        ix.find(put(q))


def test_torch():
    torch = pytest.importorskip("torch")

    def has(dtype):
        return hasattr(torch, dtype.name)

    check(torch.from_numpy, torch.Tensor, has)
    keys = torch.from_numpy(KEYS)
    assert _core.describe(keys)["address"] == keys.data_ptr() and _core.describe(keys)["shared"]
    graded = torch.tensor([2.0, 1.0], requires_grad=True)
    assert es.Index(graded).contains(graded).tolist() == [True, True]
    answer = es.Index(keys).contains(keys)
    answer[0] = False  # of its own
    assert answer.device.type == "cpu" and answer.tolist() == [False, True, True]
    with pytest.raises(TypeError, match="dimensions|BFloat16|bfloat16"):
        es.Index(torch.zeros(2, dtype=torch.bfloat16))
    with pytest.raises(ValueError, match="2 dimensions"):
        es.Index(torch.zeros(2, 2))


def test_types_without_a_twin():
    """Torch has no times: such an answer is NumPy's."""
    torch = pytest.importorskip("torch")
    days = np.array(["2026-01-01", "2026-01-02"], dtype="M8[D]")
    ix = es.Index(np.array([1, 2]), values=days)
    found = ix.find(torch.tensor([2]))
    assert isinstance(found, np.ndarray) and found.tolist() == days[1:].tolist()


@pytest.mark.parametrize("wide", [False, True])
def test_jax(wide):
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", wide)
    try:
        check(jax.numpy.asarray, jax.Array, lambda dtype: wide or dtype.itemsize < 8)
        keys = jax.numpy.asarray(KEYS)
        assert _core.describe(keys)["address"] == keys.unsafe_buffer_pointer()
        assert list(es.Index(keys).contains(keys).devices())[0].platform == "cpu"
    finally:
        jax.config.update("jax_enable_x64", before)
