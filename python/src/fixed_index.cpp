// fixed_index.cpp - build, queries and parts of an index over keys of fixed width.
#include "fixed_index.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "espalier/blink_tree/index.hpp"
#include "espalier/static_tree/result.hpp"
#include "kinds.hpp"

namespace espalier::python {
namespace {

using espalier::detail::aggregate_op;
using espalier::detail::bound_kind;
using espalier::detail::build_static_index;
using espalier::detail::element_type;
using espalier::detail::execution;

using unlocked = nb::gil_scoped_release;

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

/// Arrow's date32 in the type that NumPy has for it.
column as_numpy_type(column c) {
  if (!c.type.is_time() || c.type.width() == 8) return c;
  const auto* const days = static_cast<const std::int32_t*>(c.data);
  auto* const wide = c.allocate<std::int64_t>(c.size);
  for (std::size_t i = 0; i < c.size; ++i) wide[i] = days[i];
  c.type.kind = scalar_kind::i64;
  c.data = wide;
  c.shared = false;
  return c;
}

}  // namespace

void gather(unsigned width, const void* from, const row_map& rows, std::size_t n, void* to) {
  in_pieces(n, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      std::memcpy(static_cast<char*>(to) + i * width, static_cast<const char*>(from) + static_cast<std::size_t>(rows[i]) * width,
                  width);
    }
  });
}

void refuse_missing(const column& c, const char* what) {
  std::size_t row = c.size;
  if (c.nulls != 0) {
    for (row = 0; c.is_valid(row); ++row) {
    }
  } else if (c.type.is_time() && c.type.width() == 8) {
    const auto* const moments = static_cast<const std::int64_t*>(c.data);
    row = static_cast<std::size_t>(std::find(moments, moments + c.size, std::numeric_limits<std::int64_t>::min()) - moments);
  }
  if (row == c.size) return;
  throw nb::value_error((std::string(what) + ": row " + std::to_string(row) + " is " + (c.nulls != 0 ? "NULL" : "NaT") +
                         ", which has no place in an order: remove such rows, or replace them.").c_str());
}

aggregates parse_keep(nb::handle keep) {
  if (keep.is_none()) return aggregates::none;
  if (!PyUnicode_Check(keep.ptr())) throw nb::type_error("keep must be a str such as 'sum,min,max', or None.");
  std::string_view text = nb::borrow<nb::str>(keep).c_str();
  unsigned kept = 0;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (word == "sum" || word == "avg" || word == "mean") {
      kept |= 1;
    } else if (word == "min" || word == "max") {
      kept |= 2;
    } else if (word == "all") {
      kept |= 3;
    } else if (word != "none" && !word.empty()) {
      throw nb::value_error(("keep: '" + std::string(word) + "' is not known; use 'sum', 'min', 'max', 'all' or 'none', "
                             "separated by commas.").c_str());
    }
  }
  return static_cast<aggregates>(kept);
}

interval parse_closed(std::string_view closed) {
  if (closed == "both") return interval::closed;
  if (closed == "left") return interval::right_open;
  if (closed == "right") return interval::left_open;
  if (closed == "neither") return interval::open;
  throw nb::value_error(("closed is '" + std::string(closed) + "'; use 'both', 'left', 'right' or 'neither'.").c_str());
}

