// text_index.cpp - build, queries and parts of an index over str or bytes.
#include "text_index.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace espalier::python {

using espalier::bound_type;
using espalier::detail::build_radix_index;
using espalier::detail::build_static_index;
using espalier::detail::execution;
using espalier::detail::radix_slice;


namespace {

execution now() { return {cpu().default_stream(), true}; }

}  // namespace

// ---- build
// -----------------------------------------------------------------------------------------------------------

text_index::text_index(column source, nb::handle values, aggregates keep) : keep_(keep) {
  refuse_missing(source, "keys");
  const column elements = import_values(values);
  value_ = elements.type;
  key_ = source.type;
  size_ = source.size;
  if (value_.kind != scalar_kind::opaque) require_same_length("values", elements.size, "keys", size_);
  const unlocked parallel;
  const std::size_t n = size_;
  std::vector<std::uint64_t> wide;
  const auto* offsets = reinterpret_cast<const std::uint64_t*>(source.offsets64);
  if (offsets == nullptr) {
    wide.assign(source.offsets32, source.offsets32 + n + 1);
    offsets = wide.data();
  }
  const byte_string_batch keys = batch_of(static_cast<const char*>(source.data), offsets, n);
  const auto number = scratch<std::uint32_t>(n);
  std::iota(number.get(), number.get() + n, 0u);
  tree_ = build_radix_index(cpu(), {scalar_kind::opaque, scalar_kind::u32, 4}, keys.raw(), number.get(), {},
                            cpu().default_stream());
  distinct_ = tree_->stats().size;
  // The tree's ranks are the numbers of the distinct keys, which then replace the values.
  bool is_sorted = true;
  {
    const auto before = scratch<std::uint64_t>(n);
    tree_->rank(bound_type::lower, keys.raw(), before.get(), now());
    for (std::size_t i = 0; i < n; ++i) {
      number[i] = static_cast<std::uint32_t>(before[i]);
      is_sorted &= i == 0 || before[i - 1] <= before[i];
    }
  }
  if (n != 0) tree_->write(write_op::update, keys.raw(), number.get(), nullptr, radix_path::automatic, now());
  std::shared_ptr<std::uint64_t[]> starts(new std::uint64_t[distinct_ + 1]);
  std::fill_n(starts.get(), distinct_ + 1, std::uint64_t{0});
  for (std::size_t i = 0; i < n; ++i) ++starts[number[i] + 1];
  std::partial_sum(starts.get(), starts.get() + distinct_ + 1, starts.get());
  if (!is_sorted) {  // a stable counting sort of the rows
    std::vector<std::uint64_t> next(starts.get(), starts.get() + distinct_);
    std::shared_ptr<std::uint32_t[]> rows(new std::uint32_t[n]);
    for (std::size_t i = 0; i < n; ++i) rows[next[number[i]]++] = static_cast<std::uint32_t>(i);
    rows_ = row_map(std::shared_ptr<const void>(rows, rows.get()), false);
  }
  if (distinct_ != n) starts_ = std::move(starts);
  if (value_.kind == scalar_kind::opaque) return;
  if (rows_) {
    const auto sorted = scratch<unsigned char>(n * value_.width());
    gather(value_.width(), elements.data, rows_, n, sorted.get());
    build_values(sorted.get());
  } else {
    build_values(elements.data);
  }
}

void text_index::build_values(const void* sorted) {
  const auto ranks = scratch<std::uint32_t>(size_);
  std::iota(ranks.get(), ranks.get() + size_, 0u);
  values_ = build_static_index(cpu(), {scalar_kind::u32, value_.kind, value_.width()}, ranks.get(), sorted, size_,
                               {true, keep_}, now());
}

