// cpu_partition.hpp - plan partition_first on a CPU (docs/design/plans.md): queries are put in bucket order, and
// answers back in the caller's order.
//
// Invariants:
// (1) A query never leaves its tile. place[i] is its position within the tile, so two bytes suffice, and answers are
//     put back in place, tile by tile.
// (2) The queries of one bucket in one tile are a segment, which is contiguous. Segments are visited bucket by bucket,
//     tile by tile within a bucket.
// (3) All scratch memory is allocated by the constructor. Nothing throws after the first answer was written.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>

#include "espalier/core/scalar.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cpu.hpp"
#include "static_tree/batch_columns.hpp"
#include "static_tree/bucket_order.hpp"
#include "static_tree/bucket_table.hpp"

namespace espalier::detail {

/// Calls f.template operator()<Kind>() for the kind of a key.
template <class F>
void with_key_kind(scalar_kind kind, F&& f) {
  switch (kind) {
    case scalar_kind::u8:
      return f.template operator()<scalar_kind::u8>();
    case scalar_kind::i8:
      return f.template operator()<scalar_kind::i8>();
    case scalar_kind::u16:
      return f.template operator()<scalar_kind::u16>();
    case scalar_kind::i16:
      return f.template operator()<scalar_kind::i16>();
    case scalar_kind::u32:
      return f.template operator()<scalar_kind::u32>();
    case scalar_kind::i32:
      return f.template operator()<scalar_kind::i32>();
    case scalar_kind::f32:
      return f.template operator()<scalar_kind::f32>();
    case scalar_kind::u64:
      return f.template operator()<scalar_kind::u64>();
    case scalar_kind::i64:
      return f.template operator()<scalar_kind::i64>();
    case scalar_kind::f64:
      return f.template operator()<scalar_kind::f64>();
    case scalar_kind::opaque:
      return;
  }
}

template <class Word>
class cpu_partition {
 public:
  /// Queries that are partitioned at once. Larger pieces have more queries per bucket, which share cache lines and TLB
  /// entries; smaller ones need less scratch memory (10 bytes per query for keys of 8 bytes, 18 for ranges).
  static constexpr std::size_t most_queries = std::size_t{1} << 24;
  /// Keys, places and buckets of a tile fit an L2 of 1 MB, 64 KiB of keys for each bucket a first-level cache.
  static constexpr std::size_t tile = std::size_t{1} << 15;

  [[nodiscard]] static unsigned buckets_for(std::size_t leaf_bytes) {
    constexpr std::size_t bucket_bytes = std::size_t{1} << 22;
    unsigned buckets = 32;
    while (buckets < 256 && leaf_bytes / buckets > bucket_bytes) buckets *= 2;
    return buckets;
  }

  /// Allocates scratch memory for pieces of up to n queries. `arrays`: 1, or 2 for ranges; `widest`: bytes of the
  /// widest answer. The bounds of the buckets come from the headers of a tree of at least two groups. Throws
  /// out_of_memory.
  cpu_partition(const cpu_backend& backend, const stream& order, const group_header<Word>* headers,
                std::uint32_t groups, unsigned buckets, std::size_t n, scalar_kind kind, unsigned arrays,
                unsigned widest)
      : backend_(backend), kind_(kind), arrays_(arrays), widest_(widest), buckets_(buckets) {
    const device& dev = backend.get_device();
    const std::size_t tiles = (n + tile - 1) / tile;
    slots_ = std::min<std::size_t>(backend.threads(), tiles);
    table_ = buffer<bucket_table<Word>>(dev, 1, order);
    place_ = buffer<std::uint16_t>(dev, n, order);
    begin_ = buffer<std::uint32_t>(dev, tiles * (buckets + 1), order);
    for (unsigned a = 0; a < arrays; ++a) keys_[a] = raw_buffer(dev, n * bytes_of(kind), order);
    scratch_ = raw_buffer(dev, slots_ * tile * std::max(widest, 1u), order);
    bucket_table<Word>& table = *table_.data();
    std::memset(static_cast<void*>(&table), 0, sizeof table);
    table.buckets = buckets;
    for (unsigned j = 0; j + 1 < buckets; ++j) table.bounds[j] = table.bound_of(headers, groups, buckets, j);
    table.set_cell_width();
    for (unsigned c = 0; c < table.cells; ++c) table.set_cell(c);
  }

