// array_peers.cpp - binary search over sorted arrays, scans without an index, sorting and summing pairs.
#include "bench/peers/array_peers.hpp"

#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bench/data/answers.hpp"
#include "bench/harness/element_checksum.hpp"
#include "bench/peers/cpu_peer.hpp"

namespace espalier::bench {
namespace {

void copy_scalars(const column& from, std::uint64_t first, std::uint64_t last, void* to, std::uint64_t at) {
  const std::size_t bytes = bytes_of(from.kind());
  if (bytes == 0) return;
  std::memcpy(static_cast<std::byte*>(to) + at * bytes, static_cast<const std::byte*>(from.data()) + first * bytes,
              (last - first) * bytes);
}

/// std::lower_bound over the sorted keys; values are in a second array.
template <class Key>
class binary_search_peer final : public peer {
 public:
  binary_search_peer(const workload& data, unsigned threads)
      : data_(data), keys_(data.sorted_keys.as<const Key>()), threads_(threads) {}

  [[nodiscard]] bool answers(operation op) const override { return !takes_no_queries(op); }
  [[nodiscard]] std::size_t sample(operation op, std::size_t queries, double mean_length) const override {
    const std::size_t most = std::min(queries, most_peer_queries);
    const bool walks = takes_ranges(op) && op != operation::count;
    return walks ? limited_sample(most, mean_length, 0x1p28) : most;
  }
  void run(operation op, const request& r) override {
    threads_.for_pieces(r.queries, [&](std::size_t first, std::size_t last) {
      if (takes_ranges(op)) {
        ranges(op, r, first, last);
      } else {
        points(op, r, first, last);
      }
    });
  }

 private:
  [[nodiscard]] std::uint64_t lower(Key key) const {
    return static_cast<std::uint64_t>(std::lower_bound(keys_.begin(), keys_.end(), key) - keys_.begin());
  }
  [[nodiscard]] std::uint64_t upper(Key key) const {
    return static_cast<std::uint64_t>(std::upper_bound(keys_.begin(), keys_.end(), key) - keys_.begin());
  }
  template <class Raw>
  void find(const request& r, std::size_t first, std::size_t last) const {
    const auto* queries = static_cast<const Key*>(r.keys);
    const auto values = data_.sorted_values.template as<const Raw>();
    auto* out = static_cast<Raw*>(r.out[0]);
    auto* found = static_cast<std::uint8_t*>(r.out[1]);
    for (std::size_t i = first; i < last; ++i) {
      const std::uint64_t rank = lower(queries[i]);
      const bool hit = rank < keys_.size() && keys_[rank] == queries[i];
      found[i] = hit;
      if (out != nullptr) out[i] = hit ? values[rank] : Raw{};
    }
  }
  void points(operation op, const request& r, std::size_t first, std::size_t last) const {
    const auto* queries = static_cast<const Key*>(r.keys);
    if (op == operation::lower_bound) {
      auto* ranks = static_cast<std::uint64_t*>(r.out[0]);
      for (std::size_t i = first; i < last; ++i) ranks[i] = lower(queries[i]);
    } else if (op == operation::contains) {
      auto* found = static_cast<std::uint8_t*>(r.out[0]);
      for (std::size_t i = first; i < last; ++i) found[i] = std::binary_search(keys_.begin(), keys_.end(), queries[i]);
    } else if (bytes_of(data_.spec.value) == 8) {
      find<std::uint64_t>(r, first, last);
    } else {
      find<std::uint32_t>(r, first, last);
    }
  }
  void ranges(operation op, const request& r, std::size_t first, std::size_t last) const {
    const auto* lo = static_cast<const Key*>(r.keys);
    const auto* hi = static_cast<const Key*>(r.hi);
    for (std::size_t i = first; i < last; ++i) {
      const std::uint64_t begin = lower(lo[i]), end = std::max(begin, upper(hi[i]));
      if (op == operation::count) {
        static_cast<std::uint64_t*>(r.out[0])[i] = end - begin;
      } else if (op == operation::range) {
        const std::uint64_t at = static_cast<const std::uint64_t*>(r.out[0])[i];
        copy_scalars(data_.sorted_keys, begin, end, r.out[1], at);
        copy_scalars(data_.sorted_values, begin, end, r.out[2], at);
      } else {
        running_aggregate total;
        accumulate(op, data_.summands(), begin, end, total);
        store(op, data_.summands().kind(), total, r.out[0], r.out[1], i);
      }
    }
  }

  const workload& data_;
  std::span<const Key> keys_;
  worker_threads threads_;
};

/// A program without an index: each query reads all keys.
template <class Key>
class scan_peer final : public peer {
 public:
  scan_peer(const workload& data, unsigned threads) : data_(data), threads_(threads) {}

