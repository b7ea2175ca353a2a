// byte_generators_test.cpp - the radix tree's data: no key twice, none the beginning of another, lengths as asked for.
#include "bench/data/byte_generators.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/data/byte_generators.cpp"  // NOLINT: this executable has nothing of bench/ but headers
#include "bench/data/text_shapes.cpp"      // NOLINT
#include "support/less_work.hpp"

namespace espalier::bench {
namespace {

// This folder is compiled without optimization, which makes keys ten times as slow: many only where it takes many.
constexpr std::uint64_t many_byte_keys = 200'000 / test::less_work;
constexpr std::uint64_t some_byte_keys = 10'000;

const std::vector<byte_spec>& byte_specs() {
  static const std::vector<byte_spec> all{
      {byte_data::uniform, 1},     {byte_data::uniform, 3},  {byte_data::uniform, 7},   {byte_data::uniform, 8},
      {byte_data::uniform, 9},     {byte_data::uniform, 16}, {byte_data::uniform, 100}, {byte_data::sequential, 3},
      {byte_data::sequential, 16}, {byte_data::uuids, 16},   {byte_data::uuids, 36},    {byte_data::urls, 0},
      {byte_data::urls, 16},       {byte_data::urls, 32},    {byte_data::urls, 100},    {byte_data::triples, 0},
      {byte_data::triples, 28},    {byte_data::triples, 32}, {byte_data::clusters, 8},  {byte_data::clusters, 16},
  };
  return all;
}

std::string words_for(const byte_spec& spec) {
  return std::string(name_of(spec.shape)) + " " + std::to_string(spec.key_length) + " seed " +
         std::to_string(spec.seed) + " long " + std::to_string(spec.long_share);
}

byte_column some_of(const byte_spec& spec, std::uint64_t first = 0, std::uint64_t most = some_byte_keys) {
  const byte_generator keys(spec);
  return make_byte_keys(keys, first, std::min(most, keys.distinct() - first));
}

/// In sorted order a key that begins others stands right before one of them, and a repeated key beside its twin.
void expect_none_begins_another(const byte_column& keys, const std::string& what) {
  std::vector<std::string_view> sorted;
  for (std::size_t i = 0; i < keys.size(); ++i) sorted.push_back(keys[i]);
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    ASSERT_FALSE(sorted[i].starts_with(sorted[i - 1])) << what << ": " << sorted[i - 1] << " and " << sorted[i];
  }
}

void expect_refusal(const byte_spec& spec, std::string_view part) {
  try {
    const byte_generator keys(spec);
    ADD_FAILURE() << words_for(spec) << " was accepted";
  } catch (const cli::bad_arguments& e) {
    EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos) << e.what();
  }
}

std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

TEST(byte_keys, no_key_comes_twice) {
  for (const byte_spec& spec : byte_specs()) {
    const byte_column keys = some_of(spec, 0, many_byte_keys);
    std::vector<std::size_t> hashes;  // that differ only if the keys do, and sort faster
    for (std::size_t i = 0; i < keys.size(); ++i) hashes.push_back(std::hash<std::string_view>()(keys[i]));
    std::sort(hashes.begin(), hashes.end());
    EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end()) << words_for(spec);
  }
}

TEST(byte_keys, no_key_begins_another) {
  for (const byte_data shape : {byte_data::urls, byte_data::triples}) {
    const byte_spec natural{shape, 0};
    expect_none_begins_another(some_of(natural, 0, many_byte_keys / 4), words_for(natural));
  }
  for (byte_spec spec : byte_specs()) {
    spec.long_share = 0.3;
    spec.seed = 77;
    expect_none_begins_another(some_of(spec), words_for(spec));
  }
}

TEST(byte_keys, the_last_ones_are_as_distinct_as_the_first) {
  for (const byte_spec& spec : byte_specs()) {
    const std::uint64_t all = byte_generator(spec).distinct(), n = std::min(all / 2, some_byte_keys / 2);
    const byte_column head = some_of(spec, 0, n), tail = some_of(spec, all - n, n);
    byte_column both = head;
    both.bytes.insert(both.bytes.end(), tail.bytes.begin(), tail.bytes.end());
    for (std::size_t i = 1; i <= n; ++i) both.offsets.push_back(head.bytes.size() + tail.offsets[i]);
    expect_none_begins_another(both, words_for(spec));
  }
}

