// byte_generators.hpp - reproducible byte strings for the radix tree: key i is a pure function of (spec, i).
//
//   uniform     random bytes
//   sequential  a big-endian counter, aligned to the right
//   clusters    1,024 such counters, each behind four bytes of its own that are random
//   uuids       version 4: 16 raw bytes, or 36 characters of text
//   urls        https://www.host.tld/path/of/words/id.html: few popular hosts, many others
//   triples     terms of RDF data as in the Billion Triple Challenge: 80 % namespace and words, 10 % namespace and
//               number, 5 % literals, 5 % blank nodes. 32 bytes is the set that radix trees on GPUs were measured with.
//
// Keys of different i differ because each holds, at a place that can be told from the key alone, the image of i under
// a bijection. Moreover no key is the beginning of another: keys of a fixed length cannot be, and byte_generators.cpp
// says for natural lengths why they are not. Hence long_share may append any bytes to any key, and both still hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/cli_names.hpp"

namespace espalier::bench {

enum class byte_data : std::uint8_t { uniform, sequential, clusters, uuids, urls, triples };

inline constexpr std::array byte_data_names{
    named<byte_data>{"uniform", byte_data::uniform},   named<byte_data>{"sequential", byte_data::sequential},
    named<byte_data>{"clusters", byte_data::clusters}, named<byte_data>{"uuids", byte_data::uuids},
    named<byte_data>{"urls", byte_data::urls},         named<byte_data>{"triples", byte_data::triples},
};
[[nodiscard]] constexpr std::string_view name_of(byte_data d) { return name_in(byte_data_names, d); }

inline constexpr unsigned most_key_length = 65'535;
/// Where none is asked for: urls have their natural lengths.
[[nodiscard]] constexpr unsigned default_key_length(byte_data d) {
  return d == byte_data::urls ? 0 : d == byte_data::triples ? 32 : 16;
}
/// Lengths of keys that long_share picks; a key that is as long already grows to any length up to the latter.
inline constexpr unsigned least_long_key = 33;
inline constexpr unsigned most_long_key = 200;

struct byte_spec {
  byte_data shape = byte_data::uniform;
  unsigned key_length = 16;  ///< 0: natural lengths, for uuids, urls and triples
  std::uint64_t seed = 1;    ///< sequential keys have none
  double long_share = 0;     ///< share of keys that are made longer, from 0 to 1
};

namespace detail {
class byte_shape;
}

class byte_generator {
 public:
  /// Throws bad_arguments if the data set has no keys of this length.
  explicit byte_generator(const byte_spec& spec);

  /// With uuids' natural length filled in.
  [[nodiscard]] const byte_spec& spec() const noexcept { return spec_; }
  /// Number of keys there are; 2^64 - 1 for all above.
  [[nodiscard]] std::uint64_t distinct() const noexcept { return distinct_; }
  /// Key number i < distinct(), at the end of `to`.
  void append(std::uint64_t i, std::string& to) const;
  [[nodiscard]] std::string operator()(std::uint64_t i) const;
  /// Whether all keys have spec().key_length bytes.
  [[nodiscard]] bool one_length() const noexcept { return spec_.key_length != 0 && !(spec_.long_share > 0); }

 private:
  void extend(std::uint64_t i, std::size_t begin, std::string& to) const;

  byte_spec spec_;
  std::shared_ptr<const detail::byte_shape> shape_;
  std::uint64_t distinct_;
};

/// Keys one after another; key i ends where key i + 1 begins.
struct byte_column {
  std::vector<char> bytes;
  std::vector<std::uint64_t> offsets;  ///< one more than keys

  [[nodiscard]] std::size_t size() const noexcept { return offsets.empty() ? 0 : offsets.size() - 1; }
  [[nodiscard]] std::string_view operator[](std::size_t i) const noexcept {
    return {bytes.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
  }
};

/// n keys made in parallel: `append(i, to)` puts key i at the end of `to`, the same one whenever it is asked.
/// `one_length`: of every key, or 0 if that is not known.
[[nodiscard]] byte_column make_byte_column(std::uint64_t n, std::size_t one_length,
                                           const std::function<void(std::uint64_t i, std::string& to)>& append);

/// Throws bad_arguments if there are no keys first .. first + n - 1.
void require_keys(const byte_generator& keys, std::uint64_t first, std::uint64_t n);

/// Keys first .. first + n - 1. Throws bad_arguments if there are not so many.
[[nodiscard]] byte_column make_byte_keys(const byte_generator& keys, std::uint64_t first, std::uint64_t n);

}  // namespace espalier::bench