  [[nodiscard]] bool answers(operation op) const override { return takes_ranges(op) && op != operation::range; }
  [[nodiscard]] std::size_t sample(operation, std::size_t queries, double) const override {
    return limited_sample(queries, static_cast<double>(data_.keys.size()), 0x1p27);
  }
  void run(operation op, const request& r) override {
    threads_.for_pieces(r.queries, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) scan(op, r, i);
    });
  }

 private:
  void scan(operation op, const request& r, std::size_t i) const {
    const Key lo = static_cast<const Key*>(r.keys)[i], hi = static_cast<const Key*>(r.hi)[i];
    const auto keys = data_.keys.template as<const Key>();
    const column& summands = data_.spec.value == no_value ? data_.keys : data_.values;
    running_aggregate total;
    std::uint64_t count = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      if (keys[j] < lo || hi < keys[j]) continue;
      ++count;
      if (op != operation::count) {
        const std::uint64_t bits = load_bits<std::uint64_t>(summands.kind(), summands.data(), j);
        accumulate_bits(op, summands.kind(), bits, total);
      }
    }
    if (op == operation::count) {
      static_cast<std::uint64_t*>(r.out[0])[i] = count;
    } else {
      store(op, summands.kind(), total, r.out[0], r.out[1], i);
    }
  }

  const workload& data_;
  worker_threads threads_;
};

/// Pairs in one array, as in a program without an index; keys are words (for sorting: order-preserving ones).
template <class Word, class Raw>
struct pair_of {
  Word key;
  Raw value;
  friend bool operator<(const pair_of& a, const pair_of& b) { return a.key < b.key; }
  [[nodiscard]] std::uint64_t bits() const { return std::uint64_t{key} + value; }
};
template <class Word>
struct pair_of<Word, void> {
  Word key;
  friend bool operator<(const pair_of& a, const pair_of& b) { return a.key < b.key; }
  [[nodiscard]] std::uint64_t bits() const { return key; }
};

template <class Word, class Raw>
class pair_array_peer final : public peer {
  using element = pair_of<Word, Raw>;

 public:
  pair_array_peer(operation op, const workload& data, unsigned threads) : op_(op), data_(data), threads_(threads) {}

  [[nodiscard]] bool answers(operation op) const override { return op == op_; }
  [[nodiscard]] std::size_t sample(operation, std::size_t queries, double) const override { return queries; }
  void prepare() override { pairs_ = copy_of_pairs(); }
  void run(operation, const request& r) override {
    if (op_ == operation::build) {
      auto sorted = copy_of_pairs();
      threads_.execute([&] { tbb::parallel_sort(sorted.get(), sorted.get() + data_.keys.size()); });
      return;
    }
    threads_.execute([&] {
      *static_cast<std::uint64_t*>(r.out[0]) = tbb::parallel_reduce(
          tbb::blocked_range<std::size_t>(0, data_.keys.size()), std::uint64_t{0},
          [&](const auto& part, std::uint64_t total) {
            for (std::size_t i = part.begin(); i != part.end(); ++i) total += pairs_[i].bits();
            return total;
          },
          std::plus<>{});
    });
  }

 private:
  [[nodiscard]] std::unique_ptr<element[]> copy_of_pairs() {
    const std::size_t n = data_.keys.size();
    auto pairs = std::make_unique_for_overwrite<element[]>(n);
    const auto keys = data_.keys.template as<const Word>();
    threads_.for_pieces(n, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const Word word = op_ == operation::build ? encode_bits(data_.spec.key, keys[i]) : keys[i];
        if constexpr (std::is_void_v<Raw>) {
          pairs[i] = {word};
        } else {
          pairs[i] = {word, data_.values.template as<const Raw>()[i]};
        }
      }
    });
    return pairs;
  }

  operation op_;
  const workload& data_;
  worker_threads threads_;
  std::unique_ptr<element[]> pairs_;
};

template <class Word>
std::unique_ptr<peer> make_pair_array(operation op, const workload& data, unsigned threads) {
  switch (bytes_of(data.spec.value)) {
    case 0:
      return std::make_unique<pair_array_peer<Word, void>>(op, data, threads);
    case 4:
      return std::make_unique<pair_array_peer<Word, std::uint32_t>>(op, data, threads);
    default:
      return std::make_unique<pair_array_peer<Word, std::uint64_t>>(op, data, threads);
  }
}

}  // namespace

std::unique_ptr<peer> make_array_peer(std::string_view name, const workload& data, unsigned threads) {
  if (name == "tbb-sort" || name == "reduce") {
    const operation op = name == "reduce" ? operation::visit : operation::build;
    return bytes_of(data.spec.key) == 4 ? make_pair_array<std::uint32_t>(op, data, threads)
                                        : make_pair_array<std::uint64_t>(op, data, threads);
  }
  return with_built_type(data.spec.key, [&]<class Key>() -> std::unique_ptr<peer> {
    if (name == "vector-scan") return std::make_unique<scan_peer<Key>>(data, threads);
    return std::make_unique<binary_search_peer<Key>>(data, threads);
  });
}

}  // namespace espalier::bench