asof_request parse_asof(std::string_view direction, nb::handle tolerance, bool exact, scalar_kind kind) {
  asof_request r;
  r.exact = exact;
  if (direction == "backward") {
    r.where = asof_request::direction::backward;
  } else if (direction == "forward") {
    r.where = asof_request::direction::forward;
  } else if (direction == "nearest") {
    r.where = asof_request::direction::nearest;
  } else {
    throw nb::value_error(("direction is '" + std::string(direction) + "'; use 'backward', 'forward' or 'nearest'.").c_str());
  }
  if (tolerance.is_none()) return r;
  r.has_tolerance = true;
  const bool is_real = kind == scalar_kind::f32 || kind == scalar_kind::f64;
  if (is_real) {
    r.real_tolerance = PyFloat_AsDouble(tolerance.ptr());
    if (r.real_tolerance == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    if (!(r.real_tolerance >= 0)) throw nb::value_error("tolerance must not be negative or NaN.");
    return r;
  }
  const nb::object whole = nb::steal(PyNumber_Index(tolerance.ptr()));
  if (!whole.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long x = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
  if (overflow < 0 || (overflow == 0 && x < 0)) throw nb::value_error("tolerance must not be negative.");
  r.tolerance = overflow > 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(x);
  return r;
}

void apply_fallback(const data_type& type, void* values, const std::uint8_t* found, std::size_t n, nb::handle fallback,
                    PyObject* error, const char* sentence) {
  const auto* const first = static_cast<const std::uint8_t*>(n == 0 ? nullptr : std::memchr(found, 0, n));
  if (first == nullptr) return;
  if (fallback.is_none()) {
    PyErr_SetString(error, (std::string(sentence) + " (query " + std::to_string(first - found) +
                            "); give a default to get it instead.").c_str());
    throw nb::python_error();
  }
  const column one = detail::import_numpy(fallback, "default");
  if (one.size != 1 || !(one.type == type)) throw nb::type_error("default must be one value of the type of the answer.");
  const unsigned width = type.width();
  for (auto i = static_cast<std::size_t>(first - found); i < n; ++i) {
    if (found[i] == 0) std::memcpy(static_cast<char*>(values) + i * width, one.data, width);
  }
}

// ---- build -----------------------------------------------------------------------------------------------------------

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

std::unique_ptr<fixed_index> fixed_index::of_parts(nb::handle keys, nb::handle values, nb::handle rows, nb::handle keep) {
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

column import_values(nb::handle values) {
  column c;
  if (values.is_none()) return c;
  c = as_numpy_type(import_column(values, "values"));
  if (c.type.is_text()) {
    throw nb::type_error(("values have the type " + name_of(c.type) + ": give numbers, bool or times, or use the row "
                          "numbers of get_indexer() with your own array.").c_str());
  }
  if (c.nulls != 0) throw nb::value_error("values contain NULL: replace them, or use the row numbers of get_indexer().");
  return c;
}

row_map import_rows(nb::handle rows, std::size_t n) {
  if (rows.is_none()) return {};
  auto numbers = std::make_shared<column>(import_column(rows, "rows"));
  const bool is_wide = numbers->type.kind == scalar_kind::u64;
  if (!is_wide && numbers->type.kind != scalar_kind::u32) throw nb::type_error("rows must be uint32 or uint64.");
  require_same_length("rows", numbers->size, "keys", n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t row = is_wide ? static_cast<const std::uint64_t*>(numbers->data)[i]
                                      : static_cast<const std::uint32_t*>(numbers->data)[i];
    if (row >= n) throw nb::value_error(("rows: number " + std::to_string(i) + " is not a row.").c_str());
  }
  const void* const data = numbers->data;
  // The column holds Python objects: it is released with the GIL.
  return row_map(std::shared_ptr<const void>(data,
                                             [numbers](const void*) mutable {
                                               const nb::gil_scoped_acquire locked;
                                               numbers.reset();
                                             }),
                 is_wide);
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
    tree_->bound(bound_kind::lower, query, 1, &rank, {}, now());
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
      for (std::size_t i = first; i < last; ++i) store_bits(key_.kind, sorted.get(), i, decode_bits(key_.kind, words[i]));
    });
    words.reset();
    build(sorted.get(), sorted_values.get(), n, true);
  });
}

execution fixed_index::now() const { return {cpu().default_stream(), true}; }

// ---- points ------------------------------------------------------------------------------------------------------------

nb::object fixed_index::searchsorted(nb::handle queries, bool right) const {
  query_batch q;
  if (!q.read(queries, key_)) return nb::none();
  const new_array ranks = make_array(int64_type, q.size());
  {
    const unlocked parallel;
    tree_->bound(right ? bound_kind::upper : bound_kind::lower, q.data(), q.size(), ranks.as<std::uint64_t>(), {}, now());
  }
  return answer(int64_type, ranks, q.is_scalar());
}

double fixed_index::seconds_per_call(nb::handle queries, std::size_t times) const {
  query_batch q;
  if (!q.read(queries, key_)) throw nb::type_error("queries must be an array of the type of the keys.");
  std::vector<std::uint64_t> ranks(q.size());
  const unlocked parallel;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < times; ++i) tree_->bound(bound_kind::lower, q.data(), q.size(), ranks.data(), {}, now());
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
    tree_->bound(bound_kind::lower, q.data(), n, ranks, {}, now());
    visit_kind(key_.kind, [&]<class T>(T) {
      using word = word_of<T>;
      const auto keys = scratch<T>(n);
      const auto found = scratch<std::uint8_t>(n);
      tree_->at(ranks, n, keys.get(), nullptr, found.get(), now());
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
    tree_->bound(successor ? bound_kind::upper : bound_kind::lower, q.data(), n, ranks, {}, now());
    if (!successor) {
      for (std::size_t i = 0; i < n; ++i) --ranks[i];  // 0 becomes a rank that is out of range
    }
    tree_->at(ranks, n, keys.data, nullptr, found.as<std::uint8_t>(), now());
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
        tree_->bound(request.exact ? bound_kind::upper : bound_kind::lower, asked, n, ranks.get(), {}, now());
        for (std::size_t i = 0; i < n; ++i) --ranks[i];
        tree_->at(ranks.get(), n, keys.get(), nullptr, nullptr, now());
      }
      if (ahead) {
        tree_->bound(request.exact ? bound_kind::lower : bound_kind::upper, asked, n, next_ranks.get(), {}, now());
        tree_->at(next_ranks.get(), n, next_keys.get(), nullptr, nullptr, now());
      }
      in_pieces(n, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
          bool is_number = true;
          if constexpr (std::is_floating_point_v<T>) is_number = !std::isnan(asked[i]);
          const bool has_back = is_number && back && ranks[i] < comparable_ && is_within(asked[i], keys[i], request);
          const bool has_next =
              is_number && ahead && next_ranks[i] < comparable_ && is_within(asked[i], next_keys[i], request);
          std::uint64_t rank = has_back ? ranks[i] : has_next ? next_ranks[i] : 0;
          if (has_back && has_next && distance(asked[i], next_keys[i]) < distance(asked[i], keys[i])) rank = next_ranks[i];
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
                             std::to_string(size_) + " elements.").c_str());
    }
  }
  {
    const unlocked parallel;
    tree_->at(asked, n, keys.data, nullptr, nullptr, now());
    for (std::size_t i = 0; i < n; ++i) rows.as<std::int64_t>()[i] = rows_[asked[i]];
  }
  return nb::make_tuple(keys.array, rows.array);
}

