// batch_partition.cu - kernels of plan partition_first. Each block handles one tile; the table of buckets is made by
// one block per piece.
#include "static_tree/batch_partition.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "espalier/device/cuda.cuh"

namespace espalier::detail {

namespace {

/// As encode_bits() with the kind, with one branch that all threads share.
template <class Word>
class key_encoder {
 public:
  __device__ __forceinline__ explicit key_encoder(scalar_kind kind)
      : kind_(kind),
        is_float_(kind == scalar_kind::f32 || kind == scalar_kind::f64),
        flip_(is_float_ ? Word{0} : encode_bits(kind, Word{0})) {}
  [[nodiscard]] __device__ __forceinline__ Word operator()(Word raw) const {
    return is_float_ ? encode_bits(kind_, raw) : static_cast<Word>(raw ^ flip_);
  }

 private:
  scalar_kind kind_;
  bool is_float_;
  Word flip_;
};

/// Calls f.template operator()<Unit>() with the unsigned type of 1, 2, 4 or 8 bytes, at most those of Widest.
template <class Widest, class F>
__device__ __forceinline__ void with_unit(unsigned bytes, F f) {
  if (bytes == sizeof(Widest)) return f.template operator()<Widest>();
  if (bytes == 1) return f.template operator()<std::uint8_t>();
  if (bytes == 2) return f.template operator()<std::uint16_t>();
  if constexpr (sizeof(Widest) == 8) f.template operator()<std::uint32_t>();
}
/// The unsigned type that keys of a word have: of 64 bits if the word has, of at most 32 bits otherwise.
template <class Word, class F>
__device__ __forceinline__ void with_key_unit(unsigned bytes, F f) {
  if constexpr (sizeof(Word) == 8) {
    f.template operator()<std::uint64_t>();
  } else {
    with_unit<std::uint32_t>(bytes, f);
  }
}

// ---- the table of buckets
// --------------------------------------------------------------------------------------------

constexpr unsigned table_threads = 512;

/// Whether samples of the batch ascend: runs of four keys, and from each run to the next one.
template <class Word>
__device__ bool samples_ascend(scalar_kind kind, const void* keys, std::uint32_t n) {
  constexpr unsigned run = 4;
  if (n < 16 * table_threads) return false;  // the same for all threads
  const std::uint32_t apart = n / table_threads, first = threadIdx.x * apart;
  const auto key = [&](std::uint32_t i) { return encode_bits(kind, load_bits<Word>(kind, keys, i)); };
  Word last = key(first);
  bool up = true;
  for (unsigned j = 1; j < run; ++j) {
    const Word next = key(first + j);
    up &= last <= next;
    last = next;
  }
  if (threadIdx.x + 1 < table_threads) up &= last <= key(first + apart);
  return __syncthreads_and(up) != 0;
}

template <class Word>
__global__ void __launch_bounds__(table_threads)
    table_kernel(bucket_table<Word>* table, const group_header<Word>* headers, std::uint32_t groups, unsigned buckets,
                 scalar_kind kind, const void* keys, std::uint32_t n) {
  static_assert(table_threads >= bucket_table<Word>::most);
  __shared__ bucket_table<Word> t;
  const bool ascends = samples_ascend<Word>(kind, keys, n);
  if (threadIdx.x + 1 < buckets) {
    t.bounds[threadIdx.x] = bucket_table<Word>::bound_of(headers, groups, buckets, threadIdx.x);
  } else {
    t.bounds[threadIdx.x] = ~Word{0};
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    t.buckets = buckets;
    t.ascending = ascends ? 1 : 0;
    t.set_cell_width();
  }
  __syncthreads();
  for (unsigned c = threadIdx.x; c < bucket_table<Word>::cells; c += table_threads) t.set_cell(c);
  __syncthreads();
  const unsigned words = static_cast<unsigned>(sizeof(t) / 4);
  for (unsigned w = threadIdx.x; w < words; w += table_threads)
    reinterpret_cast<std::uint32_t*>(table)[w] = reinterpret_cast<const std::uint32_t*>(&t)[w];
}

// ---- partition
// -------------------------------------------------------------------------------------------------------

template <class Word>
struct partition_task {
  const bucket_table<Word>* table;
  const void* keys;
  void* to;
  std::uint16_t* place;
  std::uint32_t* counts;
  std::uint32_t* begin;
  std::uint32_t n;
  std::uint32_t tiles;
  unsigned buckets;
  unsigned key_bytes;
  scalar_kind kind;
};

/// Moves the tile of this block into bucket order. buckets <= Threads.
template <class Word, unsigned Threads, unsigned Items>
__global__ void __launch_bounds__(Threads, 1024 / Threads)
    partition_kernel(const __grid_constant__ partition_task<Word> task) {
  constexpr unsigned tile = Threads * Items, warps = Threads / 32, all = ~0u;
  constexpr unsigned at_once = Items < 8 ? Items : 8;  // loads in flight; with more, registers are spilled
  extern __shared__ uint4 shared_memory[];
  Word* const sorted = reinterpret_cast<Word*>(shared_memory);
  __shared__ bucket_table<Word> table;
  __shared__ std::uint32_t count[Threads];
  __shared__ std::uint32_t of_warp[warps];
  if (task.table->ascending != 0) return;

  const unsigned me = threadIdx.x, lane = me % 32;
  const std::size_t base = std::size_t{blockIdx.x} * tile;
  const unsigned size = min(tile, static_cast<unsigned>(task.n - base));
  // The thread handles the queries `me` + Threads * j that are below size: those with Threads * j < left. Offsets from
  // one pointer are constants, where a pointer for each query would take two registers.
  const int left = static_cast<int>(size) - static_cast<int>(me);
  const key_encoder<Word> encode(task.kind);

  {
    const unsigned words = static_cast<unsigned>(bucket_table<Word>::bytes(task.buckets) / 4);
    for (unsigned w = me; w < words; w += Threads)
      reinterpret_cast<std::uint32_t*>(&table)[w] = reinterpret_cast<const std::uint32_t*>(task.table)[w];
    count[me] = 0;
  }
  __syncthreads();

  // The bucket of each key (upper half) and its number in the bucket (lower half).
  std::uint32_t slot[Items];
  {
#pragma unroll
    for (unsigned from = 0; from < Items; from += at_once) {
      Word key[at_once];
      with_key_unit<Word>(task.key_bytes, [&]<class Unit>() {
        const Unit* const own = static_cast<const Unit*>(task.keys) + base + me;
#pragma unroll
        for (unsigned j = 0; j < at_once; ++j)
          key[j] = static_cast<int>((from + j) * Threads) < left ? static_cast<Word>(__ldcs(own + (from + j) * Threads))
                                                                 : Word{0};
      });
#pragma unroll
      for (unsigned j = 0; j < at_once; ++j) {
        const bool is_there = static_cast<int>((from + j) * Threads) < left;
        const std::uint32_t bucket = table.bucket_of(encode(key[j]));
        // Where all lanes have one bucket (equal or clustered keys), one lane counts for all.
        int same = 0;
        __match_all_sync(all, is_there ? bucket : ~0u, &same);
        std::uint32_t number = 0;
        if (same == 0) {
          if (is_there) number = atomicAdd(&count[bucket], 1u);
        } else if (is_there) {
          if (lane == 0) number = atomicAdd(&count[bucket], 32u);
          number = __shfl_sync(all, number, 0) + lane;
        }
        slot[from + j] = bucket << 16 | number;
      }
    }
  }
  __syncthreads();

  // Exclusive sums of the counts.
  const std::uint32_t in_bucket = count[me];
  std::uint32_t sum = in_bucket;
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint32_t left = __shfl_up_sync(all, sum, step);
    if (lane >= step) sum += left;
  }
  if (lane == 31) of_warp[me / 32] = sum;
  __syncthreads();
  sum -= in_bucket;
  for (unsigned w = 0; w < me / 32; ++w) sum += of_warp[w];
  count[me] = sum;
  if (me < task.buckets) {
    const std::size_t segment = std::size_t{me} * task.tiles + blockIdx.x;
    task.counts[segment] = in_bucket;
    task.begin[segment] = static_cast<std::uint32_t>(base) + sum;
  }
  __syncthreads();

