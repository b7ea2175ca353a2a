// partition.cpp - a batch of words divided by sorted bounds, in their order: what the router of espalier.ray, or each
// owner for its own shards, does with every batch, and what NumPy takes five passes for.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "columns.hpp"
#include "join_columns.hpp"

namespace espalier::python {
namespace {

using words_in = nb::ndarray<nb::numpy, const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using flags_in = nb::ndarray<nb::numpy, const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using places_in = nb::ndarray<nb::numpy, const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// The number of bounds less than each key. No branch depends on a key: the searches of neighbours overlap. For many
/// keys, a table tells between which bounds the keys of a cell (the keys with the same leading bits) lie; most cells
/// have no bound inside, and one comparison is left.
class bound_search {
 public:
  bound_search(std::span<const std::uint64_t> bounds, std::size_t keys) : bounds_(bounds) {
    if (bounds.empty() || keys < 8 * cells) return;
    low_ = bounds.front();
    const std::uint64_t span = bounds.back() - low_;
    shift_ = static_cast<unsigned>(std::max(0, static_cast<int>(std::bit_width(span)) - cell_bits));
    first_.resize(cells + 1);
    std::size_t less = 0;
    for (std::size_t cell = 0; cell < cells; ++cell) {  // bounds in the cells before this one are less than its keys
      while (less < bounds.size() && (bounds[less] - low_) >> shift_ < cell) ++less;
      first_[cell] = static_cast<std::uint32_t>(less);
    }
    first_[cells] = static_cast<std::uint32_t>(bounds.size());
  }

  [[nodiscard]] std::uint32_t operator()(std::uint64_t key) const noexcept {
    if (first_.empty()) return less_than(key, 0, bounds_.size());
    const std::uint64_t cell = (key - low_) >> shift_;
    if (key <= low_) return 0;
    if (cell >= cells) return static_cast<std::uint32_t>(bounds_.size());
    return less_than(key, first_[cell], first_[cell + 1]);
  }

 private:
  static constexpr int cell_bits = 10;
  static constexpr std::size_t cells = std::size_t{1} << cell_bits;

  /// The number of bounds less than `key`, which is at least `begin` and at most `end`.
  [[nodiscard]] std::uint32_t less_than(std::uint64_t key, std::size_t begin, std::size_t end) const noexcept {
    const std::uint64_t* first = bounds_.data() + begin;
    std::size_t n = end - begin;
    if (n == 0) return static_cast<std::uint32_t>(begin);
    while (n > 1) {
      const std::size_t half = n / 2;
      first += half & (std::size_t{0} - static_cast<std::size_t>(first[half - 1] < key));
      n -= half;
    }
    return static_cast<std::uint32_t>(first - bounds_.data()) + (*first < key ? 1U : 0U);
  }

