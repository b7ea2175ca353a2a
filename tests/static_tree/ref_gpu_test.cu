// ref_gpu_test.cu - a ref inside a user's kernel gives the oracle's answers. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include "espalier/static_tree/static_tree.hpp"
#include "espalier/team/tile.cuh"
#include "support/families.hpp"
#include "support/oracle.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

struct answer {
  std::uint64_t lower, upper;
  std::uint64_t value;
  std::uint32_t found, contained;
};

template <class Key>
__global__ void ask(static_tree_ref<Key, std::uint64_t> ref, const Key* keys, unsigned n, answer* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const tile<1> team{};
  answer a{};
  a.found = ref.find(team, keys[i], a.value) ? 1 : 0;
  a.contained = ref.contains(team, keys[i]) ? 1 : 0;
  a.lower = ref.rank(team, keys[i]);
  a.upper = ref.rank(team, keys[i], bound_type::upper);
  out[i] = a;
}

class StaticTreeRefGpu : public testing::TestWithParam<const setting*> {
 protected:
  template <class Key>
  static void ask_in_a_kernel(family f, std::size_t n) {
    const auto keys = make_keys<Key>(f, n);
    const auto values = make_values<std::uint64_t>(n);
    const oracle<Key, std::uint64_t> expected(keys, values);
    const auto tree = static_tree<Key, std::uint64_t>::build(keys.span(), values.span(), {}, GetParam()->dev);
    array<Key> queries(512);
    for (std::size_t i = 0; i < 512; ++i) {
      queries[i] = n == 0 ? Key{} : from_word<Key>(key_codec<Key>::encode(keys[i % n]) ^ (i & 1));
    }
    lent<Key> in(*GetParam(), queries);
    lent<answer> out(*GetParam(), 512);
    const auto order = static_cast<cudaStream_t>(tree.get_device().default_stream().native());
    ask<Key><<<4, 128, 0, order>>>(tree.ref(), in.in().data(), 512, out.span().data());
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
    tree.get_device().default_stream().synchronize();
    const auto& got = out.get();
    for (std::size_t i = 0; i < 512; ++i) {
      const std::uint64_t lower = expected.lower(queries[i]);
      ASSERT_EQ(got[i].lower, lower) << "query " << i;
      ASSERT_EQ(got[i].upper, expected.upper(queries[i])) << "query " << i;
      ASSERT_EQ(got[i].found != 0, expected.contains(queries[i])) << "query " << i;
      ASSERT_EQ(got[i].contained, got[i].found) << "query " << i;
      if (got[i].found != 0) ASSERT_EQ(got[i].value, expected.values()[lower]) << "query " << i;
    }
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StaticTreeRefGpu);

TEST_P(StaticTreeRefGpu, SmallARefAnswersInAKernel) {
  for (const std::size_t n : {0, 1, 8, 217, 2500}) {
    for (const family f : {family::uniform, family::zipf, family::nested, family::extremes}) {
      ask_in_a_kernel<std::uint32_t>(f, n);
      ask_in_a_kernel<std::int64_t>(f, n);
      ask_in_a_kernel<double>(f, n);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, StaticTreeRefGpu, testing::ValuesIn(device_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
