// fixed_index.cpp - queries of an index over keys of fixed width.
#include "fixed_index.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "espalier/blink_tree/index.hpp"
#include "espalier/index/result.hpp"
#include "kinds.hpp"

namespace espalier::python {
namespace {

using espalier::bound_type;
using espalier::detail::aggregate_op;
using espalier::detail::execution;

const char* name_of_op(aggregate_op op) {
  switch (op) {
    case aggregate_op::sum:
      return "sum";
    case aggregate_op::min:
      return "min";
    case aggregate_op::max:
      return "max";
    case aggregate_op::avg:
      return "avg";
  }
  return "";
}

}  // namespace

execution fixed_index::now() const { return {cpu().default_stream(), true}; }

// ---- points
// ------------------------------------------------------------------------------------------------------------

nb::object fixed_index::searchsorted(nb::handle queries, bool right) const {
  query_batch q;
  if (!q.read(queries, key_)) return nb::none();
  const new_array ranks = make_array(int64_type, q.size());
  {
    const unlocked parallel;
    tree_->rank(right ? bound_type::upper : bound_type::lower, q.data(), q.size(), ranks.as<std::uint64_t>(), {},
                now());
  }
  return answer(int64_type, ranks, q.is_scalar());
}

double fixed_index::seconds_per_call(nb::handle queries, std::size_t times) const {
  query_batch q;
  if (!q.read(queries, key_)) throw nb::type_error("queries must be an array of the type of the keys.");
  std::vector<std::uint64_t> ranks(q.size());
  const unlocked parallel;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < times; ++i) tree_->rank(bound_type::lower, q.data(), q.size(), ranks.data(), {}, now());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / static_cast<double>(times);
}

nb::object fixed_index::get_indexer(nb::handle queries) const {
  query_batch q;
  if (!q.read(queries, key_)) return nb::none();
  const std::size_t n = q.size();
  const new_array rows = make_array(int64_type, n);
  {
    const unlocked parallel;
    const auto ranks = rows.as<std::uint64_t>();
    tree_->rank(bound_type::lower, q.data(), n, ranks, {}, now());
    visit_kind(key_.kind, [&]<class T>(T) {
      using word = word_of<T>;
      const auto keys = scratch<T>(n);
      const auto found = scratch<std::uint8_t>(n);
      tree_->select(ranks, n, keys.get(), nullptr, found.get(), now());
      in_pieces(n, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
          const bool hit = found[i] != 0 && encode_bits(key_.kind, load_bits<word>(key_.kind, keys.get(), i)) ==
                                                encode_bits(key_.kind, load_bits<word>(key_.kind, q.data(), i));
          rows.as<std::int64_t>()[i] = hit ? rows_[ranks[i]] : -1;
        }
      });
    });
  }
  return answer(int64_type, rows, q.is_scalar());
}

nb::object fixed_index::contains(nb::handle queries) const {
  query_batch q;
  if (!q.read(queries, key_)) return nb::none();
  const new_array found = make_mask(q.size());
  {
    const unlocked parallel;
    tree_->find(q.data(), q.size(), nullptr, found.as<std::uint8_t>(), {}, now());
  }
  return answer(bool_type, found, q.is_scalar());
}

nb::object fixed_index::find(nb::handle queries, nb::handle fallback) const {
  query_batch q;
  if (!q.read(queries, key_)) return nb::none();
  const std::size_t n = q.size();
  const new_array values = make_array(value_, n);
  std::uint8_t one = 0;
  std::unique_ptr<std::uint8_t[]> many;
  if (n > 1) many = scratch<std::uint8_t>(n);
  std::uint8_t* const found = n > 1 ? many.get() : &one;
  {
    const unlocked parallel;
    tree_->find(q.data(), n, values.data, found, {}, now());
  }
  apply_fallback(value_, values.data, found, n, fallback, PyExc_KeyError, "the index does not have this key");
  return answer(value_, values, q.is_scalar());
}