std::unique_ptr<text_index> text_index::of_parts(nb::handle bytes, nb::handle offsets, bool is_str, nb::handle starts,
                                                 nb::handle rows, nb::handle values, nb::handle keep) {
  std::unique_ptr<text_index> result(new text_index);
  result->keep_ = parse_keep(keep);
  result->key_.logical = is_str ? logical_type::string : logical_type::binary;
  const column text = import_column(bytes, "bytes"), places = import_column(offsets, "offsets");
  const auto* const at = static_cast<const std::uint64_t*>(places.data);
  if (text.type.kind != scalar_kind::u8 || places.type.kind != scalar_kind::u64 || places.size == 0 ||
      at[places.size - 1] != text.size) {
    throw nb::value_error("the parts of an index of text do not fit together.");
  }
  const std::size_t n = places.size - 1;
  result->size_ = result->distinct_ = n;
  if (!starts.is_none()) {
    const column first = import_column(starts, "starts");
    const auto* const numbers = static_cast<const std::uint64_t*>(first.data);
    if (first.type.kind != scalar_kind::u64 || first.size != n + 1 || numbers[0] != 0 ||
        !std::is_sorted(numbers, numbers + n + 1)) {
      throw nb::value_error("the parts of an index of text do not fit together.");
    }
    result->starts_ = std::shared_ptr<std::uint64_t[]>(new std::uint64_t[n + 1]);
    std::copy_n(numbers, n + 1, result->starts_.get());
    result->size_ = numbers[n];
  }
  result->rows_ = import_rows(rows, result->size_);
  const column elements = import_values(values);
  result->value_ = elements.type;
  if (result->value_.kind != scalar_kind::opaque) {
    require_same_length("values", elements.size, "keys", result->size_);
  }
  const unlocked parallel;
  const auto number = scratch<std::uint32_t>(n);
  std::iota(number.get(), number.get() + n, 0u);
  const byte_string_batch keys = batch_of(static_cast<const char*>(text.data), at, n);
  result->tree_ = build_radix_index(cpu(), {scalar_kind::opaque, scalar_kind::u32, 4}, keys.raw(), number.get(), {},
                                    cpu().default_stream());
  if (result->tree_->stats().size != n) throw error("the parts of an index of text have equal keys.");
  if (result->value_.kind != scalar_kind::opaque) result->build_values(elements.data);
  return result;
}

// ---- points
// ------------------------------------------------------------------------------------------------------------

std::vector<std::uint64_t> text_index::ranks(const batch& queries, bool right) const {
  std::vector<std::uint64_t> result(queries.size());
  tree_->rank(right ? bound_type::upper : bound_type::lower, queries.raw(), result.data(), now());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = queries.has_nulls() && !queries.is_valid(i) ? size_ : start(result[i]);
  }
  return result;
}

void text_index::numbers(const batch& queries, std::uint32_t* number, std::uint8_t* found) const {
  tree_->find(queries.raw(), number, found, now());
  if (!queries.has_nulls()) return;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!queries.is_valid(i)) found[i] = 0;
  }
}

nb::object text_index::searchsorted(nb::handle queries, bool right) const {
  const batch q(queries, key_, "queries");
  const new_array result = make_array(int64_type, q.size());
  {
    const unlocked parallel;
    const std::vector<std::uint64_t> found = ranks(q, right);
    std::copy(found.begin(), found.end(), result.as<std::uint64_t>());
  }
  return q.wrap(int64_type, result);
}

nb::object text_index::get_indexer(nb::handle queries) const {
  const batch q(queries, key_, "queries");
  const new_array rows = make_array(int64_type, q.size());
  {
    const unlocked parallel;
    const auto number = scratch<std::uint32_t>(q.size());
    const auto found = scratch<std::uint8_t>(q.size());
    numbers(q, number.get(), found.get());
    for (std::size_t i = 0; i < q.size(); ++i) {
      rows.as<std::int64_t>()[i] = found[i] != 0 ? rows_[start(number[i])] : -1;
    }
  }
  return q.wrap(int64_type, rows);
}

