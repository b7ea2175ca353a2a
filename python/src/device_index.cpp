// device_index.cpp - an index in the memory of a GPU.
#include "device_index.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "device_call.hpp"
#include "kinds.hpp"

namespace espalier::python {

using espalier::detail::aggregate_op;
using espalier::detail::element_type;

device_index::device_index(int ordinal, nb::handle key_example, address keys, std::size_t n, nb::handle value_example,
                           address values, address rows, unsigned row_bytes, nb::handle keep, address handle)
    : on_(device_at(ordinal)),
      key_(type_of_example(key_example)),
      value_(type_of_example(value_example)),
      has_values_(!value_example.is_none()),
      keep_(parse_keep(keep)),
      size_(n),
      row_bytes_(row_bytes) {
  const unlocked_write released;
  if (handle > 1) on_.default_stream().wait_for(stream_at(on_, handle).mark());
  const device_call c(on_, 0);
  const key_batch normal(c, key_, keys, n);
  const void* data = normal.data();
  const void* elements = input(values);
  raw_buffer sorted_keys, sorted_values;
  if (row_bytes_ != 0) {
    rows_ = c.room(n * row_bytes_);
    on_.copy(rows_.data(), input(rows), n * row_bytes_, c.order());
  } else if (!device_kernels::ascends(c.place(), key_.kind, data, n)) {
    row_bytes_ = n > std::numeric_limits<std::uint32_t>::max() ? 8 : 4;
    rows_ = c.room(n * row_bytes_);
    sorted_keys = c.room(n * key_.width());
    device_kernels::sort_with_rows(c.place(), key_.kind, data, n, sorted_keys.data(), rows_.data(), row_bytes_);
    data = sorted_keys.data();
    if (has_values_) {
      sorted_values = c.room(n * value_.width());
      device_kernels::gather(c.place(), value_.width(), elements, this->rows(), n, sorted_values.data());
      elements = sorted_values.data();
    }
  }
  const element_type types{key_.kind, has_values_ ? value_.kind : scalar_kind::opaque,
                           has_values_ ? value_.width() : 0u};
  tree_ = espalier::detail::build_static_index(on_, types, data, elements, n, {true, keep_}, {c.order(), true});
  comparable_ = n;
  if (is_float(key_)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const float narrow = std::numeric_limits<float>::quiet_NaN();
    std::uint64_t rank = 0;
    tree_->rank(bound_type::lower, key_.kind == scalar_kind::f64 ? static_cast<const void*>(&nan) : &narrow, 1, &rank,
                {}, {c.order(), true});
    comparable_ = rank;
  }
}

device_index::~device_index() { uses_.join(on_); }

void device_index::searchsorted(address q, std::size_t n, bool right, address ranks, address handle) const {
  const unlocked_write released;
  const device_call c(on_, handle);
  const key_batch keys(c, key_, q, n);
  tree_->rank(right ? bound_type::upper : bound_type::lower, keys.data(), n, at_address<std::uint64_t>(ranks), {},
              c.run());
  uses_.note(c.order(), handle);
}

buffer<std::uint8_t> device_index::match(const device_call& c, address q, std::size_t n, address rows) const {
  const key_batch keys(c, key_, q, n);
  auto* const ranks = at_address<std::uint64_t>(rows);
  const raw_buffer selected = c.room(n * key_.width());
  auto found = c.scratch<std::uint8_t>(n);
  tree_->rank(bound_type::lower, keys.data(), n, ranks, {}, c.run());
  tree_->select(ranks, n, selected.data(), nullptr, found.data(), c.run());
  device_kernels::rows_of_matches(c.place(), key_.kind, keys.data(), selected.data(), found.data(), this->rows(), n,
                                  ranks);
  return found;
}

void device_index::get_indexer(address q, std::size_t n, address rows, address handle) const {
  const unlocked_write released;
  const device_call c(on_, handle);
  (void)match(c, q, n, rows);
  uses_.note(c.order(), handle);
}

void device_index::find_rows(address q, std::size_t n, address rows, nb::handle fallback, address handle) const {
  const bool has_fallback = !fallback.is_none();
  const std::uint64_t bits = has_fallback ? bits_of(fallback, int64_type) : 0;
  std::uint64_t missing = none_missing;
  {
    const unlocked_write released;
    const device_call c(on_, handle);
    const auto found = match(c, q, n, rows);
    missing = settle_missing(c, int64_type, found.data(), n, has_fallback, bits, output(rows));
    uses_.note(c.order(), handle);
  }
  if (missing != none_missing) throw_missing(PyExc_KeyError, no_key, missing);
}

void device_index::find(address q, std::size_t n, address values, nb::handle fallback, address handle) const {
  find_in(*tree_, on_, uses_, key_, value_, q, n, values, fallback, handle, no_key);
}

void device_index::contains(address q, std::size_t n, address found, address handle) const {
  contains_in(*tree_, on_, uses_, key_, q, n, found, handle);
}

double device_index::seconds_per_find(address q, std::size_t n, address values, address found,
                                      std::size_t times) const {
  const unlocked_write released;
  const device_call c(on_, 0);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < times; ++i) {
    tree_->find(input(q), n, output(values), at_address<std::uint8_t>(found), {}, c.run());
  }
  c.order().synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / static_cast<double>(times);
}

