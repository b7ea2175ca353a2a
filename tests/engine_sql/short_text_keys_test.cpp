// short_text_keys_test.cpp - groups by several columns of short texts: their codes are packed into one word where they
// fit, and numbered where they do not.
#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/keys/groups.hpp"
#include "engine/keys/key_packer.hpp"
#include "engine/keys/normalized_keys.hpp"

namespace espalier::engine {
namespace {

using short_texts = std::vector<std::optional<std::string>>;

short_texts random_texts(std::size_t rows, std::size_t longest, bool nulls, unsigned seed) {
  std::mt19937_64 random(seed);
  short_texts out(rows);
  for (auto& text : out) {
    if (nulls && random() % 9 == 0) continue;
    text = std::string(random() % (longest + 1), 'a');
    for (auto& c : *text) c = "ab\0z"[random() % 4];
  }
  return out;
}

std::shared_ptr<arrow::ChunkedArray> short_text_column(const short_texts& texts) {
  arrow::ArrayVector chunks;
  for (std::size_t begin = 0; begin < texts.size(); begin += 300) {
    arrow::StringBuilder builder;
    for (auto i = begin; i < std::min(begin + 300, texts.size()); ++i) {
      EXPECT_TRUE((texts[i] ? builder.Append(*texts[i]) : builder.AppendNull()).ok());
    }
    chunks.push_back(builder.Finish().ValueOrDie());
  }
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), arrow::utf8());
}

TEST(ShortTextKeys, SeveralPackIntoOneWord) {
  const auto packs = [](const std::vector<std::size_t>& lengths) {
    std::vector<sort_key_column> codes;
    for (const auto longest : lengths) {
      codes.push_back(group_codes(*short_text_column(random_texts(1000, longest, true, 1))));
    }
    return key_packer::plan(pointers_to(codes), 1000, true).has_value();
  };
  EXPECT_TRUE(packs({7}));
  EXPECT_TRUE(packs({3, 3}));
  EXPECT_TRUE(packs({1, 2, 2}));
  EXPECT_TRUE(packs({1, 1, 1, 1}));
  EXPECT_FALSE(packs({7, 7}));  // is numbered first
}

TEST(ShortTextKeys, GroupsAreThoseOfAMap) {
  for (const bool nulls : {false, true}) {
    for (const std::vector<std::size_t>& lengths :
         {std::vector<std::size_t>{3}, {0, 3}, {3, 3}, {7, 7}, {2, 7, 1}, {7, 7, 7}, {8, 7}, {9, 3, 9}}) {
      constexpr std::size_t rows = 2000;
      std::vector<sort_key_column> codes;
      std::vector<std::string> keys(rows);
      for (std::size_t c = 0; c < lengths.size(); ++c) {
        const auto texts = random_texts(rows, lengths[c], nulls, static_cast<unsigned>(c));
        codes.push_back(group_codes(*short_text_column(texts)));
        for (std::size_t row = 0; row < rows; ++row) {
          keys[row] += texts[row] ? fmt::format("{} {},", texts[row]->size(), *texts[row]) : std::string("NULL,");
        }
      }
      std::map<std::string, std::uint32_t> expected;
      const auto groups = grouped(codes, rows);
      for (std::size_t row = 0; row < rows; ++row) {
        const auto next = static_cast<std::uint32_t>(expected.size());
        ASSERT_EQ(groups.group(row), expected.emplace(keys[row], next).first->second) << row;
      }
      EXPECT_EQ(groups.count(), expected.size());
    }
  }
}

}  // namespace
}  // namespace espalier::engine
