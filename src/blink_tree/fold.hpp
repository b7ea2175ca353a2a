// fold.hpp - composes all operations of a batch on one key.
//
// An element is a function of what is stored under its key, which is nothing or a value. The functions of equal keys
// are composed in batch order. Composition is associative, so a scan over the sorted batch computes it for all keys at
// once, and a key with half of the batch costs no more than any other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/blink_tree/options.hpp"
#include "espalier/core/config.hpp"
#include "espalier/device/device.hpp"

namespace espalier::detail {

/// State of a key as a number: the number of the element of the batch whose value is stored, or one of these.
struct stored {
  static constexpr std::uint32_t nothing = 0xffffffffu, keep_previous = 0xfffffffeu;
  static constexpr std::size_t most = keep_previous;  ///< maximum number of elements of a batch
};

/// The state after a run, as a function of the state before. The elements of one key are a run of the sorted batch.
struct folded {
  static constexpr std::uint32_t elsewhere = 0xffffffffu;
  std::uint32_t if_absent, if_present;
  std::uint32_t start;  ///< start of the run; `elsewhere` if it is in front of all elements folded so far

  [[nodiscard]] ESPALIER_INLINE std::uint32_t of(std::uint32_t before) const {
    if (before == stored::nothing) return if_absent;
    return if_present == stored::keep_previous ? before : if_present;
  }
};

/// The composition: first a, then b.
struct fold_both {
  [[nodiscard]] ESPALIER_HD folded operator()(const folded& a, const folded& b) const {
    if (b.start != folded::elsewhere) return b;
    return {b.of(a.if_absent), b.of(a.if_present), a.start};
  }
};

/// A sorted batch: position i holds the element numbered places[i].
template <class Word>
struct batch_runs {
  const Word* words;
  const std::uint32_t* places;
  const std::uint8_t* ops;  ///< blink_op by element; if null, all are `op`
  blink_op op;
  std::size_t n;

  [[nodiscard]] ESPALIER_INLINE blink_op op_of(std::uint32_t element) const {
    return ops == nullptr ? op : static_cast<blink_op>(ops[element]);
  }
  [[nodiscard]] ESPALIER_INLINE bool is_first(std::size_t i) const { return i == 0 || words[i - 1] != words[i]; }
  [[nodiscard]] ESPALIER_INLINE bool is_last(std::size_t i) const { return i + 1 == n || words[i + 1] != words[i]; }
  /// The function of the element at position i.
  [[nodiscard]] ESPALIER_HD folded operator()(std::size_t i) const {
    const std::uint32_t e = places[i];
    folded f{stored::nothing, stored::keep_previous, is_first(i) ? static_cast<std::uint32_t>(i) : folded::elsewhere};
    const blink_op what = op_of(e);
    if (what == blink_op::insert || what == blink_op::insert_or_assign) f.if_absent = e;
    if (what == blink_op::insert_or_assign || what == blink_op::update) f.if_present = e;
    if (what == blink_op::erase) f.if_present = stored::nothing;
    return f;
  }
};

/// out[i] is the composition of the elements of its run up to and including position i.
template <class Word>
void fold_on_cpu(const device& dev, const batch_runs<Word>& batch, folded* out);
template <class Word>
void fold_on_gpu(const device& dev, const stream& order, const batch_runs<Word>& batch, folded* out);

}  // namespace espalier::detail