nb::object fixed_index::neighbour(nb::handle queries, bool successor) const {
  query_batch q;
  if (!q.read(queries, key_)) return nb::none();
  const std::size_t n = q.size();
  const new_array keys = make_array(key_, n), rows = make_array(int64_type, n), found = make_mask(n);
  {
    const unlocked parallel;
    const auto ranks = rows.as<std::uint64_t>();
    tree_->rank(successor ? bound_type::upper : bound_type::lower, q.data(), n, ranks, {}, now());
    if (!successor) {
      for (std::size_t i = 0; i < n; ++i) --ranks[i];  // 0 becomes a rank that is out of range
    }
    tree_->select(ranks, n, keys.data, nullptr, found.as<std::uint8_t>(), now());
    for (std::size_t i = 0; i < n; ++i) {
      rows.as<std::int64_t>()[i] = found.as<std::uint8_t>()[i] != 0 ? rows_[ranks[i]] : -1;
    }
  }
  return nb::make_tuple(answer(key_, keys, q.is_scalar()), answer(int64_type, rows, q.is_scalar()),
                        answer(bool_type, found, q.is_scalar()));
}

namespace {

/// The distance of two keys, in u64 for integers and double for floats, compared with the tolerance.
template <class T>
bool is_within(T a, T b, const asof_request& request) {
  if (!request.has_tolerance) return true;
  if constexpr (std::is_floating_point_v<T>) {
    return a == b || std::abs(static_cast<double>(a) - static_cast<double>(b)) <= request.real_tolerance;
  } else {
    const auto wide_a = static_cast<std::uint64_t>(a), wide_b = static_cast<std::uint64_t>(b);
    return (a < b ? wide_b - wide_a : wide_a - wide_b) <= request.tolerance;
  }
}
template <class T>
auto distance(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a == b ? 0.0 : std::abs(static_cast<double>(a) - static_cast<double>(b));
  } else {
    const auto wide_a = static_cast<std::uint64_t>(a), wide_b = static_cast<std::uint64_t>(b);
    return a < b ? wide_b - wide_a : wide_a - wide_b;
  }
}

}  // namespace

nb::object fixed_index::asof(nb::handle queries, const asof_request& request) const {
  query_batch q;
  if (!q.read(queries, key_)) return nb::none();
  const std::size_t n = q.size();
  const new_array rows = make_array(int64_type, n), found = make_mask(n);
  {
    const unlocked parallel;
    using direction = asof_request::direction;
    const bool back = request.where != direction::forward, ahead = request.where != direction::backward;
    visit_kind(key_.kind, [&]<class T>(T) {
      const auto ranks = scratch<std::uint64_t>(n), next_ranks = scratch<std::uint64_t>(ahead ? n : 0);
      const auto keys = scratch<T>(n), next_keys = scratch<T>(ahead ? n : 0);
      const auto* const asked = static_cast<const T*>(q.data());
      if (back) {
        tree_->rank(request.exact ? bound_type::upper : bound_type::lower, asked, n, ranks.get(), {}, now());
        for (std::size_t i = 0; i < n; ++i) --ranks[i];
        tree_->select(ranks.get(), n, keys.get(), nullptr, nullptr, now());
      }
      if (ahead) {
        tree_->rank(request.exact ? bound_type::lower : bound_type::upper, asked, n, next_ranks.get(), {}, now());
        tree_->select(next_ranks.get(), n, next_keys.get(), nullptr, nullptr, now());
      }
      in_pieces(n, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
          bool is_number = true;
          if constexpr (std::is_floating_point_v<T>) is_number = !std::isnan(asked[i]);
          const bool has_back = is_number && back && ranks[i] < comparable_ && is_within(asked[i], keys[i], request);
          const bool has_next =
              is_number && ahead && next_ranks[i] < comparable_ && is_within(asked[i], next_keys[i], request);
          std::uint64_t rank = has_back ? ranks[i] : has_next ? next_ranks[i] : 0;
          if (has_back && has_next && distance(asked[i], next_keys[i]) < distance(asked[i], keys[i]))
            rank = next_ranks[i];
          found.as<std::uint8_t>()[i] = has_back || has_next ? 1 : 0;
          rows.as<std::int64_t>()[i] = has_back || has_next ? rows_[rank] : -1;
        }
      });
    });
  }
  return nb::make_tuple(answer(int64_type, rows, q.is_scalar()), answer(bool_type, found, q.is_scalar()));
}