  /// Puts n >= 1 queries in bucket order, by the first array of keys.
  void partition(const void* const keys[2], std::size_t n) {
    n_ = n;
    in_tiles([&](std::size_t t, std::byte* scratch) {
      with_key_kind(kind_, [&]<scalar_kind Kind>() {
        if constexpr (bytes_of(Kind) <= sizeof(Word))
          partition_tile<Kind>(t, keys, reinterpret_cast<std::uint8_t*>(scratch));
      });
    });
  }
  /// An array of keys of that piece in bucket order.
  [[nodiscard]] const void* keys(unsigned array) const { return keys_[array].data(); }

  /// Calls visit(first, last) for the positions of each segment, on all threads.
  template <class Visit>
  void for_each_segment(const Visit& visit) const {
    const std::size_t tiles = this->tiles();
    // Threads take about 4096 queries at a time, as without a partition; a thread stays in a bucket as long as it can.
    const std::size_t grain = std::max<std::size_t>(1, 4096 * buckets_ / tile);
    backend_.for_each_chunk(tiles * buckets_, grain, [&](std::size_t first, std::size_t last) {
      for (std::size_t s = first; s < last; ++s) {
        const std::size_t bucket = s / tiles, t = s % tiles;
        const std::uint32_t* begin = begin_.data() + t * (buckets_ + 1) + bucket;
        if (begin[0] != begin[1]) visit(t * tile + begin[0], t * tile + begin[1]);
      }
    });
  }

  /// Puts answers of that piece from bucket order into the caller's order, in place.
  void restore(void* answers, unsigned bytes) const {
    switch (bytes) {
      case 1:
        return restore_units<1>(answers);
      case 2:
        return restore_units<2>(answers);
      case 4:
        return restore_units<4>(answers);
      case 8:
        return restore_units<8>(answers);
      case 16:
        return restore_units<16>(answers);
      default:
        return restore_bytes(answers, bytes);
    }
  }

 private:
  [[nodiscard]] std::size_t tiles() const { return (n_ + tile - 1) / tile; }
  [[nodiscard]] std::size_t size_of_tile(std::size_t t) const { return std::min(tile, n_ - t * tile); }

  /// Calls body(tile, scratch memory of its thread) for each tile.
  template <class Body>
  void in_tiles(const Body& body) const {
    const std::size_t tiles = this->tiles(), each = tile * std::max(widest_, 1u);
    std::atomic<std::size_t> next{0};
    backend_.for_each(
        std::min(slots_, tiles),
        [&](std::size_t slot) {
          std::byte* const scratch = static_cast<std::byte*>(scratch_.data()) + slot * each;
          for (std::size_t t = next++; t < tiles; t = next++) body(t, scratch);
        },
        1);
  }

  template <scalar_kind Kind>
  void partition_tile(std::size_t t, const void* const keys[2], std::uint8_t* bucket) {
    const std::size_t start = t * tile, n = size_of_tile(t);
    const bucket_table<Word>& table = *table_.data();
    // Two counters per bucket, because equal neighbours would wait for each other's counter.
    std::uint32_t count[2][256] = {};
    for (std::size_t i = 0; i < n; ++i) {
      const Word x = encode_bits(Kind, load_bits<Word>(Kind, keys[0], start + i));
      const std::uint32_t b = table.likely_bucket_of(x);
      bucket[i] = static_cast<std::uint8_t>(b);
      ++count[i % 2][b];
    }
    std::uint32_t* const begin = begin_.data() + t * (buckets_ + 1);
    std::uint32_t position[256], sum = 0;
    for (unsigned b = 0; b < buckets_; ++b) {
      begin[b] = position[b] = sum;
      sum += count[0][b] + count[1][b];
    }
    begin[buckets_] = sum;
    std::uint16_t* const place = place_.data() + start;
    for (std::size_t i = 0; i < n; ++i) place[i] = static_cast<std::uint16_t>(position[bucket[i]]++);
    for (unsigned a = 0; a < arrays_; ++a) {
      for (std::size_t i = 0; i < n; ++i)
        store_bits(Kind, keys_[a].data(), start + place[i], load_bits<Word>(Kind, keys[a], start + i));
    }
  }