nb::object text_index::find(nb::handle queries, nb::handle fallback) const {
  const batch q(queries, key_, "queries");
  const std::size_t n = q.size();
  const new_array values = make_array(value_, n);
  const auto found = scratch<std::uint8_t>(n);
  {
    const unlocked parallel;
    const auto number = scratch<std::uint32_t>(n);
    const auto rank = scratch<std::uint64_t>(n);
    numbers(q, number.get(), found.get());
    for (std::size_t i = 0; i < n; ++i) rank[i] = found[i] != 0 ? start(number[i]) : size_;
    values_->select(rank.get(), n, nullptr, values.data, nullptr, now());
  }
  apply_fallback(value_, values.data, found.get(), n, fallback, PyExc_KeyError, "the index does not have this key");
  return q.wrap(value_, values);
}

nb::object text_index::contains(nb::handle queries) const {
  const batch q(queries, key_, "queries");
  const new_array found = make_mask(q.size());
  {
    const unlocked parallel;
    const auto number = scratch<std::uint32_t>(q.size());
    numbers(q, number.get(), found.as<std::uint8_t>());
  }
  return q.wrap(bool_type, found);
}

nb::object text_index::asof(nb::handle queries, std::string_view direction, nb::handle tolerance, bool exact) const {
  if (!tolerance.is_none()) throw nb::type_error("tolerance: str and bytes have no distance.");
  if (direction != "backward" && direction != "forward") {
    throw nb::value_error(
        ("direction is '" + std::string(direction) + "'; with keys of str or bytes use 'backward' or 'forward'.")
            .c_str());
  }
  const bool is_back = direction == "backward";
  const batch q(queries, key_, "queries");
  const new_array rows = make_array(int64_type, q.size()), found = make_mask(q.size());
  {
    const unlocked parallel;
    const std::vector<std::uint64_t> rank = ranks(q, is_back == exact);
    for (std::size_t i = 0; i < q.size(); ++i) {
      const std::uint64_t r = is_back ? rank[i] - 1 : rank[i];
      const bool ok = r < size_ && q.is_valid(i);
      found.as<std::uint8_t>()[i] = ok ? 1 : 0;
      rows.as<std::int64_t>()[i] = ok ? rows_[r] : -1;
    }
  }
  return nb::make_tuple(q.wrap(int64_type, rows), q.wrap(bool_type, found));
}

nb::object text_index::neighbour(nb::handle queries, bool successor) const {
  const batch q(queries, key_, "queries");
  const std::size_t n = q.size();
  const new_array rows = make_array(int64_type, n), found = make_mask(n);
  espalier::detail::byte_range_buffers list;
  {
    const unlocked parallel;
    const std::vector<std::uint64_t> rank = ranks(q, successor);
    list = tree_->list(successor ? radix_slice::successor : radix_slice::predecessor, q.raw(), q.raw(), {}, now());
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t r = successor ? rank[i] : rank[i] - 1;
      const bool ok = r < size_ && q.is_valid(i);
      found.as<std::uint8_t>()[i] = ok ? 1 : 0;
      rows.as<std::int64_t>()[i] = ok ? rows_[r] : -1;
    }
  }
  nb::list keys;
  for (std::size_t i = 0; i < n; ++i) {
    if (found.as<std::uint8_t>()[i] == 0) {
      keys.append(nb::none());
    } else {
      keys.append(make_text(key_, list.key_offsets.data() + list.offsets.data()[i],
                            static_cast<const char*>(list.key_bytes.data()), 1)[0]);
    }
  }
  return nb::make_tuple(q.wrap(keys), q.wrap(int64_type, rows), q.wrap(bool_type, found));
}

// ---- ranges
// --------------------------------------------------------------------------------------------------------------

void text_index::ends(nb::handle lo, nb::handle hi, interval closed, std::vector<std::uint64_t>& first,
                      std::vector<std::uint64_t>& last, std::optional<batch>& low, std::optional<batch>& high) const {
  low.emplace(lo, key_, "lo");
  high.emplace(hi, key_, "hi");
  if (low->size() != high->size()) {
    if (low->is_scalar()) {
      low.emplace(lo, key_, "lo", high->size());
    } else if (high->is_scalar()) {
      high.emplace(hi, key_, "hi", low->size());
    } else {
      require_same_length("lo", low->size(), "hi", high->size());
    }
  }
  const unlocked parallel;
  first = ranks(*low, closed == interval::left_open || closed == interval::open);
  last = ranks(*high, closed == interval::closed || closed == interval::left_open);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const bool is_null = (low->has_nulls() && !low->is_valid(i)) || (high->has_nulls() && !high->is_valid(i));
    if (is_null || last[i] < first[i]) last[i] = first[i];
  }
}