  std::span<const std::uint64_t> bounds_;
  std::uint64_t low_ = 0;
  unsigned shift_ = 0;
  std::vector<std::uint32_t> first_;  // of each cell: the bounds in cells before it; empty without a table
};

/// Writes the positions of the chosen keys of begin <= i < end, and returns their number.
template <class Chosen>
std::size_t positions_of(std::size_t begin, std::size_t end, std::uint32_t* positions, Chosen chosen) {
  std::size_t size = 0;
  for (std::size_t i = begin; i < end; ++i) {
    positions[size] = static_cast<std::uint32_t>(i);
    size += static_cast<std::size_t>(chosen(i));  // not a branch: random keys would mispredict it
  }
  return size;
}

constexpr std::size_t block_keys = 4096;  // stay in the cache of the core between two loops

/// (place, keys in the order of the groups, end of each group). Key i is in group g if g bounds are less than it, and
/// is at place[i]; keys of a group keep their order. Keys that are not valid come last.
nb::tuple partition_words(const words_in& keys, const nb::object& valid, const words_in& bounds) {
  const std::size_t n = keys.shape(0), groups = bounds.shape(0) + 1;
  if (n > std::numeric_limits<std::uint32_t>::max()) throw nb::value_error("a batch has at most 2^32 - 1 keys.");
  const bool* flags = nullptr;
  flags_in kept;
  if (!valid.is_none()) {
    kept = nb::cast<flags_in>(valid);
    if (kept.shape(0) != n) throw nb::value_error("keys and valid differ in their lengths.");
    flags = kept.data();
  }
  buffer<std::uint32_t> places(join_device(), n);
  buffer<std::uint64_t> sorted(join_device(), n);
  buffer<std::int64_t> ends(join_device(), groups);
  {
    const nb::gil_scoped_release unlocked;
    const bound_search search({bounds.data(), bounds.shape(0)}, n);
    const std::uint64_t* const in = keys.data();
    std::uint32_t* const place = places.data();
    std::vector<std::uint32_t> next(groups + 1);  // the last one: not valid
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t group = flags == nullptr || flags[i] ? search(in[i]) : static_cast<std::uint32_t>(groups);
      place[i] = group;
      ++next[group];
    }
    std::uint32_t begin = 0;
    for (std::size_t g = 0; g <= groups; ++g) {
      const std::uint32_t size = next[g];
      next[g] = begin;
      begin += size;
      if (g < groups) ends.data()[g] = begin;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t to = next[place[i]]++;
      place[i] = to;
      sorted.data()[to] = in[i];
    }
  }
  return nb::make_tuple(array_of(std::move(places)), array_of(std::move(sorted)), array_of(std::move(ends)));
}

/// flags[place[i]] for each i.
nb::ndarray<nb::numpy, bool, nb::ndim<1>> take_flags(const flags_in& flags, const places_in& places) {
  const std::size_t n = places.shape(0);
  for (std::size_t i = 0; i < n; ++i) {
    if (places.data()[i] >= flags.shape(0)) throw nb::index_error("a place is behind the flags.");
  }
  buffer<bool> taken(join_device(), n);
  {
    const nb::gil_scoped_release unlocked;
    for (std::size_t i = 0; i < n; ++i) taken.data()[i] = flags.data()[places.data()[i]];
  }
  return array_of(std::move(taken));
}

/// What partition_words() returns for the wanted groups alone, where place[i] is the position in the batch of the key
/// that is at i: each owner of shards takes its own keys from the whole batch. Words are compared after `flip` was
/// applied by exclusive or, which makes an order of unsigned words of signed ones.
nb::tuple select_words(const words_in& keys, const std::uint64_t flip, const nb::object& valid, const words_in& bounds,
                       const flags_in& wanted) {
  const std::size_t n = keys.shape(0), groups = bounds.shape(0);
  if (n > std::numeric_limits<std::uint32_t>::max()) throw nb::value_error("a batch has at most 2^32 - 1 keys.");
  if (wanted.shape(0) != groups) throw nb::value_error("bounds and wanted differ in their lengths.");
  const bool* flags = nullptr;
  flags_in kept;
  if (!valid.is_none()) {
    kept = nb::cast<flags_in>(valid);
    if (kept.shape(0) != n) throw nb::value_error("keys and valid differ in their lengths.");
    flags = kept.data();
  }
  const bool* const first = std::find(wanted.data(), wanted.data() + groups, true);
  const auto begin = static_cast<std::size_t>(first - wanted.data());
  std::size_t end = groups;
  while (end > begin && !wanted.data()[end - 1]) --end;
  // Wanted keys are greater than bounds[begin - 1] and at most bounds[end - 1].
  const bool is_empty = begin == end || (begin > 0 && bounds.data()[begin - 1] >= bounds.data()[end - 1]);
  const std::uint64_t low = is_empty || begin == 0 ? 0 : bounds.data()[begin - 1] + 1;
  const std::uint64_t span = is_empty ? 0 : bounds.data()[end - 1] - low;
  std::optional<buffer<std::uint32_t>> places;
  std::optional<buffer<std::uint64_t>> sorted;
  buffer<std::int64_t> ends(join_device(), groups);
  {
    const nb::gil_scoped_release unlocked;
    const std::uint64_t* const in = keys.data();
    buffer<std::uint32_t> found(join_device(), n);  // pages that are not written are not allocated
    std::uint32_t* const place = found.data();
    const auto is_mine = [&](std::size_t i) { return (in[i] ^ flip) - low <= span; };
    const std::size_t inner = is_empty ? 0 : end - begin;
    const bound_search search({bounds.data() + begin, inner == 0 ? 0 : inner - 1}, n);
    buffer<std::uint32_t> groups_found(join_device(), n);
    std::uint32_t* const group = groups_found.data();
    std::vector<std::uint32_t> next(inner + 1);
    std::size_t size = 0;
    for (std::size_t block = 0; block < n && !is_empty; block += block_keys) {
      const std::size_t stop = std::min(n, block + block_keys);
      const std::size_t known = size;
      size += flags == nullptr
                  ? positions_of(block, stop, place + known, is_mine)
                  : positions_of(block, stop, place + known, [&](std::size_t i) { return is_mine(i) & flags[i]; });
      for (std::size_t i = known; i < size; ++i) {
        const std::uint32_t g = search(in[place[i]] ^ flip);
        group[i] = first[g] ? g : static_cast<std::uint32_t>(inner);
        ++next[group[i]];
      }
    }
    std::uint32_t total = 0;
    for (std::size_t g = 0; g < groups; ++g) {
      if (g >= begin && g - begin < inner) {
        const std::uint32_t count = next[g - begin];
        next[g - begin] = total;
        total += count;
      }
      ends.data()[g] = total;
    }
    places.emplace(join_device(), total);
    sorted.emplace(join_device(), total);
    for (std::size_t i = 0; i < size; ++i) {
      if (group[i] == inner) continue;
      const std::uint32_t to = next[group[i]]++;
      places->data()[to] = place[i];
      sorted->data()[to] = in[place[i]] ^ flip;
    }
  }
  return nb::make_tuple(array_of(std::move(*places)), array_of(std::move(*sorted)), array_of(std::move(ends)));
}

/// Bits of a batch of n keys, the most significant one of a byte first: bit places[i] is flags[i], and others are 0.
nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>> place_bits(const flags_in& flags, const places_in& places,
                                                             const std::size_t n) {
  if (flags.shape(0) != places.shape(0)) throw nb::value_error("flags and places differ in their lengths.");
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < places.shape(0); ++i) most = std::max(most, places.data()[i]);
  if (places.shape(0) > 0 && most >= n) throw nb::index_error("a place is behind the batch.");
  buffer<std::uint8_t> bits(join_device(), (n + 7) / 8);
  {
    const nb::gil_scoped_release unlocked;
    std::fill_n(bits.data(), (n + 7) / 8, std::uint8_t{0});
    for (std::size_t i = 0; i < places.shape(0); ++i) {
      const std::uint32_t place = places.data()[i];
      const unsigned bit = flags.data()[i] ? 0x80U >> place % 8 : 0U;
      bits.data()[place / 8] = static_cast<std::uint8_t>(bits.data()[place / 8] | bit);
    }
  }
  return array_of(std::move(bits));
}

}  // namespace

void bind_partition(nb::module_& m) {
  m.def("partition_words", &partition_words, nb::arg("keys"), nb::arg("valid").none(), nb::arg("bounds"));
  m.def("select_words", &select_words, nb::arg("keys"), nb::arg("flip"), nb::arg("valid").none(), nb::arg("bounds"),
        nb::arg("wanted"));
  m.def("place_bits", &place_bits, nb::arg("flags"), nb::arg("places"), nb::arg("size"));
  m.def("take_flags", &take_flags, nb::arg("flags"), nb::arg("places"));
}

}  // namespace espalier::python
