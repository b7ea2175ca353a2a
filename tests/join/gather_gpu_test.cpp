// gather_gpu_test.cpp - gathered columns of every GPU are those of the CPU, in every kind of memory.
#include <gtest/gtest.h>

#include "espalier/join/gather.hpp"
#include "join/gpu_memory.hpp"

namespace espalier::test {
namespace {

struct gpu_sixteen {
  std::uint64_t low, high;
  bool operator==(const gpu_sixteen&) const = default;
};

template <class T>
class GatherGpu : public ::testing::Test {};
using gpu_gather_widths = ::testing::Types<std::uint8_t, std::uint16_t, float, double, gpu_sixteen>;
TYPED_TEST_SUITE(GatherGpu, gpu_gather_widths);

TYPED_TEST(GatherGpu, ValuesAndBitsAreThoseOfTheCpu) {
  if (gpus().empty()) GTEST_SKIP() << "no GPU";
  const device& gpu = gpus().front();
  std::mt19937_64 random(sizeof(TypeParam));
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{9}, std::size_t{50'001},
                              (std::size_t{1} << 21) + 11}) {
    for (const bool has_nulls : {false, true}) {
      std::vector<TypeParam> column(1'000);
      for (TypeParam& value : column) {
        const std::uint64_t bits[2] = {random() & 0x3fffffff3fffffff, random()};  // no float is NaN
        std::memcpy(static_cast<void*>(&value), bits, sizeof(value));
      }
      std::vector<std::uint8_t> bits(200);
      for (std::uint8_t& b : bits) b = static_cast<std::uint8_t>(random());
      std::vector<row_number> rows(n);
      for (row_number& row : rows) row = random() % 9 == 0 ? no_row : static_cast<row_number>(random() % 1'000);
      const auto view = [&](const auto& values, const std::uint8_t* validity) {
        return fixed_width_view{values, has_nulls ? bitmap_view{validity, 11} : bitmap_view{}};
      };
      std::vector<TypeParam> expected(n);
      std::vector<std::uint8_t> expected_bits((n + 7) / 8, 0xff);
      const std::size_t missing = gather_column(view(column, bits.data()), rows, std::span(expected), expected_bits);
      for (const memory m : memories) {
        placed<TypeParam> values(gpu, m, column), out(gpu, m, std::vector<TypeParam>(n));
        placed<std::uint8_t> validity(gpu, m, bits), out_bits(gpu, m, std::vector<std::uint8_t>((n + 7) / 8, 0xff));
        placed<row_number> numbers(gpu, m, rows);
        EXPECT_EQ(gather_column(view(values.span(), validity.span().data()), numbers.span(), out.span(),
                                out_bits.span(), gpu),
                  missing);
        EXPECT_TRUE(out.get() == expected) << name_of(m) << " " << n;
        EXPECT_TRUE(out_bits.get() == expected_bits) << name_of(m) << " " << n;
        EXPECT_EQ(gather_column(view(values.span(), validity.span().data()), numbers.span(), out.span(), {}, gpu),
                  missing);
      }
    }
  }
}

TEST(GatherGpuErrors, RowsBeyondTheColumn) {
  if (gpus().empty()) GTEST_SKIP() << "no GPU";
  const std::vector<int> column{1, 2, 3};
  std::vector<int> out(2);
  EXPECT_THROW(gather_column(column, std::vector<row_number>{0, 3}, std::span(out), {}, gpus().front()), error);
  EXPECT_EQ(gather_column(column, std::vector<row_number>{no_row, 2}, std::span(out), {}, gpus().front()), 1u);
  EXPECT_EQ(out, (std::vector<int>{0, 3}));
}

}  // namespace
}  // namespace espalier::test
