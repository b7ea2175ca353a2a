// byte_generators.hpp - reproducible byte strings for the radix tree: key i is a pure function of (spec, i).
//
//   uniform     random bytes
//   sequential  a big-endian counter, right-aligned
//   clusters    1,024 such counters, each with its own prefix of four random bytes
//   uuids       version 4: 16 raw bytes, or 36 characters of text
//   urls        https://www.host.tld/path/of/words/id.html: few popular hosts, many others
//   triples     terms of RDF data as in the Billion Triple Challenge: 80 % namespace and words, 10 % namespace and
//               number, 5 % literals, 5 % blank nodes. Radix trees on GPUs were measured with the set of 32 bytes.
//
// Keys of different i differ because each contains, at a position that the key determines, the image of i under a
// bijection. Moreover, no key is a prefix of another: keys of a fixed length cannot be, and byte_generators.cpp states
// for natural lengths why they are not. Hence long_share may append any bytes to any key, and both properties still
// hold.
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
/// Returns the default length; urls have their natural lengths.
[[nodiscard]] constexpr unsigned default_key_length(byte_data d) {
  return d == byte_data::urls ? 0 : d == byte_data::triples ? 32 : 16;
}
/// The lengths of keys that long_share selects; a key that is already as long grows to any length up to the latter.
inline constexpr unsigned least_long_key = 33;
inline constexpr unsigned most_long_key = 200;

struct byte_spec {
  byte_data shape = byte_data::uniform;
  unsigned key_length = 16;  ///< 0 means natural lengths, for uuids, urls and triples
  std::uint64_t seed = 1;    ///< not used for sequential keys
  double long_share = 0;     ///< share of keys that are extended, from 0 to 1
};

namespace detail {
class byte_shape;
}

class byte_generator {
 public:
  /// Throws bad_arguments if the data set does not support this length.
  explicit byte_generator(const byte_spec& spec);

  /// The natural length of uuids is filled in.
  [[nodiscard]] const byte_spec& spec() const noexcept { return spec_; }
  /// Returns the number of distinct keys, saturating at 2^64 - 1.
  [[nodiscard]] std::uint64_t distinct() const noexcept { return distinct_; }
  /// Appends key number i < distinct() to `to`.
  void append(std::uint64_t i, std::string& to) const;
  [[nodiscard]] std::string operator()(std::uint64_t i) const;
  /// Returns whether all keys have spec().key_length bytes.
  [[nodiscard]] bool one_length() const noexcept { return spec_.key_length != 0 && !(spec_.long_share > 0); }

 private:
  void extend(std::uint64_t i, std::size_t begin, std::string& to) const;

  byte_spec spec_;
  std::shared_ptr<const detail::byte_shape> shape_;
  std::uint64_t distinct_;
};

/// Contiguous keys; key i ends where key i + 1 starts.
struct byte_column {
  std::vector<char> bytes;
  std::vector<std::uint64_t> offsets;  ///< one more than keys

  [[nodiscard]] std::size_t size() const noexcept { return offsets.empty() ? 0 : offsets.size() - 1; }
  [[nodiscard]] std::string_view operator[](std::size_t i) const noexcept {
    return {bytes.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
  }
};

/// Generates n keys in parallel: `append(i, to)` appends key i to `to` and is deterministic. `one_length` is the length
/// of every key, or 0 if lengths differ.
[[nodiscard]] byte_column make_byte_column(std::uint64_t n, std::size_t one_length,
                                           const std::function<void(std::uint64_t i, std::string& to)>& append);

/// Throws bad_arguments if keys first .. first + n - 1 do not exist.
void require_keys(const byte_generator& keys, std::uint64_t first, std::uint64_t n);

/// Returns keys first .. first + n - 1. Throws bad_arguments if they do not exist.
[[nodiscard]] byte_column make_byte_keys(const byte_generator& keys, std::uint64_t first, std::uint64_t n);

}  // namespace espalier::bench
