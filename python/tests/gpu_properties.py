"""Tests of indexes and maps on a GPU that test_gpu.py runs there with every library of arrays, and
test_gpu_arguments.py in host memory."""

import copy
import pickle

import numpy as np
import pytest

import espalier as es
from gpu_cases import check_points, check_ranges, keys_of, pair, same


class OnGpu:
    """`library` is a fixture of the class that inherits."""

    # ---- index ----

    @pytest.mark.parametrize("sorted_", [False, True])
    @pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "?"])
    def test_points_of_all_dtypes(self, library, dtype, sorted_):
        if dtype not in library.dtypes:
            pytest.skip(f"{library.name} has no {np.dtype(dtype)}")
        keys = keys_of(dtype, 5000, sorted_=sorted_)
        if dtype == "?":
            keys = keys[:1] | True if not sorted_ else keys
        values = np.random.default_rng(2).integers(-1000, 1000, len(keys))
        ix, cpu = pair(library, keys, values)
        assert (len(ix), ix.dtype, ix.value_dtype) == (len(keys), cpu.dtype, cpu.value_dtype)
        queries = np.concatenate([keys_of(dtype, 700, seed=3), keys[:50]])
        check_points(library, ix, cpu, queries)
        rows, cpu_rows = pair(library, keys)
        check_points(library, rows, cpu_rows, queries)

    @pytest.mark.parametrize("value", ["u1", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "?", None])
    def test_ranges_and_aggregates(self, library, value):
        if value not in (None, *library.dtypes) or "u8" not in library.dtypes and value in ("u1", "u4", None):
            pytest.skip(f"{library.name} has no {value} or no type of its sums")
        keys = keys_of("i4", 4000)
        random = np.random.default_rng(5)
        values = None if value is None else random.integers(0, 2 if value == "?" else 100, len(keys)).astype(value)
        ix, cpu = pair(library, keys, values, keep="sum,min,max")
        assert ix.keep == cpu.keep == "sum,min,max"
        lo = random.integers(-320, 320, 300).astype("i4")
        check_ranges(library, ix, cpu, lo, (lo + random.integers(-5, 90, 300)).astype("i4"))

    def test_answers_are_those_of_numpy(self, library):
        keys = keys_of("i8", 3000)
        q = np.arange(-320, 320)
        ix = es.Index(library.put(keys), values=library.put(keys * 2), keep="sum")
        in_order = np.sort(keys)
        same(library.get(ix.searchsorted(library.put(q))), np.searchsorted(in_order, q))
        same(library.get(ix.searchsorted(library.put(q), side="right")), np.searchsorted(in_order, q, side="right"))
        same(library.get(ix.contains(library.put(q))), np.isin(q, keys))
        known = q[np.isin(q, keys)]
        same(library.get(ix.find(library.put(known))), known * 2)
        first = np.array([np.flatnonzero(keys == k)[0] for k in known])
        same(library.get(ix.get_indexer(library.put(known))), first)
        sums = np.array([2 * keys[(keys >= k) & (keys <= k + 9)].sum() for k in q])
        same(library.get(ix.sum(library.put(q), library.put(q + 9))), sums)
        offsets, rows = map(library.get, ix.range(library.put(q[:40]), library.put(q[:40] + 30)))
        for i in range(40):
            found = np.flatnonzero((keys >= q[i]) & (keys <= q[i] + 30))
            same(np.sort(rows[offsets[i] : offsets[i + 1]]), found)

    def test_layouts(self, library):
        keys = keys_of("u4", 999)
        ix, cpu = pair(library, keys, keys.astype("i8"))
        wide = np.arange(0, 900, dtype="u4")
        layouts = [wide[::3], wide[:1], wide[:0], wide[10:]]
        if library.name != "torch":
            layouts.append(wide[::-1])
        for queries in layouts:
            check_points(library, ix, cpu, queries)
        for build in [keys[::3], keys[:0], keys[:1], keys[7:]]:
            check_points(library, *pair(library, build, build.astype("i8")), wide)

    def test_missing_keys(self, library):
        ix = es.Index(library.put(np.array([1, 2, 3], "i8")), values=library.put(np.array([1, 2, 3], "i8")))
        rows = es.Index(library.put(np.array([3, 2, 1], "i8")))
        for index in (ix, rows):
            with pytest.raises(KeyError, match="query 1"):
                index.find(library.put(np.array([1, 9, 8], "i8")))
        same(library.get(rows.find(library.put(np.array([1, 3], "i8")))), np.array([2, 0]))
        same(library.get(rows.find(library.put(np.array([9, 3], "i8")), default=-5)), np.array([-5, 0]))
        with pytest.raises(KeyError, match="99"):
            ix.find(99)

    def test_empty_ranges_and_sums_that_overflow(self, library):
        values = np.array([2**62, 2**62, 5], "i8")
        ix = es.Index(library.put(np.array([1, 2, 3], "i8")), values=library.put(values), keep="all")
        lo, hi = library.put(np.array([3, 1], "i8")), library.put(np.array([3, 2], "i8"))
        with pytest.raises(OverflowError, match="query 1"):
            ix.sum(lo, hi)
        with pytest.raises(ValueError, match="without elements"):
            ix.min(hi, lo)
        cpu = es.Index(np.array([1, 2, 3], "i8"), values=values, keep="all")
        expected = cpu.max(np.array([3, 2], "i8"), np.array([3, 1], "i8"), default=-1)
        same(library.get(ix.max(hi, lo, default=-1)), expected)
        with pytest.raises(ValueError, match="without sums"):
            es.Index(library.put(np.array([1], "i8"))).sum(lo, hi)

    def test_at(self, library):
        keys = keys_of("i4", 500)
        ix, cpu = pair(library, keys)
        ranks = np.array([0, 3, -1, -500, 499])
        for got, expected in zip(ix.at(library.put(ranks)), cpu.at(ranks)):
            same(library.get(got), expected)
        assert ix.at(3) == cpu.at(3) and ix.at(-1) == cpu.at(-1)
        for wrong in (500, -501):
            with pytest.raises(IndexError, match="element 1"):
                ix.at(library.put(np.array([0, wrong])))
        with pytest.raises(TypeError, match="float64"):
            ix.at(library.put(np.array([0.0])))

    def test_one_end_for_all_ranges(self, library):
        keys = keys_of("i8", 500)
        ix, cpu = pair(library, keys)
        hi = np.arange(-10, 50)
        same(library.get(ix.count(-20, library.put(hi))), cpu.count(-20, hi))
        same(library.get(ix.count(library.put(hi), 60)), cpu.count(hi, 60))
        for n in (1, 3, 4, 5, 15, 16, 17, 63):  # parts of words of the mask
            q = np.arange(n) * 7
            same(library.get(ix.find(library.put(q), default=-9)), cpu.find(q, default=-9))
        with pytest.raises(TypeError, match="2.5"):
            ix.count(2.5, library.put(hi))

    def test_queries_in_host_memory(self, library):
        keys = keys_of("i4", 2000)
        ix, cpu = pair(library, keys, keys.astype("f8"), keep="all")
        queries = np.arange(-50, 50)
        for q in (queries, queries.astype("i4"), queries / 2, queries.tolist(), 7, 2.5, np.int16(3)):
            same(ix.searchsorted(q), cpu.searchsorted(q))
            same(ix.contains(q), cpu.contains(q))
            same(ix.find(q, default=0.5), cpu.find(q, default=0.5))
            same(ix.get_indexer(q), cpu.get_indexer(q))
            same(ix.sum(q, 40), cpu.sum(q, 40))
            for a, b in zip(ix.asof(q), cpu.asof(q)):
                same(a, b)
            for a, b in zip(ix.range(q, 40), cpu.range(q, 40)):
                same(a, b)
        assert isinstance(ix.contains(queries), np.ndarray) and ix.contains(7) in (True, False)
        assert 7 in ix and 10**6 not in ix

    def test_refusals(self, library):
        ix = es.Index(library.put(np.arange(5, dtype="i8")))
        cpu = es.Index(np.arange(5))
        q = library.put(np.arange(5, dtype="i8"))
        for call in (cpu.contains, cpu.searchsorted, cpu.find, cpu.get_indexer, cpu.successor):
            with pytest.raises(TypeError, match="memory of a GPU.*copy it to the host.*device='cuda'"):
                call(q)
        with pytest.raises(TypeError, match="queries has dtype int32, and the index has int64"):
            ix.contains(library.put(np.arange(5, dtype="i4")))
        with pytest.raises(ValueError, match="dimensions"):
            ix.contains(library.put(np.zeros((2, 2), dtype="i8")))
        with pytest.raises(ValueError, match="dimensions"):
            ix.contains(library.put(np.zeros((), dtype="i8")))
        with pytest.raises(ValueError, match="lo has 5 elements, and hi has 4"):
            ix.count(q, library.put(np.arange(4, dtype="i8")))
        with pytest.raises(TypeError, match="lo is on a GPU, and hi is not"):
            ix.count(q, np.arange(5))
        with pytest.raises(TypeError, match="values is on a GPU, and keys is not|keys is on a GPU, and values is not"):
            es.Index(library.put(np.arange(5)), values=np.arange(5))
        with pytest.raises(ValueError, match="values has 4 elements, and keys has 5"):
            es.Index(library.put(np.arange(5)), values=library.put(np.arange(4)))
        with pytest.raises(ValueError, match="device is 'cpu'"):
            es.Index(library.put(np.arange(5)), device="cpu")
        with pytest.raises(ValueError, match="stream is for what is on a GPU"):
            cpu.contains(np.arange(5), stream=1)
        with pytest.raises(TypeError, match="stream is of type str"):
            ix.contains(q, stream="first")

    def test_copies_and_files(self, library, tmp_path):
        keys = keys_of("f8", 3000)
        ix, cpu = pair(library, keys, np.arange(3000), keep="all")
        ix.save(tmp_path / "index")
        queries = keys_of("f8", 300, seed=9)
        opened = es.open(tmp_path / "index")
        assert opened.device == "cpu"
        same(opened.get_indexer(queries), cpu.get_indexer(queries))
        again = pickle.loads(pickle.dumps(ix))
        for other in (again, copy.copy(ix), copy.deepcopy(ix)):
            assert (other.device, other.keep, len(other)) == (ix.device, ix.keep, len(ix))
            check_points(library, other, cpu, queries)

    def test_stats(self, library):
        ix, cpu = pair(library, keys_of("u4", 1000), keep="sum") if "u4" in library.dtypes else pair(
            library, keys_of("i4", 1000), keep="sum"
        )
        stats, expected = ix.stats(), cpu.stats()
        for name in ("size", "row_bytes"):  # node sizes differ between processors
            assert stats[name] == expected[name]
        assert stats.keys() == expected.keys() and ix.nbytes >= 1000 * 8
        assert "device='cuda" in repr(ix) and "device" not in repr(cpu)

    # ---- map ----

    def test_map(self, library):
        random = np.random.default_rng(7)
        cpu = es.SortedMap("i8", "f8")
        m = self.new_map("i8", "f8")
        assert m.device != "cpu" and len(m) == 0
        for step in range(6):
            keys = random.integers(-500, 500, 400)
            values = random.random(400)
            k, v = library.put(keys), library.put(values)
            if step % 3 == 0:
                assert m.update(k, v) is None
                cpu.update(keys, values)
            elif step % 3 == 1:
                same(library.get(m.insert(k, v)), cpu.insert(keys, values))
                same(library.get(m.replace(k, v)), cpu.replace(keys, values))
            else:
                same(library.get(m.discard(k)), cpu.discard(keys))
            assert len(m) == len(cpu) and m == cpu
            q = np.arange(-510, 510)
            on_gpu = library.put(q)
            same(library.get(m.contains(on_gpu)), cpu.contains(q))
            same(library.get(m.find(on_gpu, default=-1.0)), cpu.find(q, default=-1.0))
            same(library.get(m.searchsorted(on_gpu)), cpu.searchsorted(q))
            for name in ("successor", "predecessor", "lower_bound"):
                got = list(map(library.get, getattr(m, name)(on_gpu)))
                expected = getattr(cpu, name)(q)
                same(got[2], expected[2])
                for a, b in zip(got[:2], expected[:2]):
                    same(a[got[2]], b[got[2]])
            hi = library.put(q + 20)
            for closed in ("both", "neither"):
                same(library.get(m.count(on_gpu, hi, closed)), cpu.count(q, q + 20, closed))
                np.testing.assert_allclose(library.get(m.sum(on_gpu, hi, closed)), cpu.sum(q, q + 20, closed))
                same(library.get(m.min(on_gpu, hi, closed)), cpu.min(q, q + 20, closed))
                for a, b in zip(m.range(on_gpu, hi, closed, 5), cpu.range(q, q + 20, closed, 5)):
                    same(library.get(a), b)
            same(m.keys(), cpu.keys())
            same(m.values(), cpu.values())
        known = library.put(cpu.keys()[:10].copy())
        same(library.get(m[known]), cpu.values()[:10])
        with pytest.raises(KeyError):
            m[library.put(np.array([10**6]))]

    def test_map_with_arrays_of_the_host(self, library):
        m = self.new_map("i4", "i8")
        m.update([3, 1, 2], [30, 10, 20])
        m[7] = 70
        assert (m[7], 7 in m, 8 in m, m.get(8)) == (70, True, False, None)
        assert (m.peekitem(0), m.peekitem()) == ((1, 10), (7, 70))
        assert list(m) == [1, 2, 3, 7] and dict(m.items()) == {1: 10, 2: 20, 3: 30, 7: 70}
        del m[1]
        assert m.pop(2) == 20 and len(m) == 2
        found, done = m.apply(["find", "insert", "discard"], [3, 9, 7], [0, 90, 0])
        same(found, np.array([30, 0, 0])), same(done, np.array([True, True, True]))
        with pytest.raises(ValueError):
            m.update([0.5], [1])
        m.clear()
        assert len(m) == 0

    def test_map_apply_and_copies(self, library):
        m = self.new_map("i8", "i8")
        cpu = es.SortedMap("i8", "i8")
        keys, values = np.arange(0, 200, 2), np.arange(100)
        m.update(library.put(keys), library.put(values))
        cpu.update(keys, values)
        ops = np.array(["find", "insert", "update", "replace", "discard"])[np.arange(100) % 5]
        asked, written = np.arange(100) // 2, np.arange(100) * 3
        got = m.apply(ops, library.put(asked), library.put(written))
        for a, b in zip(got, cpu.apply(ops, asked, written)):
            same(library.get(a), b)
        for other in (m.copy(), pickle.loads(pickle.dumps(m))):
            assert other == cpu and other.device == m.device
        snapshot = m.snapshot(keep="sum")
        assert snapshot.device == m.device
        same(library.get(snapshot.find(library.put(cpu.keys().copy()))), cpu.values())
        with pytest.raises(TypeError, match="keys is on a GPU, and values is not|values is on a GPU, and keys is not"):
            m.update(library.put(keys), values)
        with pytest.raises(TypeError, match="dtype int32, and the index has int64"):
            m.update(library.put(keys.astype("i4")), library.put(values))
        with pytest.raises(TypeError, match="memory of a GPU"):
            cpu.update(library.put(keys), library.put(values))

    def test_set_of_keys(self, library):
        s = self.new_map("f8", None)
        s.update(library.put(np.array([0.5, -0.0, 2.0])))
        same(library.get(s.contains(library.put(np.array([0.0, 1.0, 2.0])))), np.array([True, False, True]))
        assert len(s) == 3 and 0.5 in s
        assert library.get(s.successor(library.put(np.array([0.0])))[0])[0] == 0.5
        assert s.successor(library.put(np.array([0.0])))[1] is None