// ---- ranges --------------------------------------------------------------------------------------------------------------

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

template <class Tree>
aggregate_answer aggregate_ranges(const Tree& tree, const data_type& from, aggregates kept,
                                  aggregate_op op, const void* lo, const void* hi, std::size_t n, interval ends,
                                  nb::handle fallback) {
  const bool is_bound = op == aggregate_op::min || op == aggregate_op::max;
  if ((static_cast<unsigned>(kept) & (is_bound ? 2u : 1u)) == 0) {
    throw nb::value_error((std::string("the index was built without ") + (is_bound ? "minima and maxima" : "sums") +
                           ": build it with keep='" + name_of_op(op) + "'.").c_str());
  }
  if (!is_bound && (from.logical == logical_type::datetime || (from.is_time() && op == aggregate_op::avg))) {
    throw nb::type_error((std::string(name_of_op(op)) + " of " + name_of(from) + " is not defined: convert it to int64 "
                          "before the build.").c_str());
  }
  const bool is_float = espalier::detail::is_float(from.kind), is_signed = espalier::detail::is_signed(from.kind);
  data_type type = from;
  if (op == aggregate_op::avg || (op == aggregate_op::sum && is_float)) {
    type = {logical_type::number, scalar_kind::f64};
  } else if (op == aggregate_op::sum && !from.is_time()) {
    type = {logical_type::number, is_signed || from.logical == logical_type::boolean ? scalar_kind::i64 : scalar_kind::u64};
  }
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
          results.as<std::uint64_t>()[i] = espalier::detail::narrow_sum<std::uint64_t>(static_cast<uint128>(wide[i]), i);
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

template aggregate_answer aggregate_ranges(const espalier::detail::static_index&, const data_type&, aggregates, aggregate_op,
                                           const void*, const void*, std::size_t, interval, nb::handle);
template aggregate_answer aggregate_ranges(const espalier::detail::blink_index&, const data_type&, aggregates, aggregate_op,
                                           const void*, const void*, std::size_t, interval, nb::handle);

nb::object fixed_index::aggregate(aggregate_op op, nb::handle lo, nb::handle hi, interval ends, nb::handle fallback) const {
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
  if (!limit.is_none()) options.limit = nb::cast<std::uint64_t>(limit);
  const std::size_t n = low.size();
  const new_array offsets = make_array(int64_type, n + 1);
  const auto starts = scratch<std::uint64_t>(n);
  {
    const unlocked parallel;
    const bool includes_lower = ends == interval::closed || ends == interval::right_open;
    tree_->range_offsets(low.data(), high.data(), n, options, offsets.as<std::uint64_t>(), now());
    tree_->bound(includes_lower ? bound_kind::lower : bound_kind::upper, low.data(), n, starts.get(), {}, now());
  }
  const auto* const begin = offsets.as<const std::uint64_t>();
  const new_array rows = make_array(int64_type, begin[n]);
  {
    const unlocked parallel;
    cpu_backend(cpu()).for_each(
        n,
        [&](std::size_t i) {
          for (std::uint64_t at = begin[i], rank = starts[i]; at < begin[i + 1]; ++at, ++rank) {
            rows.as<std::int64_t>()[at] = rows_[rank];
          }
        },
        64);
  }
  return nb::make_tuple(offsets.array, rows.array);
}

// ---- parts -----------------------------------------------------------------------------------------------------------------

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
      tree_->at(ranks.get(), n, keys.as<char>() + first * key_.width(),
                value_data == nullptr ? nullptr : static_cast<char*>(value_data) + first * value_.width(), nullptr, now());
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