void device_index::asof(address q, std::size_t n, const asof_request& request, address rows, address found,
                        address handle) const {
  using direction = asof_request::direction;
  const bool back = request.where != direction::forward, ahead = request.where != direction::backward;
  const unlocked_write released;
  const device_call c(on_, handle);
  const key_batch keys(c, key_, q, n);
  const auto back_ranks = c.scratch<std::uint64_t>(back ? n : 0), ahead_ranks = c.scratch<std::uint64_t>(ahead ? n : 0);
  const raw_buffer back_keys = c.room(back ? n * key_.width() : 0), ahead_keys = c.room(ahead ? n * key_.width() : 0);
  if (back) {
    tree_->rank(request.exact ? bound_type::upper : bound_type::lower, keys.data(), n, back_ranks.data(), {}, c.run());
    device_kernels::decrement(c.place(), back_ranks.data(), n);
    tree_->select(back_ranks.data(), n, back_keys.data(), nullptr, nullptr, c.run());
  }
  if (ahead) {
    tree_->rank(request.exact ? bound_type::lower : bound_type::upper, keys.data(), n, ahead_ranks.data(), {}, c.run());
    tree_->select(ahead_ranks.data(), n, ahead_keys.data(), nullptr, nullptr, c.run());
  }
  device_kernels::asof(c.place(), key_.kind,
                       {keys.data(), back_ranks.data(), ahead_ranks.data(), back_keys.data(), ahead_keys.data(),
                        comparable_, request.has_tolerance, request.tolerance, request.real_tolerance, this->rows(),
                        at_address<std::int64_t>(rows), at_address<std::uint8_t>(found)},
                       n);
  uses_.note(c.order(), handle);
}

void device_index::neighbour(address q, std::size_t n, bool successor, address keys, address rows, address found,
                             address handle) const {
  const unlocked_write released;
  const device_call c(on_, handle);
  const key_batch asked(c, key_, q, n);
  auto* const ranks = at_address<std::uint64_t>(rows);
  tree_->rank(successor ? bound_type::upper : bound_type::lower, asked.data(), n, ranks, {}, c.run());
  if (!successor) device_kernels::decrement(c.place(), ranks, n);
  tree_->select(ranks, n, output(keys), nullptr, at_address<std::uint8_t>(found), c.run());
  device_kernels::rows_of_ranks(c.place(), at_address<std::uint8_t>(found), this->rows(), n, ranks);
  uses_.note(c.order(), handle);
}

void device_index::count(address lo, address hi, std::size_t n, interval ends, address counts, address handle) const {
  count_in(*tree_, on_, uses_, key_, lo, hi, n, ends, counts, handle);
}

void device_index::aggregate(aggregate_op op, address lo, address hi, std::size_t n, interval ends, address results,
                             nb::handle fallback, address handle) const {
  aggregate_in(*tree_, on_, uses_, key_, summand(), keep_, op, lo, hi, n, ends, results, fallback, handle);
}