  // The keys are read again, from L2, because registers for both keys and slots would halve the number of threads.
  with_key_unit<Word>(task.key_bytes, [&]<class Unit>() {
    const Unit* const own = static_cast<const Unit*>(task.keys) + base + me;
    std::uint16_t* const place = task.place + base + me;
#pragma unroll
    for (unsigned j = 0; j < Items; ++j) {
      if (j % at_once == 0) asm volatile("" ::: "memory");  // or else the compiler loads all keys first
      if (static_cast<int>(j * Threads) < left) {
        const unsigned to = count[slot[j] >> 16] + (slot[j] & 0xffffu);
        sorted[to] = static_cast<Word>(__ldcs(own + j * Threads));
        __stcs(place + j * Threads, static_cast<std::uint16_t>(to));
      }
    }
  });
  __syncthreads();
  with_key_unit<Word>(task.key_bytes, [&]<class Unit>() {
    Unit* const to = static_cast<Unit*>(task.to) + base;
#pragma unroll 8
    for (unsigned i = me; i < size; i += Threads) __stcs(to + i, static_cast<Unit>(sorted[i]));
  });
}

/// Names the segment of each 32nd query of the bucket order.
__global__ void first_segments_kernel(const std::uint32_t* ascending, const std::uint32_t* before,
                                      std::uint32_t segments, std::uint32_t n, std::uint32_t* first) {
  if (*ascending != 0) return;
  const std::uint32_t s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= segments) return;
  const std::uint32_t begin = before[s], end = s + 1 < segments ? before[s + 1] : n;
  for (std::uint32_t g = begin / 32 + (begin % 32 != 0 ? 1 : 0); g * 32 < end; ++g) first[g] = s;
}

