// device_index.cpp - an index and a map in the memory of a GPU.
#include "device_index.hpp"

#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include "device_pointer.hpp"
#include "espalier/index/result.hpp"
#include "kinds.hpp"

namespace espalier::python {

using device_kernels::row_array;
using device_kernels::work_place;
using espalier::detail::aggregate_op;
using espalier::detail::element_type;
using espalier::detail::execution;
using espalier::detail::seek_kind;

/// One call: its device, stream, and scratch memory, which is freed in the order of the stream.
class device_call {
 public:
  device_call(const device& on, address handle) : on_(on), handle_(handle), order_(stream_at(on, handle)) {}

  [[nodiscard]] execution run() const { return {order_, on_.kind() == device_kind::cpu}; }
  [[nodiscard]] work_place place() const { return {on_, order_}; }
  [[nodiscard]] const stream& order() const { return order_; }
  [[nodiscard]] address handle() const { return handle_; }
  template <class T>
  [[nodiscard]] buffer<T> scratch(std::size_t n) const {
    return buffer<T>(on_, n, order_);
  }
  [[nodiscard]] raw_buffer room(std::size_t bytes) const { return raw_buffer(on_, bytes, order_); }

 private:
  const device& on_;
  address handle_;
  stream order_;
};

namespace {

template <class T>
T* at_address(address p) {
  return reinterpret_cast<T*>(p);
}
const void* input(address p) { return reinterpret_cast<const void*>(p); }
void* output(address p) { return reinterpret_cast<void*>(p); }

bool is_float(const data_type& type) { return type.kind == scalar_kind::f32 || type.kind == scalar_kind::f64; }

data_type type_of_example(nb::handle example) {
  return example.is_none() ? data_type{} : detail::import_numpy(example, "dtype").type;
}

/// The bytes of the one value of `fallback`, zero-extended.
std::uint64_t bits_of(nb::handle fallback, const data_type& type) {
  const column one = detail::import_numpy(fallback, "default");
  if (one.size != 1 || !(one.type == type))
    throw nb::type_error("default must be one value of the type of the answer.");
  std::uint64_t bits = 0;
  std::memcpy(&bits, one.data, type.width());
  return bits;
}

[[noreturn]] void throw_missing(PyObject* error, const char* sentence, std::uint64_t query) {
  PyErr_SetString(
      error,
      (std::string(sentence) + " (query " + std::to_string(query) + "); give a default to get it instead.").c_str());
  throw nb::python_error();
}

constexpr std::uint64_t none_missing = std::numeric_limits<std::uint64_t>::max();
constexpr const char* no_key = "the index does not have this key";
constexpr const char* no_key_in_map = "the map does not have this key";
constexpr const char* no_bound = "a range without elements has no minimum and no maximum";

/// Keys of a call, with 0.0 for -0.0: the library orders -0.0 before 0.0, Python takes them as equal.
class key_batch {
 public:
  key_batch(const device_call& c, const data_type& type, address keys, std::size_t n) : data_(input(keys)) {
    if (!is_float(type) || n == 0) return;
    copy_ = c.room(n * type.width());
    device_kernels::without_negative_zeros(c.place(), type.kind, data_, n, copy_.data());
    data_ = copy_.data();
  }
  [[nodiscard]] const void* data() const { return data_; }

