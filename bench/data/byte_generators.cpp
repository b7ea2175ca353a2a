// byte_generators.cpp - data sets of plain bytes, and code that all data sets share; text_shapes.cpp has those of text.
#include "bench/data/byte_generators.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "bench/data/byte_shapes.hpp"
#include "bench/harness/options.hpp"

namespace espalier::bench {
namespace {

using namespace detail;

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// A stream of random numbers independent of the bijection of i, so that the bytes after a key do not depend on it.
constexpr std::uint64_t long_stream = 0x6c6f6e6773ull;

/// Returns the number of byte strings of a length, saturating.
constexpr std::uint64_t strings_of(unsigned length) { return length < 8 ? std::uint64_t{1} << (8 * length) : no_limit; }

// ---- uniform ------------------------------------------------------------------------------------------------

/// Below 8 bytes, keys are a Feistel permutation of all keys. From 8 bytes on, the first 8 bytes are random_bits(seed,
/// i), which is a sum and splitmix64's bijection; the remaining bytes are derived from them.
class uniform_shape final : public byte_shape {
 public:
  explicit uniform_shape(const byte_spec& spec)
      : length_(spec.key_length), seed_(spec.seed), order_(strings_of(spec.key_length), mix(spec.seed)) {}
  [[nodiscard]] std::uint64_t distinct() const override { return strings_of(length_); }
  void append(std::uint64_t i, std::string& to) const override {
    if (length_ < 8) return append_big_endian(order_(i), length_, to);
    const std::uint64_t first = random_bits(seed_, i);
    append_big_endian(first, 8, to);
    key_draws rest(first);
    append_random_bytes(rest, length_ - 8, to);
  }

 private:
  unsigned length_;
  std::uint64_t seed_;
  permutation order_;
};

// ---- sequential ---------------------------------------------------------------------------------------------

class sequential_shape final : public byte_shape {
 public:
  explicit sequential_shape(const byte_spec& spec) : length_(spec.key_length) {}
  [[nodiscard]] std::uint64_t distinct() const override { return strings_of(length_); }
  void append(std::uint64_t i, std::string& to) const override {
    if (length_ > 8) to.append(length_ - 8, '\0');
    append_big_endian(i, std::min(length_, 8u), to);
  }

 private:
  unsigned length_;
};

// ---- clusters -----------------------------------------------------------------------------------------------

/// Consecutive numbers are in different clusters; a cluster grows at its end.
class cluster_shape final : public byte_shape {
 public:
  static constexpr unsigned clusters = 1024, least_length = 5;
  explicit cluster_shape(const byte_spec& spec)
      : counter_(spec.key_length - 4), names_(std::uint64_t{1} << 32, mix(spec.seed)) {}
  [[nodiscard]] std::uint64_t distinct() const override {
    const std::uint64_t each = strings_of(counter_);
    return each > no_limit / clusters ? no_limit : clusters * each;
  }
  void append(std::uint64_t i, std::string& to) const override {
    append_big_endian(names_(i % clusters), 4, to);
    if (counter_ > 8) to.append(counter_ - 8, '\0');
    append_big_endian(i / clusters, std::min(counter_, 8u), to);
  }

 private:
  unsigned counter_;
  permutation names_;
};

// ---- uuids --------------------------------------------------------------------------------------------------

/// The first 64 of the 122 free bits are random_bits(seed, i), a bijection of i: 60 around the version and 4 after the
/// variant. The other 58 are derived from them.
class uuid_shape final : public byte_shape {
 public:
  explicit uuid_shape(const byte_spec& spec) : text_(spec.key_length == 36), seed_(spec.seed) {}
  [[nodiscard]] std::uint64_t distinct() const override { return no_limit; }
  void append(std::uint64_t i, std::string& to) const override {
    const std::uint64_t bits = random_bits(seed_, i);
    const std::uint64_t high = (bits & ~0xffffull) | 0x4000u | (bits >> 4 & 0xfffu);
    const std::uint64_t low = std::uint64_t{2} << 62 | (bits & 15) << 58 | mix(bits) >> 6;
    if (!text_) {
      append_big_endian(high, 8, to);
      append_big_endian(low, 8, to);
      return;
    }
    append_number<16>(high >> 32, 8, to);
    to += '-';
    append_number<16>(high >> 16, 4, to);
    to += '-';
    append_number<16>(high, 4, to);
    to += '-';
    append_number<16>(low >> 48, 4, to);
    to += '-';
    append_number<16>(low, 12, to);
  }