// ---- several elements at once
// -----------------------------------------------------------------------------------------------------
// A whole tile in aligned memory is moved in packs of at most 16 bytes: an instruction for each element would take as
// long as the memory does.

/// Elements of a pack.
template <class Unit>
inline constexpr unsigned pack_size = sizeof(Unit) == 8 ? 2 : 4;

template <unsigned Bytes>
struct pack_raw;
template <>
struct pack_raw<4> {
  using type = unsigned;
};
template <>
struct pack_raw<8> {
  using type = uint2;
};
template <>
struct pack_raw<16> {
  using type = uint4;
};

template <class Unit, unsigned Size = pack_size<Unit>>
struct pack {
  using raw = typename pack_raw<sizeof(Unit) * Size>::type;
  Unit at[Size];

  [[nodiscard]] static __device__ __forceinline__ pack load(const Unit* from) {
    const raw bits = __ldcs(reinterpret_cast<const raw*>(from));
    pack p;
    memcpy(&p, &bits, sizeof(raw));
    return p;
  }
  __device__ __forceinline__ void store(Unit* to) const {
    raw bits;
    memcpy(&bits, this, sizeof(raw));
    __stcs(reinterpret_cast<raw*>(to), bits);
  }
};
[[nodiscard]] __device__ __forceinline__ bool is_aligned(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
}
/// Copies a tile from or to shared memory.
template <class Unit>
__device__ __forceinline__ void load_tile(const Unit* from, Unit* to, unsigned tile) {
  const unsigned packs = tile * static_cast<unsigned>(sizeof(Unit)) / 16;
#pragma unroll 8
  for (unsigned i = threadIdx.x; i < packs; i += blockDim.x)
    reinterpret_cast<uint4*>(to)[i] = __ldcs(reinterpret_cast<const uint4*>(from) + i);
}
template <class Unit>
__device__ __forceinline__ void store_tile(const Unit* from, Unit* to, unsigned tile) {
  const unsigned packs = tile * static_cast<unsigned>(sizeof(Unit)) / 16;
#pragma unroll 8
  for (unsigned i = threadIdx.x; i < packs; i += blockDim.x)
    __stcs(reinterpret_cast<uint4*>(to) + i, reinterpret_cast<const uint4*>(from)[i]);
}

// ---- order of a second array, and of answers
// -------------------------------------------------------------------------

struct move_task {
  const std::uint32_t* ascending;
  const std::uint16_t* place;
  std::uint32_t n;
  unsigned tile;
};