 private:
  const void* data_;
  raw_buffer copy_;
};

/// Fills what is missing, or returns the first query that is, or none_missing.
std::uint64_t settle_missing(const device_call& c, const data_type& type, const std::uint8_t* found, std::size_t n,
                             bool has_fallback, std::uint64_t bits, void* values) {
  if (has_fallback) {
    device_kernels::fill_missing(c.place(), type.width(), found, bits, n, values);
    return none_missing;
  }
  const std::uint64_t first = device_kernels::first_missing(c.place(), found, n);
  return first == n ? none_missing : first;
}

template <class Tree>
void find_in(const Tree& tree, const device& on, stream_uses& uses, const data_type& key, const data_type& value,
             address q, std::size_t n, address values, nb::handle fallback, address handle, const char* sentence) {
  const bool has_fallback = !fallback.is_none();
  const std::uint64_t bits = has_fallback ? bits_of(fallback, value) : 0;
  std::uint64_t missing = none_missing;
  {
    const unlocked_write released;
    const device_call c(on, handle);
    const key_batch keys(c, key, q, n);
    const auto found = c.scratch<std::uint8_t>(n);
    tree.find(keys.data(), n, output(values), found.data(), {}, c.run());
    missing = settle_missing(c, value, found.data(), n, has_fallback, bits, output(values));
    uses.note(c.order(), handle);
  }
  if (missing != none_missing) throw_missing(PyExc_KeyError, sentence, missing);
}

template <class Tree>
void contains_in(const Tree& tree, const device& on, stream_uses& uses, const data_type& key, address q, std::size_t n,
                 address found, address handle) {
  const unlocked_write released;
  const device_call c(on, handle);
  const key_batch keys(c, key, q, n);
  tree.find(keys.data(), n, nullptr, at_address<std::uint8_t>(found), {}, c.run());
  uses.note(c.order(), handle);
}

template <class Tree>
void count_in(const Tree& tree, const device& on, stream_uses& uses, const data_type& key, address lo, address hi,
              std::size_t n, interval ends, address counts, address handle) {
  const unlocked_write released;
  const device_call c(on, handle);
  const key_batch low(c, key, lo, n), high(c, key, hi, n);
  tree.count(low.data(), high.data(), n, {ends}, at_address<std::uint64_t>(counts), c.run());
  uses.note(c.order(), handle);
}

template <class Tree>
void aggregate_in(const Tree& tree, const device& on, stream_uses& uses, const data_type& key, const data_type& from,
                  aggregates kept, aggregate_op op, address lo, address hi, std::size_t n, interval ends,
                  address results, nb::handle fallback, address handle) {
  const data_type type = aggregate_type(from, kept, op);
  const bool is_bound = espalier::detail::is_bound(op);
  const bool has_fallback = is_bound && !fallback.is_none();
  const std::uint64_t bits = has_fallback ? bits_of(fallback, type) : 0;
  std::uint64_t missing = none_missing, too_large = n;
  {
    const unlocked_write released;
    const device_call c(on, handle);
    const key_batch low(c, key, lo, n), high(c, key, hi, n);
    if (espalier::detail::result_bytes(op, from.kind) == 16) {
      const auto wide = c.scratch<int128>(n);
      tree.aggregate(op, low.data(), high.data(), n, ends, wide.data(), nullptr, c.run());
      too_large = device_kernels::narrow_sums(c.place(), espalier::detail::is_signed(from.kind), wide.data(), n,
                                              output(results));
    } else {
      const auto found = c.scratch<std::uint8_t>(is_bound ? n : 0);
      tree.aggregate(op, low.data(), high.data(), n, ends, output(results), found.data(), c.run());
      if (is_bound) missing = settle_missing(c, type, found.data(), n, has_fallback, bits, output(results));
    }
    uses.note(c.order(), handle);
  }
  if (missing != none_missing) throw_missing(PyExc_ValueError, no_bound, missing);
  if (too_large != n) {
    throw overflow("sum: that of query " + std::to_string(too_large) + " does not fit 64 bits; ask for 128-bit sums.");
  }
}

}  // namespace

// ---- devices --------------------------------------------------------------------------------------------------------

const device& device_at(int ordinal) {
  // Kept for ever: objects of the interpreter may use them when static objects are gone.
  static std::mutex mutex;
  static auto* const all = new std::map<int, const device*>;
  if (ordinal < 0) return cpu();
  if (!has_cuda()) {
    throw nb::value_error(
        "this build of espalier has no GPU code: build the package with -C cmake.define.ESPALIER_PYTHON_CUDA=ON, or "
        "copy the arrays to the host.");
  }
  const std::lock_guard lock(mutex);
  const device*& found = (*all)[ordinal];
  if (found == nullptr) found = new device(device::cuda(ordinal));
  return *found;
}

stream stream_at(const device& on, address handle) {
  if (on.kind() == device_kind::cpu || handle <= 1) return on.default_stream();
  return on.wrap_stream(reinterpret_cast<void*>(handle));
}

void stream_uses::note(const stream& order, address handle) {
  if (handle <= 1) return;           // the default stream frees the memory in its own order
  constexpr address per_thread = 2;  // a stream of each thread
  const address key = handle == per_thread ? std::hash<std::thread::id>{}(std::this_thread::get_id()) : handle;
  const std::lock_guard lock(mutex_);
  stream_event& last = last_[key];
  // Does nothing, unless the caller's stream was destroyed and this is a new one with its handle.
  order.wait_for(last);
  last = order.mark();
}

void stream_uses::join(const device& on) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, mark] : last_) {
    try {
      on.default_stream().wait_for(mark);
    } catch (const error&) {  // only after an error that ended the GPU's context, and its memory
    }
  }
}

device_memory::device_memory(int ordinal, std::size_t bytes, address handle) {
  const device& on = device_at(ordinal);
  const unlocked_write released;
  memory_ = raw_buffer(on, bytes, on.default_stream());
  if (handle > 1) stream_at(on, handle).wait_for(on.default_stream().mark());
}

// ---- index ----------------------------------------------------------------------------------------------------------

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

// ---- map ------------------------------------------------------------------------------------------------------------

device_map::device_map(int ordinal, nb::handle key_example, address keys, std::size_t n, nb::handle value_example,
                       address values, address handle)
    : on_(device_at(ordinal)),
      key_(type_of_example(key_example)),
      value_(type_of_example(value_example)),
      has_values_(!value_example.is_none()) {
  const unlocked_write released;
  if (handle > 1) on_.default_stream().wait_for(stream_at(on_, handle).mark());
  const device_call c(on_, 0);
  const key_batch normal(c, key_, keys, n);
  const element_type types{key_.kind, has_values_ ? value_.kind : scalar_kind::opaque,
                           has_values_ ? value_.width() : 0u};
  tree_ = espalier::detail::build_blink_index(on_, types, {}, normal.data(), input(values), n, {}, c.order());
  c.order().synchronize();
}