 private:
  bool text_;
  std::uint64_t seed_;
};

// ---- all together -------------------------------------------------------------------------------------------

void refuse_short(const byte_spec& spec, unsigned least) {
  if (spec.key_length == 0 || spec.key_length >= least) return;
  throw cli::bad_arguments(
      fmt::format("--key-length {} is too short for {}: give at least {}, or 0 for natural lengths.", spec.key_length,
                  name_of(spec.shape), least));
}

/// Returns the spec with its length filled in if it is known.
byte_spec checked(byte_spec spec) {
  if (!(spec.long_share >= 0 && spec.long_share <= 1)) {
    throw cli::bad_arguments(fmt::format("--long-share is '{}': give a number from 0 to 1.", spec.long_share));
  }
  if (spec.key_length > most_key_length) {
    throw cli::bad_arguments(
        fmt::format("--key-length {} is too long: give at most {}.", spec.key_length, most_key_length));
  }
  switch (spec.shape) {
    case byte_data::uniform:
    case byte_data::sequential:
      if (spec.key_length == 0) {
        throw cli::bad_arguments(
            fmt::format("--key-length 0 is not for {}: give a length of at least 1.", name_of(spec.shape)));
      }
      break;
    case byte_data::clusters:
      if (spec.key_length < cluster_shape::least_length) {
        throw cli::bad_arguments(fmt::format("--key-length {} is not for clusters: give a length of at least {}.",
                                             spec.key_length, cluster_shape::least_length));
      }
      break;
    case byte_data::uuids:
      if (spec.key_length == 0) spec.key_length = 16;
      if (spec.key_length != 16 && spec.key_length != 36) {
        throw cli::bad_arguments(
            fmt::format("--key-length {} is not for uuids: give 16 for bytes or 36 for text.", spec.key_length));
      }
      break;
    case byte_data::urls:
      refuse_short(spec, least_url_length);
      break;
    case byte_data::triples:
      refuse_short(spec, least_triple_length);
      break;
  }
  return spec;
}

std::shared_ptr<const byte_shape> shape_for(const byte_spec& spec) {
  switch (spec.shape) {
    case byte_data::uniform:
      return std::make_shared<uniform_shape>(spec);
    case byte_data::sequential:
      return std::make_shared<sequential_shape>(spec);
    case byte_data::clusters:
      return std::make_shared<cluster_shape>(spec);
    case byte_data::uuids:
      return std::make_shared<uuid_shape>(spec);
    case byte_data::urls:
      return make_url_shape(spec);
    case byte_data::triples:
      break;
  }
  return make_triple_shape(spec);
}

bool is_text(const byte_spec& spec) {
  return spec.shape == byte_data::urls || spec.shape == byte_data::triples ||
         (spec.shape == byte_data::uuids && spec.key_length == 36);
}

}  // namespace

byte_generator::byte_generator(const byte_spec& spec)
    : spec_(checked(spec)), shape_(shape_for(spec_)), distinct_(shape_->distinct()) {}

void byte_generator::append(std::uint64_t i, std::string& to) const {
  const std::size_t begin = to.size();
  shape_->append(i, to);
  if (spec_.long_share > 0) extend(i, begin, to);
}

std::string byte_generator::operator()(std::uint64_t i) const {
  std::string key;
  append(i, key);
  return key;
}

void byte_generator::extend(std::uint64_t i, std::size_t begin, std::string& to) const {
  key_draws draw(long_stream, spec_.seed, i);
  if (unit(draw.next()) >= spec_.long_share) return;
  const std::uint64_t length = to.size() - begin;
  const std::uint64_t least = std::max<std::uint64_t>(least_long_key, length + 1);
  if (least > most_long_key) return;
  const std::uint64_t more = least + draw.next_below(most_long_key - least + 1) - length;
  if (is_text(spec_)) {
    append_random_digits(draw, 36, more, to);
  } else {
    append_random_bytes(draw, more, to);
  }
}

byte_column make_byte_column(std::uint64_t n, std::size_t one_length,
                             const std::function<void(std::uint64_t i, std::string& to)>& append) {
  byte_column made;
  made.offsets.resize(n + 1);
  const auto for_each_key = [&](auto f) {
    tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, n, 1024), [&](const auto& part) {
      std::string text;
      for (std::uint64_t i = part.begin(); i != part.end(); ++i) {
        text.clear();
        append(i, text);
        f(i, text);
      }
    });
  };
  if (one_length != 0) {
    for (std::uint64_t i = 0; i <= n; ++i) made.offsets[i] = i * one_length;
  } else {
    for_each_key([&](std::uint64_t i, const std::string& key) { made.offsets[i + 1] = key.size(); });
    for (std::uint64_t i = 0; i < n; ++i) made.offsets[i + 1] += made.offsets[i];
  }
  made.bytes.resize(made.offsets[n]);
  for_each_key([&](std::uint64_t i, const std::string& key) {
    std::memcpy(made.bytes.data() + made.offsets[i], key.data(), key.size());
  });
  return made;
}

void require_keys(const byte_generator& keys, std::uint64_t first, std::uint64_t n) {
  if (first <= keys.distinct() && n <= keys.distinct() - first) return;
  throw cli::bad_arguments(fmt::format("--key-length {}: {} has only {} keys of this length: give fewer --keys.",
                                       keys.spec().key_length, name_of(keys.spec().shape), keys.distinct()));
}

byte_column make_byte_keys(const byte_generator& keys, std::uint64_t first, std::uint64_t n) {
  require_keys(keys, first, n);
  return make_byte_column(n, keys.one_length() ? keys.spec().key_length : 0,
                          [&](std::uint64_t i, std::string& to) { keys.append(first + i, to); });
}

}  // namespace espalier::bench