  template <unsigned Bytes>
  void restore_units(void* answers) const {
    struct unit {
      std::byte b[Bytes];
    };
    in_tiles([&](std::size_t t, std::byte* scratch) {
      auto* const to = static_cast<unit*>(answers) + t * tile;
      auto* const from = reinterpret_cast<unit*>(scratch);
      const std::uint16_t* const place = place_.data() + t * tile;
      const std::size_t n = size_of_tile(t);
      std::memcpy(from, to, n * Bytes);
      for (std::size_t i = 0; i < n; ++i) to[i] = from[place[i]];
    });
  }
  void restore_bytes(void* answers, unsigned bytes) const {
    in_tiles([&](std::size_t t, std::byte* scratch) {
      auto* const to = static_cast<std::byte*>(answers) + t * tile * bytes;
      const std::uint16_t* const place = place_.data() + t * tile;
      const std::size_t n = size_of_tile(t);
      std::memcpy(scratch, to, n * bytes);
      for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * bytes, scratch + std::size_t{place[i]} * bytes, bytes);
    });
  }

  const cpu_backend& backend_;
  scalar_kind kind_;
  unsigned arrays_;
  unsigned widest_;
  unsigned buckets_;
  std::size_t slots_ = 1;
  std::size_t n_ = 0;
  buffer<bucket_table<Word>> table_;
  buffer<std::uint16_t> place_;
  buffer<std::uint32_t> begin_;  // per tile: of each bucket, then the end
  raw_buffer keys_[2];
  raw_buffer scratch_;  // per thread, one tile
};

/// Answers a batch bucket by bucket, in buckets bounded by the headers of a static tree. `answer(job, first, last)`
/// answers queries [first, last) of a job. Returns false if the batch is empty or the tree has too few groups. Throws
/// out_of_memory before any answer was written. At most `most` queries are partitioned at once.
template <class Word, class Job, class Answer>
bool answer_in_buckets(const cpu_backend& backend, const stream& order, const Job& job,
                       const group_header<Word>* headers, std::uint32_t groups, std::size_t leaf_bytes, std::size_t n,
                       const Answer& answer, std::size_t most = cpu_partition<Word>::most_queries) {
  if (n == 0 || groups < 2) return false;
  const scalar_kind key = job.tree.key;
  const unsigned key_bytes = bytes_of(key);
  Job piece = job;
  unsigned arrays = 0, widest = 1;
  columns_of<Job>::keys(piece, [&](const void*&) { ++arrays; });
  columns_of<Job>::answers(piece, [&](auto*& data, unsigned bytes) {
    if (data != nullptr) widest = std::max(widest, bytes);
  });
  cpu_partition<Word> partition(backend, order, headers, groups, cpu_partition<Word>::buckets_for(leaf_bytes),
                                std::min(n, most), key, arrays, widest);
  for (std::size_t first = 0; first < n; first += most) {
    const void* keys[2] = {nullptr, nullptr};
    piece = job;
    unsigned a = 0;
    columns_of<Job>::keys(piece, [&](const void*& p) {
      keys[a] = static_cast<const std::byte*>(p) + first * key_bytes;
      p = partition.keys(a++);
    });
    columns_of<Job>::answers(piece, [&](auto*& p, unsigned bytes) {
      using pointer = std::remove_reference_t<decltype(p)>;
      if (p != nullptr) p = reinterpret_cast<pointer>(reinterpret_cast<std::byte*>(p) + first * bytes);
    });
    partition.partition(keys, std::min(most, n - first));
    partition.for_each_segment([&](std::size_t begin, std::size_t end) { answer(piece, begin, end); });
    columns_of<Job>::answers(piece, [&](auto*& p, unsigned bytes) {
      if (p != nullptr && bytes != 0) partition.restore(p, bytes);
    });
  }
  return true;
}

}  // namespace espalier::detail