device_map::~device_map() { uses_.join(on_); }

std::size_t device_map::size() const {
  const unlocked_write released;
  return tree_->size();
}

void device_map::write(write_op op, address keys, address values, std::size_t n, address done, address handle) {
  const unlocked_write released;
  const device_call c(on_, handle);
  const key_batch k(c, key_, keys, n);
  ++version_;
  tree_->write(op, k.data(), has_values_ && op != write_op::erase ? input(values) : nullptr, n,
               at_address<std::uint8_t>(done), {batch_semantics::ordered, write_path::automatic}, c.run());
  uses_.note(c.order(), handle);
  ++version_;
}

void device_map::apply(address ops, address keys, address values, std::size_t n, address found, address done,
                       address handle) {
  const unlocked_write released;
  const device_call c(on_, handle);
  const key_batch k(c, key_, keys, n);
  if (has_values_) on_.fill(output(found), 0, n * value_.width(), c.order());
  ++version_;
  tree_->apply(at_address<const std::uint8_t>(ops), k.data(), input(values), n, has_values_ ? output(found) : nullptr,
               at_address<std::uint8_t>(done), {batch_semantics::ordered, write_path::automatic}, c.run());
  uses_.note(c.order(), handle);
  ++version_;
}

void device_map::clear() {
  const unlocked_write released;
  ++version_;
  tree_->clear(on_.default_stream());
  ++version_;
}

void device_map::find(address q, std::size_t n, address values, nb::handle fallback, address handle) const {
  find_in(*tree_, on_, uses_, key_, value_, q, n, values, fallback, handle, no_key_in_map);
}

void device_map::contains(address q, std::size_t n, address found, address handle) const {
  contains_in(*tree_, on_, uses_, key_, q, n, found, handle);
}

void device_map::seek(seek_kind kind, address q, std::size_t n, address keys, address values, address found,
                      address handle) const {
  const unlocked_write released;
  const device_call c(on_, handle);
  const key_batch asked(c, key_, q, n);
  tree_->seek(kind, asked.data(), n, output(keys), has_values_ ? output(values) : nullptr,
              at_address<std::uint8_t>(found), c.run());
  uses_.note(c.order(), handle);
}

void device_map::count(address lo, address hi, std::size_t n, interval ends, address counts, address handle) const {
  count_in(*tree_, on_, uses_, key_, lo, hi, n, ends, counts, handle);
}

void device_map::aggregate(aggregate_op op, address lo, address hi, std::size_t n, interval ends, address results,
                           nb::handle fallback, address handle) const {
  aggregate_in(*tree_, on_, uses_, key_, has_values_ ? value_ : key_, aggregates::all, op, lo, hi, n, ends, results,
               fallback, handle);
}

std::uint64_t device_map::range(address lo, address hi, std::size_t n, interval ends, nb::handle limit, address offsets,
                                found_range& found, address handle) const {
  range_options options{ends};
  options.limit = parse_limit(limit);
  const unlocked_write released;
  const device_call c(on_, handle);
  const key_batch low(c, key_, lo, n), high(c, key_, hi, n);
  found.buffers = tree_->range(low.data(), high.data(), n, options, {c.order(), true});
  on_.copy(output(offsets), found.buffers.offsets.data(), (n + 1) * sizeof(std::uint64_t), c.order());
  uses_.note(c.order(), handle);
  return found.buffers.total;
}

void found_range::take(address keys, unsigned key_bytes, address values, unsigned value_bytes, address handle) {
  const unlocked_write released;
  const device_call c(on, handle);
  on.copy(output(keys), buffers.keys.data(), buffers.total * key_bytes, c.order());
  on.copy(output(values), buffers.values.data(), buffers.total * value_bytes, c.order());
  buffers = {};
}

std::uint64_t device_map::all(found_range& found) const {
  const unlocked_write released;
  const stream order = on_.default_stream();
  found.buffers = tree_->all(order);
  order.synchronize();
  return found.buffers.total;
}

nb::tuple device_map::parts() const {
  espalier::detail::range_buffers all;
  {
    const unlocked_write released;
    const stream order = on_.default_stream();
    all = tree_->all(order);
    order.synchronize();
  }
  const new_array keys = make_array(key_, all.total);
  new_array values;
  if (has_values_) values = make_array(value_, all.total);
  {
    const unlocked_write released;
    const stream order = on_.default_stream();
    on_.copy(keys.data, all.keys.data(), all.total * key_.width(), order);
    if (has_values_) on_.copy(values.data, all.values.data(), all.total * value_.width(), order);
    order.synchronize();
    all = {};
  }
  return nb::make_tuple(keys.array, has_values_ ? values.array : nb::none());
}

nb::dict device_map::stats() const {
  const blink_stats s = [&] {
    const unlocked_write released;
    return tree_->stats();
  }();
  nb::dict result;
  result["size"] = s.size;
  result["bytes"] = s.bytes;
  result["height"] = s.height;
  result["leaves"] = s.leaves;
  result["fill"] = s.fill;
  return result;
}

}  // namespace espalier::python
