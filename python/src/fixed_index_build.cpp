// fixed_index_build.cpp - build and parts of an index over keys of fixed width.
#include "fixed_index.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "espalier/index/result.hpp"
#include "kinds.hpp"

namespace espalier::python {

using espalier::bound_type;
using espalier::detail::build_static_index;
using espalier::detail::element_type;
using espalier::detail::execution;


namespace {

bool ascends(scalar_kind kind, const void* keys, std::size_t n) {
  return visit_kind(kind, [&]<class T>(T) {
    using word = word_of<T>;
    std::atomic<bool> holds = true;
    in_pieces(n, [&](std::size_t first, std::size_t last) {
      word before = first == 0 ? 0 : encode_bits(kind, load_bits<word>(kind, keys, first - 1));
      bool ok = true;
      for (std::size_t i = first; i < last; ++i) {
        const word key = encode_bits(kind, load_bits<word>(kind, keys, i));
        ok &= before <= key;
        before = key;
      }
      if (!ok) holds = false;
    });
    return holds.load();
  });
}

}  // namespace

void gather(unsigned width, const void* from, const row_map& rows, std::size_t n, void* to) {
  in_pieces(n, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      std::memcpy(static_cast<char*>(to) + i * width,
                  static_cast<const char*>(from) + static_cast<std::size_t>(rows[i]) * width, width);
    }
  });
}

// ---- build
// -----------------------------------------------------------------------------------------------------------

fixed_index::fixed_index(column keys, nb::handle values, aggregates keep) : keep_(keep) {
  keys = as_numpy_type(std::move(keys));
  key_ = keys.type;
  size_ = keys.size;
  refuse_missing(keys, "keys");
  const column elements = import_values(values);
  value_ = elements.type;
  has_values_ = value_.kind != scalar_kind::opaque;
  if (has_values_) require_same_length("values", elements.size, "keys", keys.size);
  const unlocked parallel;
  const auto normal = without_negative_zeros(key_.kind, keys.data, size_);
  const void* const data = normal != nullptr ? normal.get() : keys.data;
  if (ascends(key_.kind, data, size_)) {
    build(data, elements.data, size_, true);
  } else {
    sort_and_build(data, elements.data);
  }
}

std::unique_ptr<fixed_index> fixed_index::of_parts(nb::handle keys, nb::handle values, nb::handle rows,
                                                   nb::handle keep) {
  std::unique_ptr<fixed_index> result(new fixed_index);
  result->keep_ = parse_keep(keep);
  column sorted = import_column(keys, "keys");
  result->key_ = sorted.type;
  result->size_ = sorted.size;
  refuse_missing(sorted, "keys");
  const column elements = import_values(values);
  result->value_ = elements.type;
  result->has_values_ = result->value_.kind != scalar_kind::opaque;
  if (result->has_values_) require_same_length("values", elements.size, "keys", sorted.size);
  result->rows_ = import_rows(rows, sorted.size);
  {
    const unlocked parallel;
    result->build(sorted.data, elements.data, sorted.size, true);
  }
  return result;
}

void fixed_index::build(const void* keys, const void* values, std::size_t n, bool sorted) {
  const element_type elements{key_.kind, has_values_ ? value_.kind : scalar_kind::opaque,
                              has_values_ ? value_.width() : 0u};
  tree_ = build_static_index(cpu(), elements, keys, values, n, {sorted, keep_}, {cpu().default_stream(), true});
  comparable_ = n;
  if (key_.kind == scalar_kind::f32 || key_.kind == scalar_kind::f64) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const float narrow = std::numeric_limits<float>::quiet_NaN();
    const void* const query = key_.kind == scalar_kind::f64 ? static_cast<const void*>(&nan) : &narrow;
    std::uint64_t rank = 0;
    tree_->rank(bound_type::lower, query, 1, &rank, {}, now());
    comparable_ = rank;
  }
}

void fixed_index::sort_and_build(const void* keys, const void* values) {
  const std::size_t n = size_;
  const bool is_wide = n > std::numeric_limits<std::uint32_t>::max();
  const unsigned row_bytes = is_wide ? 8 : 4;
  visit_kind(key_.kind, [&]<class T>(T) {
    using word = word_of<T>;
    auto words = scratch<word>(n), other_words = scratch<word>(n);
    std::shared_ptr<std::uint64_t[]> rows(new std::uint64_t[n * row_bytes / 8 + 1]);
    std::shared_ptr<std::uint64_t[]> other_rows(new std::uint64_t[n * row_bytes / 8 + 1]);
    in_pieces(n, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        words[i] = encode_bits(key_.kind, load_bits<word>(key_.kind, keys, i));
        if (is_wide) {
          rows[i] = i;
        } else {
          reinterpret_cast<std::uint32_t*>(rows.get())[i] = static_cast<std::uint32_t>(i);
        }
      }
    });
    const bool is_other = cpu_backend(cpu()).sort_pairs(words.get(), other_words.get(), rows.get(), other_rows.get(),
                                                        row_bytes, n, 0, 8 * sizeof(T));
    if (is_other) {
      words.swap(other_words);
      rows.swap(other_rows);
    }
    other_words.reset();
    other_rows.reset();
    rows_ = row_map(std::shared_ptr<const void>(rows, rows.get()), is_wide);
    std::unique_ptr<unsigned char[]> sorted_values;
    if (has_values_) {
      sorted_values.reset(new unsigned char[n * value_.width()]);
      gather(value_.width(), values, rows_, n, sorted_values.get());
    }
    const auto sorted = scratch<T>(n);
    in_pieces(n, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        store_bits(key_.kind, sorted.get(), i, decode_bits(key_.kind, words[i]));
    });
    words.reset();
    build(sorted.get(), sorted_values.get(), n, true);
  });
}

// ---- parts
// -----------------------------------------------------------------------------------------------------------------

nb::tuple fixed_index::parts() const {
  const new_array keys = make_array(key_, size_);
  nb::object values = nb::none(), rows = nb::none();
  void* value_data = nullptr;
  if (has_values_) {
    const new_array made = make_array(value_, size_);
    values = made.array;
    value_data = made.data;
  }
  {
    const unlocked parallel;
    constexpr std::size_t piece = 1 << 16;
    const auto ranks = scratch<std::uint64_t>(std::min(piece, size_));
    for (std::size_t first = 0; first < size_; first += piece) {
      const std::size_t n = std::min(piece, size_ - first);
      for (std::size_t i = 0; i < n; ++i) ranks[i] = first + i;
      tree_->select(ranks.get(), n, keys.as<char>() + first * key_.width(),
                    value_data == nullptr ? nullptr : static_cast<char*>(value_data) + first * value_.width(), nullptr,
                    now());
    }
  }
  if (rows_) rows = wrap_array(rows_.type(), rows_.memory().get(), size_, rows_.memory());
  return nb::make_tuple(keys.array, values, rows);
}

nb::dict fixed_index::stats() const {
  const tree_stats s = tree_->stats();
  nb::dict result;
  result["size"] = s.size;
  result["bytes"] = s.bytes + (rows_ ? size_ * rows_.type().width() : 0);
  result["leaf_bytes"] = s.leaf_bytes;
  result["inner_bytes"] = s.inner_bytes;
  result["aggregate_bytes"] = s.aggregate_bytes;
  result["row_bytes"] = rows_ ? size_ * rows_.type().width() : 0;
  result["height"] = s.height;
  return result;
}

}  // namespace espalier::python