/// Moves elements of the caller's order to their places: the second array of keys.
__global__ void __launch_bounds__(512, 2)
    reorder_kernel(const move_task task, const void* from, void* to, unsigned bytes) {
  extern __shared__ uint4 shared_memory[];
  if (*task.ascending != 0) return;
  const std::size_t base = std::size_t{blockIdx.x} * task.tile;
  const unsigned size = min(task.tile, static_cast<unsigned>(task.n - base));
  with_unit<std::uint64_t>(bytes, [&]<class Unit>() {
    Unit* const sorted = reinterpret_cast<Unit*>(shared_memory);
    const Unit* const in = static_cast<const Unit*>(from) + base;
    Unit* const out = static_cast<Unit*>(to) + base;
    if (size == task.tile && is_aligned(from)) {
      constexpr unsigned together = pack_size<Unit>;
#pragma unroll 4
      for (unsigned i = threadIdx.x * together; i < size; i += blockDim.x * together) {
        const auto keys = pack<Unit>::load(in + i);
        const auto places = pack<std::uint16_t, together>::load(task.place + base + i);
#pragma unroll
        for (unsigned k = 0; k < together; ++k) sorted[places.at[k]] = keys.at[k];
      }
      __syncthreads();
      return store_tile(sorted, out, size);
    }
#pragma unroll 8
    for (unsigned i = threadIdx.x; i < size; i += blockDim.x) sorted[task.place[base + i]] = __ldcs(in + i);
    __syncthreads();
#pragma unroll 8
    for (unsigned i = threadIdx.x; i < size; i += blockDim.x) __stcs(out + i, sorted[i]);
  });
}

constexpr unsigned most_answers = 3;

/// Elements of `columns` units each.
struct unit_array {
  void* data;
  unsigned unit;
  unsigned columns;
};
struct restore_task {
  move_task move;
  unit_array answers[most_answers];
  unsigned count;
};

/// Puts a whole tile of a column back, in place.
template <class Unit>
__device__ __forceinline__ void restore_packs(const std::uint16_t* place, Unit* column, Unit* sorted, unsigned tile) {
  constexpr unsigned together = pack_size<Unit>;
  load_tile(column, sorted, tile);
  __syncthreads();
#pragma unroll 4
  for (unsigned i = threadIdx.x * together; i < tile; i += blockDim.x * together) {
    const auto places = pack<std::uint16_t, together>::load(place + i);
    pack<Unit> answers;
#pragma unroll
    for (unsigned k = 0; k < together; ++k) answers.at[k] = sorted[places.at[k]];
    answers.store(column + i);
  }
  __syncthreads();
}

__global__ void __launch_bounds__(512, 2) restore_kernel(const __grid_constant__ restore_task task) {
  extern __shared__ uint4 shared_memory[];
  if (*task.move.ascending != 0) return;
  const std::size_t base = std::size_t{blockIdx.x} * task.move.tile;
  const unsigned size = min(task.move.tile, static_cast<unsigned>(task.move.n - base));
  const std::uint16_t* const place = task.move.place + base;
  for (unsigned a = 0; a < task.count; ++a) {
    const unit_array& answers = task.answers[a];
    with_unit<std::uint64_t>(answers.unit, [&]<class Unit>() {
      Unit* const sorted = reinterpret_cast<Unit*>(shared_memory);
      const std::size_t columns = answers.columns;
      Unit* const first = static_cast<Unit*>(answers.data) + base * columns;
      if (columns == 1 && size == task.move.tile && is_aligned(answers.data))
        return restore_packs(place, first, sorted, size);
      for (std::size_t c = 0; c < columns; ++c) {
        Unit* const column = first + c;
        // All of a column is read before any of it is written.
#pragma unroll 8
        for (unsigned i = threadIdx.x; i < size; i += blockDim.x) sorted[i] = __ldcs(column + i * columns);
        __syncthreads();
#pragma unroll 8
        for (unsigned i = threadIdx.x; i < size; i += blockDim.x) __stcs(column + i * columns, sorted[place[i]]);
        __syncthreads();
      }
    });
  }
}

// ---- launches
// --------------------------------------------------------------------------------------------------------

template <class Kernel, class... Arguments>
void launch(const char* name, Kernel* kernel, const stream& order, std::uint32_t blocks, unsigned threads,
            std::size_t shared_bytes, const Arguments&... arguments) {
  constexpr std::size_t without_asking = 48 * 1024;
  if (shared_bytes > without_asking) {
    check_cuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
        name);
  }
  kernel<<<blocks, threads, shared_bytes, cuda_backend::native(order)>>>(arguments...);
  check_cuda(cudaGetLastError(), name);
}

[[nodiscard]] unsigned threads_of(unsigned tile) { return tile <= 1024 ? 256 : 512; }

}  // namespace