nb::object text_index::count(nb::handle lo, nb::handle hi, std::string_view closed) const {
  std::vector<std::uint64_t> first, last;
  std::optional<batch> low, high;
  ends(lo, hi, parse_closed(closed), first, last, low, high);
  const new_array counts = make_array(int64_type, first.size());
  for (std::size_t i = 0; i < first.size(); ++i) counts.as<std::uint64_t>()[i] = last[i] - first[i];
  return (low->is_scalar() ? *high : *low).wrap(int64_type, counts);
}

nb::object text_index::aggregate(std::string_view op, nb::handle lo, nb::handle hi, std::string_view closed,
                                 nb::handle fallback) const {
  if (values_ == nullptr)
    throw nb::value_error("str and bytes have no sum, minimum or mean: build the index with values.");
  std::vector<std::uint64_t> first, last;
  std::optional<batch> low, high;
  ends(lo, hi, parse_closed(closed), first, last, low, high);
  const std::vector<std::uint32_t> begin(first.begin(), first.end()), end(last.begin(), last.end());
  const aggregate_answer a = aggregate_ranges(*values_, value_, keep_, parse_op(op), begin.data(), end.data(),
                                              begin.size(), interval::right_open, fallback);
  return (low->is_scalar() ? *high : *low).wrap(a.type, a.values);
}

nb::tuple text_index::rows_of(const std::vector<std::uint64_t>& first, const std::vector<std::uint64_t>& last,
                              nb::handle limit) const {
  const std::uint64_t most = parse_limit(limit);
  const std::size_t n = first.size();
  const new_array offsets = make_array(int64_type, n + 1);
  auto* const at = offsets.as<std::uint64_t>();
  at[0] = 0;
  for (std::size_t i = 0; i < n; ++i) at[i + 1] = at[i] + std::min(last[i] - first[i], most);
  const new_array rows = make_array(int64_type, at[n]);
  {
    const unlocked parallel;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::uint64_t k = at[i], rank = first[i]; k < at[i + 1]; ++k, ++rank)
        rows.as<std::int64_t>()[k] = rows_[rank];
    }
  }
  return nb::make_tuple(offsets.array, rows.array);
}

nb::object text_index::range(nb::handle lo, nb::handle hi, std::string_view closed, nb::handle limit) const {
  std::vector<std::uint64_t> first, last;
  std::optional<batch> low, high;
  ends(lo, hi, parse_closed(closed), first, last, low, high);
  const nb::tuple found = rows_of(first, last, limit);
  const batch& asked = low->is_scalar() ? *high : *low;
  if (asked.is_scalar()) return found;
  return nb::make_tuple(asked.wrap(nb::object(found[0])), asked.wrap(nb::object(found[1])));
}

nb::object text_index::prefix(nb::handle prefixes, nb::handle limit) const {
  const batch q(prefixes, key_, "prefix");
  const std::size_t n = q.size();
  std::vector<std::uint64_t> first(n), last(n);
  {
    const unlocked parallel;
    tree_->rank(bound_type::lower, q.raw(), first.data(), now());
    tree_->count(radix_slice::prefix, q.raw(), q.raw(), {}, last.data(), now());
    for (std::size_t i = 0; i < n; ++i) {
      last[i] = q.is_valid(i) ? start(first[i] + last[i]) : 0;
      first[i] = q.is_valid(i) ? start(first[i]) : 0;
    }
  }
  const nb::tuple found = rows_of(first, last, limit);
  if (q.is_scalar()) return nb::object(found[1]);
  return nb::make_tuple(q.wrap(nb::object(found[0])), q.wrap(nb::object(found[1])));
}