std::uint64_t device_index::range(address lo, address hi, std::size_t n, interval ends, nb::handle limit,
                                  address offsets, address starts, address handle) const {
  range_options options{ends};
  options.limit = parse_limit(limit);
  const unlocked_write released;
  const device_call c(on_, handle);
  const key_batch low(c, key_, lo, n), high(c, key_, hi, n);
  const bool includes_lower = ends == interval::closed || ends == interval::right_open;
  auto* const to = at_address<std::uint64_t>(offsets);
  tree_->range_offsets(low.data(), high.data(), n, options, to, c.run());
  tree_->rank(includes_lower ? bound_type::lower : bound_type::upper, low.data(), n, at_address<std::uint64_t>(starts),
              {}, c.run());
  std::uint64_t total = 0;
  on_.copy(&total, to + n, sizeof total, c.order());
  c.order().synchronize();
  return total;
}

void device_index::range_rows(address offsets, address starts, std::size_t n, std::uint64_t total, address rows,
                              address handle) const {
  const unlocked_write released;
  const device_call c(on_, handle);
  device_kernels::rows_of_ranges(c.place(), at_address<const std::uint64_t>(offsets),
                                 at_address<const std::uint64_t>(starts), n, total, this->rows(),
                                 at_address<std::int64_t>(rows));
  uses_.note(c.order(), handle);
}

void device_index::at(nb::handle example, address asked, std::size_t n, address keys, address rows,
                      address handle) const {
  const data_type type = type_of_example(example);
  std::uint64_t wrong = n;
  {
    const unlocked_write released;
    const device_call c(on_, handle);
    auto* const ranks = at_address<std::uint64_t>(rows);
    wrong = device_kernels::read_ranks(c.place(), type.kind, input(asked), size_, n, ranks);
    if (wrong == n) {
      tree_->select(ranks, n, output(keys), nullptr, nullptr, c.run());
      device_kernels::rows_of_ranks(c.place(), nullptr, this->rows(), n, ranks);
    }
    uses_.note(c.order(), handle);
  }
  if (wrong != n) {
    throw nb::index_error(("element " + std::to_string(wrong) + " of ranks is out of range: the index has " +
                           std::to_string(size_) + " elements.")
                              .c_str());
  }
}

nb::tuple device_index::parts() const {
  const new_array keys = make_array(key_, size_);
  new_array values, numbers;
  if (has_values_) values = make_array(value_, size_);
  if (row_bytes_ != 0) {
    numbers = make_array(row_bytes_ == 8 ? scalar_kind::u64 : scalar_kind::u32, size_);
  }
  {
    const unlocked_write released;
    const device_call c(on_, 0);
    constexpr std::size_t piece = std::size_t{1} << 24;
    const auto ranks = scratch<std::uint64_t>(std::min(piece, size_));
    for (std::size_t first = 0; first < size_; first += piece) {
      const std::size_t n = std::min(piece, size_ - first);
      for (std::size_t i = 0; i < n; ++i) ranks[i] = first + i;
      tree_->select(ranks.get(), n, keys.as<char>() + first * key_.width(),
                    has_values_ ? values.as<char>() + first * value_.width() : nullptr, nullptr, {c.order(), true});
    }
    if (row_bytes_ != 0) on_.copy(numbers.data, rows_.data(), size_ * row_bytes_, c.order());
    c.order().synchronize();
  }
  return nb::make_tuple(keys.array, has_values_ ? values.array : nb::none(),
                        row_bytes_ != 0 ? numbers.array : nb::none());
}

nb::dict device_index::stats() const {
  const tree_stats s = tree_->stats();
  nb::dict result;
  result["size"] = s.size;
  result["bytes"] = s.bytes + size_ * row_bytes_;
  result["leaf_bytes"] = s.leaf_bytes;
  result["inner_bytes"] = s.inner_bytes;
  result["aggregate_bytes"] = s.aggregate_bytes;
  result["row_bytes"] = size_ * row_bytes_;
  result["height"] = s.height;
  return result;
}

}  // namespace espalier::python