template <class Word>
batch_partition<Word>::batch_partition(const device& dev, const stream& order, bucket_shape shape, std::size_t most,
                                       scalar_kind kind, unsigned arrays)
    : device_(dev), stream_(dev.resolve(order)), shape_(shape), kind_(kind), arrays_(arrays) {
  const std::size_t segments = (most + shape.tile - 1) / shape.tile * shape.buckets;
  table_ = buffer<bucket_table<Word>>(dev, 1, stream_);
  for (unsigned i = 0; i < arrays; ++i) keys_[i] = raw_buffer(dev, most * bytes_of(kind), stream_);
  place_ = buffer<std::uint16_t>(dev, most, stream_);
  counts_ = buffer<std::uint32_t>(dev, segments, stream_);
  begin_ = buffer<std::uint32_t>(dev, segments, stream_);
  first_ = buffer<std::uint32_t>(dev, (most + 31) / 32, stream_);
}

template <class Word>
void batch_partition<Word>::partition(const group_header<Word>* headers, std::uint32_t groups,
                                      const void* const keys[2], std::size_t n) {
  const cuda_backend backend(device_);
  const device_guard guard(backend.ordinal());
  n_ = n;
  const auto count = static_cast<std::uint32_t>(n);
  const std::uint32_t segments = tiles() * shape_.buckets;
  const unsigned key_bytes = bytes_of(kind_);
  bucket_table<Word>* const table = table_.data();
  launch("table_kernel", table_kernel<Word>, stream_, 1, table_threads, 0, table, headers, groups, shape_.buckets,
         kind_, keys[0], count);
  const partition_task<Word> task{table, keys[0], keys_[0].data(), place_.data(), counts_.data(), begin_.data(),
                                  count, tiles(), shape_.buckets,  key_bytes,     kind_};
  const std::size_t tile_bytes = shape_.tile * sizeof(Word);
  const char* const name = "partition_kernel";
  if (shape_.tile == 1024) {
    launch(name, partition_kernel<Word, 256, 4>, stream_, tiles(), 256, tile_bytes, task);
  } else if (shape_.tile == 8192) {
    launch(name, partition_kernel<Word, 512, 16>, stream_, tiles(), 512, tile_bytes, task);
  } else if constexpr (sizeof(Word) == 4) {
    launch(name, partition_kernel<Word, 512, 32>, stream_, tiles(), 512, tile_bytes, task);
  }
  backend.exclusive_scan(stream_, counts_.data(), counts_.data(), segments);
  const std::uint32_t* const ascending = &table->ascending;
  launch("first_segments_kernel", first_segments_kernel, stream_, (segments + 255) / 256, 256, 0, ascending,
         static_cast<const std::uint32_t*>(counts_.data()), segments, count, first_.data());
  if (arrays_ == 2) {
    const move_task move{ascending, place_.data(), count, shape_.tile};
    launch("reorder_kernel", reorder_kernel, stream_, tiles(), threads_of(shape_.tile), shape_.tile * key_bytes, move,
           keys[1], keys_[1].data(), key_bytes);
  }
}

template <class Word>
bucket_order batch_partition<Word>::order() const {
  return {first_.data(), counts_.data(), begin_.data(), tiles() * shape_.buckets, &table_.data()->ascending};
}

template <class Word>
void batch_partition<Word>::restore(const answer_array* answers, unsigned count) const {
  const cuda_backend backend(device_);
  const device_guard guard(backend.ordinal());
  restore_task task{};
  task.move = {&table_.data()->ascending, place_.data(), static_cast<std::uint32_t>(n_), shape_.tile};
  unsigned widest = 1;
  for (unsigned i = 0; i < count; ++i) {
    if (answers[i].data == nullptr || answers[i].bytes == 0) continue;
    const unsigned unit = unit_of(answers[i].data, answers[i].bytes);
    task.answers[task.count++] = {answers[i].data, unit, answers[i].bytes / unit};
    widest = std::max(widest, unit);
  }
  if (task.count == 0) return;
  launch("restore_kernel", restore_kernel, stream_, tiles(), threads_of(shape_.tile), std::size_t{shape_.tile} * widest,
         task);
}

template class batch_partition<std::uint32_t>;
template class batch_partition<std::uint64_t>;

}  // namespace espalier::detail