nb::tuple fixed_index::at(nb::handle ranks) const {
  column numbers = import_column(ranks, "ranks");
  if (numbers.type.kind != scalar_kind::u64) throw nb::type_error("ranks must be uint64.");
  const std::size_t n = numbers.size;
  const auto* const asked = static_cast<const std::uint64_t*>(numbers.data);
  const new_array keys = make_array(key_, n), rows = make_array(int64_type, n);
  for (std::size_t i = 0; i < n; ++i) {
    if (asked[i] >= size_) {
      throw nb::index_error(("rank " + std::to_string(asked[i]) + " is out of range: the index has " +
                             std::to_string(size_) + " elements.")
                                .c_str());
    }
  }
  {
    const unlocked parallel;
    tree_->select(asked, n, keys.data, nullptr, nullptr, now());
    for (std::size_t i = 0; i < n; ++i) rows.as<std::int64_t>()[i] = rows_[asked[i]];
  }
  return nb::make_tuple(keys.array, rows.array);
}

// ---- ranges
// --------------------------------------------------------------------------------------------------------------

namespace {

/// Both ends of ranges; false if one of them is not read here. A scalar end belongs to all ranges of the other.
bool read_ends(nb::handle lo, nb::handle hi, const data_type& type, query_batch& low, query_batch& high) {
  if (!low.read(lo, type) || !high.read(hi, type) || low.is_scalar() != high.is_scalar()) return false;
  require_same_length("lo", low.size(), "hi", high.size());
  return true;
}

}  // namespace

nb::object fixed_index::count(nb::handle lo, nb::handle hi, interval ends) const {
  query_batch low, high;
  if (!read_ends(lo, hi, key_, low, high)) return nb::none();
  const new_array counts = make_array(int64_type, low.size());
  {
    const unlocked parallel;
    tree_->count(low.data(), high.data(), low.size(), {ends}, counts.as<std::uint64_t>(), now());
  }
  return answer(int64_type, counts, low.is_scalar());
}

data_type aggregate_type(const data_type& from, aggregates kept, aggregate_op op) {
  const bool is_bound = espalier::detail::is_bound(op);
  if ((static_cast<unsigned>(kept) & (is_bound ? 2u : 1u)) == 0) {
    throw nb::value_error((std::string("the index was built without ") + (is_bound ? "minima and maxima" : "sums") +
                           ": build it with keep='" + name_of_op(op) + "'.")
                              .c_str());
  }
  if (!is_bound && (from.logical == logical_type::datetime || (from.is_time() && op == aggregate_op::avg))) {
    throw nb::type_error((std::string(name_of_op(op)) + " of " + name_of(from) +
                          " is not defined: convert it to int64 "
                          "before the build.")
                             .c_str());
  }
  const bool is_float = espalier::detail::is_float(from.kind), is_signed = espalier::detail::is_signed(from.kind);
  if (op == aggregate_op::avg || (op == aggregate_op::sum && is_float)) return {logical_type::number, scalar_kind::f64};
  if (op == aggregate_op::sum && !from.is_time()) {
    return {logical_type::number,
            is_signed || from.logical == logical_type::boolean ? scalar_kind::i64 : scalar_kind::u64};
  }
  return from;
}