// ---- parts
// -----------------------------------------------------------------------------------------------------------------

const text_index::distinct_keys& text_index::keys() const {
  const unlocked parallel;  // also while another thread makes them
  std::call_once(keys_once_, [this] {
    const byte_string_batch all{std::string_view()};  // every key begins with the empty string
    const auto list = tree_->list(radix_slice::prefix, all.raw(), all.raw(), {}, now());
    keys_.offsets.assign(list.key_offsets.data(), list.key_offsets.data() + distinct_ + 1);
    const auto* const bytes = static_cast<const char*>(list.key_bytes.data());
    keys_.bytes.assign(bytes, bytes + list.total_bytes);
  });
  return keys_;
}

nb::tuple text_index::at(nb::handle ranks) const {
  const column asked = import_column(ranks, "ranks");
  if (asked.type.kind != scalar_kind::u64) throw nb::type_error("ranks must be uint64.");
  const distinct_keys& all = keys();
  const new_array rows = make_array(int64_type, asked.size);
  nb::list texts;
  for (std::size_t i = 0; i < asked.size; ++i) {
    const std::uint64_t rank = static_cast<const std::uint64_t*>(asked.data)[i];
    if (rank >= size_) {
      throw nb::index_error(
          ("rank " + std::to_string(rank) + " is out of range: the index has " + std::to_string(size_) + " elements.")
              .c_str());
    }
    std::uint64_t number = rank;
    if (starts_ != nullptr) {
      number =
          static_cast<std::uint64_t>(std::upper_bound(starts_.get(), starts_.get() + distinct_, rank) - starts_.get()) -
          1;
    }
    texts.append(make_text(key_, all.offsets.data() + number, all.bytes.data(), 1)[0]);
    rows.as<std::int64_t>()[i] = rows_[rank];
  }
  return nb::make_tuple(texts, rows.array);
}

nb::tuple text_index::parts() const {
  const distinct_keys& all = keys();
  const new_array bytes = make_array(scalar_kind::u8, all.bytes.size()),
                  offsets = make_array(scalar_kind::u64, distinct_ + 1);
  std::copy(all.bytes.begin(), all.bytes.end(), bytes.as<char>());
  std::copy(all.offsets.begin(), all.offsets.end(), offsets.as<std::uint64_t>());
  nb::object starts = nb::none(), rows = nb::none(), values = nb::none();
  if (starts_ != nullptr) {
    const new_array copy = make_array(scalar_kind::u64, distinct_ + 1);
    std::copy_n(starts_.get(), distinct_ + 1, copy.as<std::uint64_t>());
    starts = copy.array;
  }
  if (rows_) rows = wrap_array(rows_.type(), rows_.memory().get(), size_, rows_.memory());
  if (values_ != nullptr) {
    const new_array copy = make_array(value_, size_);
    const auto ranks = scratch<std::uint64_t>(size_);
    std::iota(ranks.get(), ranks.get() + size_, std::uint64_t{0});
    values_->select(ranks.get(), size_, nullptr, copy.data, nullptr, now());
    values = copy.array;
  }
  return nb::make_tuple(bytes.array, offsets.array, key_.logical == logical_type::string, starts, rows, values);
}

nb::dict text_index::stats() const {
  nb::dict result;
  const std::size_t tree = [&] {
    const unlocked_write released;
    return tree_->stats().bytes;
  }();
  const std::size_t values = values_ == nullptr ? 0 : values_->stats().bytes;
  const std::size_t rows = (rows_ ? size_ * 4 : 0) + (starts_ == nullptr ? 0 : (distinct_ + 1) * 8);
  result["size"] = size_;
  result["distinct"] = distinct_;
  result["bytes"] = tree + values + rows;
  result["tree_bytes"] = tree;
  result["value_bytes"] = values;
  result["row_bytes"] = rows;
  return result;
}

}  // namespace espalier::python
