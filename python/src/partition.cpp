// partition.cpp - a batch of words divided by sorted bounds, in their order: what the router of espalier.ray does with
// every batch, and what NumPy takes five passes for.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "columns.hpp"
#include "join_columns.hpp"

namespace espalier::python {
namespace {

using words_in = nb::ndarray<nb::numpy, const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using flags_in = nb::ndarray<nb::numpy, const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using places_in = nb::ndarray<nb::numpy, const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// The number of bounds less than each key. No branch depends on a key: the searches of neighbours overlap.
class bound_search {
 public:
  explicit bound_search(std::span<const std::uint64_t> bounds) : bounds_(bounds) {}

  [[nodiscard]] std::uint32_t operator()(std::uint64_t key) const noexcept {
    const std::uint64_t* first = bounds_.data();
    std::size_t n = bounds_.size();
    if (n == 0) return 0;
    while (n > 1) {
      const std::size_t half = n / 2;
      first += half & (std::size_t{0} - static_cast<std::size_t>(first[half - 1] < key));
      n -= half;
    }
    return static_cast<std::uint32_t>(first - bounds_.data()) + (*first < key ? 1U : 0U);
  }

 private:
  std::span<const std::uint64_t> bounds_;
};

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
    const bound_search search({bounds.data(), bounds.shape(0)});
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

}  // namespace

void bind_partition(nb::module_& m) {
  m.def("partition_words", &partition_words, nb::arg("keys"), nb::arg("valid").none(), nb::arg("bounds"));
  m.def("take_flags", &take_flags, nb::arg("flags"), nb::arg("places"));
}

}  // namespace espalier::python
