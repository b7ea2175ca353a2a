// batch_order.hpp - sorts a batch by key. Batches that are sorted already, as those of time series are, are not sorted
// again; others are sorted only by the bits in which their keys differ.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "blink_tree/build_kernels.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/sync/concurrent_access.hpp"
#include "static_tree/build_kernels.hpp"

namespace espalier::detail {

/// Properties of a batch, found in one pass.
template <class Word>
struct batch_shape {
  Word differing;          ///< bits in which some key differs from the first one
  std::uint32_t descends;  ///< not 0 if some key is below the one before it
  std::uint32_t repeats;   ///< not 0 if some key equals the one before it

  [[nodiscard]] unsigned begin_bit() const { return static_cast<unsigned>(std::countr_zero(differing)); }
  [[nodiscard]] unsigned end_bit() const { return static_cast<unsigned>(std::bit_width(differing)); }
  /// The properties of a batch that was not examined.
  [[nodiscard]] static batch_shape unknown() { return {static_cast<Word>(~Word{0}), 1, 1}; }
};

template <class Word>
struct look_at_order {
  const Word* words;
  std::uint64_t n, threads;
  batch_shape<Word>* shape;

  /// On a GPU, for t in [0, threads): examines elements t, t + threads, ...
  ESPALIER_HD void operator()(std::size_t t) const { look(t, n, threads); }
  /// On a CPU: examines elements [first, last).
  void operator()(std::size_t first, std::size_t last) const { look(first, last, 1); }

 private:
  ESPALIER_INLINE void look(std::uint64_t begin, std::uint64_t end, std::uint64_t step) const {
    const Word first = words[0];
    Word differing = 0;
    bool descends = false, repeats = false;
    for (std::uint64_t i = begin; i < end; i += step) {
      const Word x = words[i], before = i == 0 ? x : words[i - 1];
      differing |= static_cast<Word>(x ^ first);
      descends |= x < before;
      repeats |= i != 0 && x == before;
    }
    // Read first: most threads have nothing to add, and would contend for the word.
    const atomic_word_ref bits{&shape->differing};
    if (const Word seen = bits.load_relaxed(); (seen | differing) != seen) bits.fetch_or_acquire_no_fence(differing);
    if (descends) raise(&shape->descends);
    if (repeats) raise(&shape->repeats);
  }
  static ESPALIER_INLINE void raise(std::uint32_t* flag) {
    if (atomic_word_ref{flag}.load_relaxed() == 0) atomic_word_ref{flag}.store_relaxed(1);
  }
};

/// Examines a batch; n > 0.
template <class Context, class Word>
[[nodiscard]] batch_shape<Word> shape_of_batch(Context& context, const Word* words, std::size_t n) {
  const buffer<batch_shape<Word>> shape(context.get_device(), 1, context.order());
  context.zero(shape.data(), sizeof(batch_shape<Word>));
  // Enough threads to saturate memory, and few enough not to contend for the result word.
  const std::uint64_t threads = std::clamp<std::uint64_t>(n / 16, 1, std::uint64_t{1} << 20);
  context.for_each(Context::on_gpu ? threads : n, look_at_order<Word>{words, n, threads, shape.data()});
  return context.read(shape.data());
}

/// The keys of a batch in key order, with their original positions.
template <class Word>
class ordered_batch {
 public:
  /// Elements numbered list[0], ..., list[n - 1] of `keys`; all n of them if list is null. n > 0. `always_places`
  /// requests places() even if the batch is sorted.
  template <class Context>
  ordered_batch(Context& context, scalar_kind kind, const void* keys, const std::uint32_t* list, std::size_t n,
                bool always_places = false) {
    // Unsigned keys are words already.
    const bool plain = list == nullptr && kind == (sizeof(Word) == 4 ? scalar_kind::u32 : scalar_kind::u64);
    buffer<Word> encoded(context.get_device(), plain ? 0 : n, context.order());
    if (!plain) context.for_each(n, encode_listed<Word>{kind, keys, list, encoded.data()});
    words_ = plain ? static_cast<const Word*>(keys) : encoded.data();
    // On a GPU the host has to read the result, which takes as long as sorting some thousand keys.
    constexpr std::size_t least = Context::on_gpu ? std::size_t{1} << 15 : 1;
    const bool looks = n >= least && !always_places;
    const auto shape = looks ? shape_of_batch(context, words_, n) : batch_shape<Word>::unknown();
    if (shape.descends == 0) {
      sorted_ = std::move(encoded);
      if (list == nullptr) return;
      places_ = buffer<std::uint32_t>(context.get_device(), n, context.order());
      context.copy(places_.data(), list, n * sizeof(std::uint32_t));
      sorted_here_ = true;
      return;
    }
    buffer<std::uint32_t> numbers(context.get_device(), list == nullptr ? n : 0, context.order());
    if (list == nullptr) context.for_each(n, number_places{numbers.data()});
    sorted_ = buffer<Word>(context.get_device(), n, context.order());
    places_ = buffer<std::uint32_t>(context.get_device(), n, context.order());
    context.sort_from(words_, sorted_, list == nullptr ? numbers.data() : list, places_, n, shape.begin_bit(),
                      shape.end_bit());
    words_ = sorted_.data();
    sorted_here_ = true;
  }

  [[nodiscard]] const Word* words() const { return words_; }
  /// Null if the batch was sorted already.
  [[nodiscard]] const std::uint32_t* places() const { return sorted_here_ ? places_.data() : nullptr; }

 private:
  const Word* words_ = nullptr;
  buffer<Word> sorted_;
  buffer<std::uint32_t> places_;
  bool sorted_here_ = false;
};

}  // namespace espalier::detail