TEST(byte_keys, short_ones_are_all_there) {
  for (const byte_data shape : {byte_data::uniform, byte_data::sequential}) {
    EXPECT_EQ(byte_generator({shape, 1}).distinct(), 256u);
    EXPECT_EQ(byte_generator({shape, 2}).distinct(), 65'536u);
    EXPECT_EQ(byte_generator({shape, 7}).distinct(), std::uint64_t{1} << 56);
    EXPECT_EQ(byte_generator({shape, 8}).distinct(), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(some_of({shape, 2}, 0, 65'536).size(), 65'536u);
    EXPECT_THROW((void)make_byte_keys(byte_generator({shape, 2}), 0, 65'537), cli::bad_arguments);
    EXPECT_THROW((void)make_byte_keys(byte_generator({shape, 2}), 65'537, 0), cli::bad_arguments);
  }
}

TEST(byte_keys, have_exactly_the_length_asked_for) {
  for (const byte_spec& spec : byte_specs()) {
    if (spec.key_length == 0) continue;
    const byte_column keys = some_of(spec);
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(keys[i].size(), spec.key_length) << words_for(spec);
  }
  for (unsigned length = 28; length < 70; ++length) {
    for (const byte_data shape : {byte_data::urls, byte_data::triples}) {
      const byte_generator keys({shape, length});
      for (std::uint64_t i = 0; i < 300; ++i) ASSERT_EQ(keys(i).size(), length) << words_for(keys.spec());
    }
  }
}

TEST(byte_keys, natural_lengths_vary_within_their_limits) {
  const auto expect_between = [](byte_data shape, std::size_t least, std::size_t most) {
    const byte_column keys = some_of({shape, 0}, 0, 50'000);
    std::map<std::size_t, std::size_t> lengths;
    for (std::size_t i = 0; i < keys.size(); ++i) ++lengths[keys[i].size()];
    EXPECT_GE(lengths.begin()->first, least);
    EXPECT_LE(lengths.rbegin()->first, most);
    EXPECT_GT(lengths.size(), 40u);
  };
  expect_between(byte_data::urls, 20, 120);
  expect_between(byte_data::triples, 10, 150);
}

TEST(byte_keys, follow_from_spec_and_number_alone) {
  for (byte_spec spec : byte_specs()) {
    spec.long_share = 0.1;
    const byte_column all = some_of(spec, 0, 1000);
    const byte_generator again(spec);
    std::string text = "kept";
    for (std::size_t i = all.size(); i-- > 0;) {
      ASSERT_EQ(again(i), all[i]) << words_for(spec);
      text.resize(4);
      again.append(i, text);
      ASSERT_EQ(text, "kept" + std::string(all[i]));
    }
    const byte_column part = some_of(spec, 200, 50);
    for (std::size_t i = 0; i < 50; ++i) ASSERT_EQ(part[i], all[200 + i]) << words_for(spec);
  }
}

TEST(byte_keys, another_seed_gives_other_keys) {
  for (byte_spec spec : byte_specs()) {
    if (spec.shape == byte_data::sequential) continue;
    const byte_column one = some_of(spec, 0, 100);
    spec.seed = 2;
    EXPECT_NE(one.bytes, some_of(spec, 0, 100).bytes) << words_for(spec);
  }
}

TEST(byte_keys, are_the_same_with_one_thread_and_with_all) {
  for (byte_spec spec : byte_specs()) {
    spec.long_share = 0.05;
    const byte_column parallel = some_of(spec, 3);
    const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
    const byte_column serial = some_of(spec, 3);
    EXPECT_EQ(parallel.offsets, serial.offsets) << words_for(spec);
    EXPECT_EQ(parallel.bytes, serial.bytes) << words_for(spec);
  }
}

TEST(byte_keys, none_are_a_column_too) {
  EXPECT_EQ(byte_column().size(), 0u);
  for (const byte_spec& spec : byte_specs()) EXPECT_EQ(some_of(spec, 1, 0).size(), 0u);
}

TEST(byte_keys, long_ones_have_their_share_and_keep_their_beginning) {
  for (byte_spec spec : byte_specs()) {
    const byte_column plain = some_of(spec);
    for (const double share : {0.03, 1.0}) {
      spec.long_share = share;
      const byte_column keys = some_of(spec);
      std::size_t longer = 0;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_TRUE(keys[i].starts_with(plain[i]));
        if (keys[i].size() == plain[i].size()) continue;
        ++longer;
        ASSERT_GE(keys[i].size(), 33u);
        ASSERT_LE(keys[i].size(), 200u);
      }
      if (keys.size() < some_byte_keys) continue;
      const double n = static_cast<double>(keys.size());
      EXPECT_NEAR(static_cast<double>(longer) / n, share, share == 1 ? 0 : 1 / std::sqrt(n)) << words_for(spec);
    }
  }
}

TEST(byte_keys, longer_than_long_ones_stay_as_they_are) {
  for (const byte_data shape : {byte_data::uniform, byte_data::urls, byte_data::triples}) {
    const byte_generator keys({shape, 200, 1, 1.0});
    for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(keys(i).size(), 200u);
  }
}

TEST(byte_keys, uniform_bytes_are_evenly_spread_at_every_place) {
  for (const unsigned length : {3u, 5u, 8u, 20u}) {
    const byte_column keys = some_of({byte_data::uniform, length}, 0, many_byte_keys / 4);
    for (unsigned place_in_key = 0; place_in_key < length; ++place_in_key) {
      std::vector<std::size_t> seen(16);
      for (std::size_t i = 0; i < keys.size(); ++i) ++seen[static_cast<unsigned char>(keys[i][place_in_key]) >> 4];
      const double wanted = static_cast<double>(keys.size()) / 16;
      for (const std::size_t count : seen) {
        EXPECT_NEAR(static_cast<double>(count), wanted, 6 * std::sqrt(wanted)) << length << " " << place_in_key;
      }
    }
  }
}

TEST(byte_keys, sequential_ones_count_in_big_endian) {
  using namespace std::string_view_literals;
  EXPECT_EQ(byte_generator({byte_data::sequential, 3})(0x123456), "\x12\x34\x56"sv);
  EXPECT_EQ(byte_generator({byte_data::sequential, 1})(255), "\xff"sv);
  EXPECT_EQ(byte_generator({byte_data::sequential, 10})(0x0102030405060708), "\0\0\1\2\3\4\5\6\7\10"sv);
  const byte_column keys = some_of({byte_data::sequential, 16});
  for (std::size_t i = 1; i < keys.size(); ++i) ASSERT_LT(keys[i - 1], keys[i]);
}

TEST(byte_keys, uuids_have_version_and_variant_and_their_text_is_their_bytes) {
  const byte_column raw = some_of({byte_data::uuids, 16}, 0, 20'000), text = some_of({byte_data::uuids, 36}, 0, 20'000);
  std::map<char, std::size_t> variants;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    ASSERT_EQ(static_cast<unsigned char>(raw[i][6]) >> 4, 4u);
    ASSERT_EQ(static_cast<unsigned char>(raw[i][8]) >> 6, 2u);
    std::string dashed = hex_of(raw[i]);
    for (const std::size_t at : {8u, 13u, 18u, 23u}) dashed.insert(at, "-");
    ASSERT_EQ(text[i], dashed);
    ++variants[text[i][19]];
  }
  EXPECT_EQ(variants.size(), 4u);
  for (const char c : {'8', '9', 'a', 'b'}) EXPECT_GT(variants[c], 4000u) << c;
  EXPECT_EQ(byte_generator({byte_data::uuids, 0})(5), raw[5]);
}

TEST(byte_keys, all_bits_of_uuids_but_six_are_random) {
  const byte_column raw = some_of({byte_data::uuids, 16}, 0, 20'000);
  std::size_t fixed = 0;
  for (std::size_t bit = 0; bit < 128; ++bit) {
    std::size_t ones = 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      ones += static_cast<unsigned char>(raw[i][bit / 8]) >> (7 - bit % 8) & 1u;
    }
    if (ones == 0 || ones == raw.size()) {
      ++fixed;
    } else {
      EXPECT_NEAR(static_cast<double>(ones), 10'000, 500) << bit;
    }
  }
  EXPECT_EQ(fixed, 6u);
}

TEST(byte_keys, urls_have_hosts_of_which_few_are_popular) {
  const byte_column keys = some_of({byte_data::urls, 0}, 0, 50'000);
  std::map<std::string_view, std::size_t> hosts;
  std::size_t pages = 0, numbered = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(keys[i].starts_with("https://"));
    const std::string_view rest = keys[i].substr(8), host = rest.substr(0, rest.find('/'));
    ASSERT_NE(host.find('.'), std::string_view::npos) << keys[i];
    const auto slashes = std::count(rest.begin(), rest.end(), '/');
    ASSERT_TRUE(slashes >= 2 && slashes <= 5) << keys[i];
    const std::string_view id = rest.substr(rest.rfind('/') + 1);
    ASSERT_GE(id.size(), 8u) << keys[i];
    for (const char c : id.substr(0, 8)) ASSERT_TRUE(std::isdigit(c) || std::islower(c)) << keys[i];
    pages += id.ends_with(".html");
    numbered += id.substr(8).starts_with("?page=");
    ASSERT_TRUE(id.size() == 8 || id[8] == '.' || id[8] == '?') << keys[i];
    ++hosts[host];
  }
  std::vector<std::size_t> counts;
  for (const auto& [host, count] : hosts) counts.push_back(count);
  std::sort(counts.rbegin(), counts.rend());
  const double n = static_cast<double>(keys.size());
  EXPECT_GT(hosts.size(), 3000u);
  EXPECT_GT(static_cast<double>(counts[0]) / n, 0.08);  // 1 / zeta(4096) is 0.11
  EXPECT_LT(static_cast<double>(counts[0]) / n, 0.16);
  EXPECT_NEAR(static_cast<double>(pages) / n, 0.3, 0.01);
  EXPECT_NEAR(static_cast<double>(numbered) / n, 0.2, 0.01);
}

TEST(byte_keys, triples_have_their_kinds_of_terms) {
  for (const unsigned length : {0u, 32u}) {
    const byte_column keys = some_of({byte_data::triples, length}, 0, 50'000);
    std::size_t blank = 0, literal = 0, numeric = 0, named_by_words = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::string_view key = keys[i];
      if (key.starts_with("_:b")) {
        ++blank;
        ASSERT_EQ(key.find_first_not_of("0123456789abcdef", 3), std::string_view::npos) << key;
      } else if (key.front() == '"') {
        ++literal;
        ASSERT_TRUE(key.ends_with("\"") || key.ends_with("\"@en")) << key;
      } else {
        ASSERT_TRUE(key.starts_with("http://")) << key;
        const std::size_t digits = key.size() - 1 - key.find_last_not_of("0123456789");
        (digits >= 11 ? numeric : named_by_words) += 1;
      }
    }
    const double n = static_cast<double>(keys.size());
    EXPECT_NEAR(static_cast<double>(blank) / n, 0.05, 0.005);
    EXPECT_NEAR(static_cast<double>(literal) / n, 0.05, 0.005);
    EXPECT_NEAR(static_cast<double>(numeric) / n, 0.10, 0.005);
    EXPECT_NEAR(static_cast<double>(named_by_words) / n, 0.80, 0.01);
  }
}

TEST(byte_keys, impossible_lengths_are_refused_with_a_way_out) {
  expect_refusal({byte_data::uniform, 0}, "at least 1");
  expect_refusal({byte_data::sequential, 0}, "at least 1");
  expect_refusal({byte_data::clusters, 4}, "at least 5");
  expect_refusal({byte_data::uniform, 65'536}, "at most 65535");
  for (const unsigned length : {1u, 15u, 17u, 32u, 35u, 37u})
    expect_refusal({byte_data::uuids, length}, "16 for bytes");
  for (const unsigned length : {1u, 15u}) expect_refusal({byte_data::urls, length}, "at least 16, or 0");
  for (const unsigned length : {1u, 27u}) expect_refusal({byte_data::triples, length}, "at least 28, or 0");
  for (const double share : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    expect_refusal({byte_data::uniform, 16, 1, share}, "from 0 to 1");
  }
}

TEST(byte_keys, data_sets_have_names_both_ways) {
  for (const auto& entry : byte_data_names) {
    EXPECT_EQ(name_of(entry.value), entry.name);
    EXPECT_EQ(from_name(byte_data_names, entry.name), entry.value);
  }
  EXPECT_EQ(from_name(byte_data_names, "nonsense"), std::nullopt);
  EXPECT_EQ(choices(byte_data_names), "uniform, sequential, clusters, uuids, urls, triples");
}

}  // namespace
}  // namespace espalier::bench
