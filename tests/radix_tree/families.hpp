// families.hpp - sets of byte strings that are hard for a radix tree, each in its way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/families.hpp"

namespace espalier::test {

using strings = std::vector<std::string>;

enum class byte_family : std::uint8_t {
  random_lengths,  // 0 to 40 random bytes
  fixed8,
  fixed16,
  fixed32,
  few_bytes,  // long keys over three symbols, zero among them: deep, one the beginning of another
  urls,
  uuids,
  sequential,
  common_prefix,  // 1,000 bytes that all keys begin with
  one_byte,       // all of them, and the empty key
  two_bytes,
  chain,      // a, aa, aaa, ...
  widening,   // nodes with 1, 2, ..., 256 children, with and without a key that ends there
  long_keys,  // around the longest leaf and far beyond
};
inline constexpr byte_family all_byte_families[] = {
    byte_family::random_lengths, byte_family::fixed8,   byte_family::fixed16,   byte_family::fixed32,
    byte_family::few_bytes,      byte_family::urls,     byte_family::uuids,     byte_family::sequential,
    byte_family::common_prefix,  byte_family::one_byte, byte_family::two_bytes, byte_family::chain,
    byte_family::widening,       byte_family::long_keys};

inline const char* to_string(byte_family f) {
  static constexpr const char* names[] = {"random_lengths", "fixed8", "fixed16",    "fixed32",       "few_bytes",
                                          "urls",           "uuids",  "sequential", "common_prefix", "one_byte",
                                          "two_bytes",      "chain",  "widening",   "long_keys"};
  return names[static_cast<unsigned>(f)];
}

inline std::string random_bytes(random_words& random, std::size_t n, unsigned symbols = 256) {
  std::string s(n, '\0');
  for (char& c : s) c = static_cast<char>(random.below(symbols));
  return s;
}

/// About n keys in any order, some of them twice.
[[nodiscard]] inline strings byte_keys_of(byte_family f, std::size_t n, std::uint64_t seed = 1) {
  random_words random(seed + 77 * static_cast<unsigned>(f));
  strings keys;
  const auto number = [](std::uint64_t x, unsigned bytes) {
    std::string s(bytes, '\0');
    for (unsigned i = 0; i < bytes; ++i) s[bytes - 1 - i] = static_cast<char>(i < 8 ? x >> (8 * i) & 0xff : 0);
    return s;
  };
  switch (f) {
    case byte_family::random_lengths:
      for (std::size_t i = 0; i < n; ++i) keys.push_back(random_bytes(random, random.below(41)));
      break;
    case byte_family::fixed8:
    case byte_family::fixed16:
    case byte_family::fixed32:
      for (std::size_t i = 0; i < n; ++i)
        keys.push_back(random_bytes(random, f == byte_family::fixed8 ? 8 : f == byte_family::fixed16 ? 16 : 32));
      break;
    case byte_family::few_bytes:
      for (std::size_t i = 0; i < n; ++i) {
        std::string s = random_bytes(random, random.below(24), 3);
        for (char& c : s) c = c == 2 ? '\xff' : c;
        keys.push_back(s);
      }
      break;
    case byte_family::urls:
      for (std::size_t i = 0; i < n; ++i) {
        keys.push_back("https://" + std::string(random.below(2) == 0 ? "www." : "") + "host" +
                       std::to_string(random.below(30)) + ".example/" + (random.below(3) == 0 ? "articles/" : "") +
                       std::to_string(random.below(10 * n)));
      }
      break;
    case byte_family::uuids:
      for (std::size_t i = 0; i < n; ++i) {
        std::string s = random_bytes(random, 16);
        s[6] = static_cast<char>((s[6] & 0x0f) | 0x40);
        s[8] = static_cast<char>((s[8] & 0x3f) | 0x80);
        keys.push_back(s);
      }
      break;
    case byte_family::sequential:
      for (std::size_t i = 0; i < n; ++i) keys.push_back(number(i, 12));
      break;
    case byte_family::common_prefix: {
      const std::string prefix = random_bytes(random, 1000);
      for (std::size_t i = 0; i < n / 4 + 2; ++i) keys.push_back(prefix + random_bytes(random, random.below(4)));
      break;
    }
    case byte_family::one_byte:
      keys.emplace_back();
      for (unsigned b = 0; b < 256; ++b) keys.push_back(std::string(1, static_cast<char>(b)));
      break;
    case byte_family::two_bytes:
      for (unsigned b = 0; b < 65536; b += n < 5000 ? 97 : 1) keys.push_back(number(b, 2));
      break;
    case byte_family::chain:
      for (std::size_t i = 0; i < n && i < 300; ++i) keys.push_back(std::string(i, 'a'));
      break;
    case byte_family::widening:
      for (unsigned children = 1; children <= 256; children += children < 20                    ? 1
                                                               : children < 45 || children > 50 ? 9
                                                                                                : 1) {
        const std::string start = "node" + number(children, 2);
        if (children % 2 == 0) keys.push_back(start);
        for (unsigned c = 0; c < children; ++c)
          keys.push_back(start + static_cast<char>(255 * c / (children == 1 ? 1 : children - 1)) +
                         random_bytes(random, c % 3));
      }
      break;
    case byte_family::long_keys:
      for (std::size_t i = 0; i < n / 4 + 1; ++i) {
        const std::string s = random_bytes(random, 30 + random.below(6), 2);
        keys.push_back(s + random_bytes(random, random.below(3) == 0 ? random.below(300) : 0));
      }
      break;
  }
  shuffle(keys, random);
  for (std::size_t i = 0; i < keys.size() / 10; ++i) keys.push_back(keys[random.below(keys.size())]);
  return keys;
}

/// Keys of the set, and keys near them: cut, extended, changed in one byte.
[[nodiscard]] inline strings questions_about(const strings& keys, std::size_t n, std::uint64_t seed = 9) {
  random_words random(seed);
  strings out{"", std::string(1, '\0'), std::string(1, '\xff'), std::string(40, '\xff'), std::string(1100, 'a')};
  while (out.size() < n) {
    std::string s = keys.empty() ? random_bytes(random, random.below(20)) : keys[random.below(keys.size())];
    switch (random.below(6)) {
      case 0:
        s.resize(random.below(s.size() + 1));
        break;
      case 1:
        s += random_bytes(random, 1 + random.below(3), 3);
        break;
      case 2:
        if (!s.empty()) s[random.below(s.size())] = static_cast<char>(random.below(256));
        break;
      case 3:
        s = random_bytes(random, random.below(36));
        break;
      default:
        break;
    }
    out.push_back(s);
  }
  return out;
}

}  // namespace espalier::test