template <class Tree>
aggregate_answer aggregate_ranges(const Tree& tree, const data_type& from, aggregates kept, aggregate_op op,
                                  const void* lo, const void* hi, std::size_t n, interval ends, nb::handle fallback) {
  const data_type type = aggregate_type(from, kept, op);
  const bool is_bound = espalier::detail::is_bound(op);
  const bool is_float = espalier::detail::is_float(from.kind), is_signed = espalier::detail::is_signed(from.kind);
  const new_array results = make_array(type, n);
  const auto found = scratch<std::uint8_t>(is_bound ? n : 0);
  {
    const unlocked parallel;
    const execution ex{cpu().default_stream(), true};
    if (op == aggregate_op::sum && bytes_of(from.kind) == 8 && !is_float) {
      const auto wide = scratch<int128>(n);
      tree.aggregate(op, lo, hi, n, ends, wide.get(), nullptr, ex);
      for (std::size_t i = 0; i < n; ++i) {
        if (is_signed) {
          results.as<std::int64_t>()[i] = espalier::detail::narrow_sum<std::int64_t>(wide[i], i);
        } else {
          results.as<std::uint64_t>()[i] =
              espalier::detail::narrow_sum<std::uint64_t>(static_cast<uint128>(wide[i]), i);
        }
      }
    } else {
      tree.aggregate(op, lo, hi, n, ends, results.data, is_bound ? found.get() : nullptr, ex);
    }
  }
  if (is_bound) {
    apply_fallback(type, results.data, found.get(), n, fallback, PyExc_ValueError,
                   "a range without elements has no minimum and no maximum");
  }
  return {type, results};
}

template aggregate_answer aggregate_ranges(const espalier::detail::static_index&, const data_type&, aggregates,
                                           aggregate_op, const void*, const void*, std::size_t, interval, nb::handle);
template aggregate_answer aggregate_ranges(const espalier::detail::blink_index&, const data_type&, aggregates,
                                           aggregate_op, const void*, const void*, std::size_t, interval, nb::handle);
template aggregate_answer aggregate_ranges(const text_ranges&, const data_type&, aggregates, aggregate_op, const void*,
                                           const void*, std::size_t, interval, nb::handle);

nb::object fixed_index::aggregate(aggregate_op op, nb::handle lo, nb::handle hi, interval ends,
                                  nb::handle fallback) const {
  query_batch low, high;
  if (!read_ends(lo, hi, key_, low, high)) return nb::none();
  const aggregate_answer a =
      aggregate_ranges(*tree_, summand(), keep_, op, low.data(), high.data(), low.size(), ends, fallback);
  return answer(a.type, a.values, low.is_scalar());
}

nb::object fixed_index::range(nb::handle lo, nb::handle hi, interval ends, nb::handle limit) const {
  query_batch low, high;
  if (!read_ends(lo, hi, key_, low, high)) return nb::none();
  range_options options{ends};
  options.limit = parse_limit(limit);
  const std::size_t n = low.size();
  const new_array offsets = make_array(int64_type, n + 1);
  const auto starts = scratch<std::uint64_t>(n);
  {
    const unlocked parallel;
    const bool includes_lower = ends == interval::closed || ends == interval::right_open;
    tree_->range_offsets(low.data(), high.data(), n, options, offsets.as<std::uint64_t>(), now());
    tree_->rank(includes_lower ? bound_type::lower : bound_type::upper, low.data(), n, starts.get(), {}, now());
  }
  const auto* const begin = offsets.as<const std::uint64_t>();
  const new_array rows = make_array(int64_type, begin[n]);
  {
    // Pieces of the answer and not of the ranges: a few long ranges occupy all threads, and are interrupted, too.
    constexpr std::uint64_t piece = std::uint64_t{1} << 16;
    const std::uint64_t total = begin[n];
    const unlocked parallel;
    cpu_backend(cpu()).for_each(
        static_cast<std::size_t>((total + piece - 1) / piece),
        [&](std::size_t p) {
          std::uint64_t at = p * piece;
          const std::uint64_t last = std::min(at + piece, total);
          for (auto i = static_cast<std::size_t>(std::upper_bound(begin, begin + n + 1, at) - begin) - 1; at < last;
               ++i) {
            const std::uint64_t end = std::min(begin[i + 1], last);
            for (std::uint64_t rank = starts[i] + (at - begin[i]); at < end; ++at, ++rank) {
              rows.as<std::int64_t>()[at] = rows_[rank];
            }
          }
        },
        1);
  }
  return nb::make_tuple(offsets.array, rows.array);
}

}  // namespace espalier::python
