// ref_gpu_test.cu - a ref of a radix tree inside a user's kernel, asked by teams of every width, answers like std::map:
// after a build and after changes in place. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "espalier/device/cuda.cuh"
#include "espalier/team/tile.cuh"
#include "radix_tree/subject.hpp"

namespace espalier::test {
namespace {

/// What one team is told about one key.
struct told {
  std::uint64_t value, lower, first, last;
  std::uint32_t found, contained, matched, length;
  /// Of the element of rank `lower`, if there is one.
  std::uint64_t next_value;
  std::uint32_t next_size, next_hash;
};

ESPALIER_HD std::uint32_t hashed(std::uint32_t hash, std::uint8_t byte) { return (hash ^ byte) * 16777619u; }

/// A trivially copyable body, as users write them.
struct ask_everything {
  radix_tree_ref<std::uint64_t> ref;
  const char* bytes;
  const std::uint64_t* offsets;
  told* out;

  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    const auto key = ref.key(bytes + offsets[i], static_cast<std::uint32_t>(offsets[i + 1] - offsets[i]));
    told t{};
    t.found = ref.find(team, key, t.value) ? 1 : 0;
    t.contained = ref.contains(team, key) ? 1 : 0;
    t.lower = ref.rank(team, key);
    const auto slice = ref.prefix(team, key);
    t.first = slice.first;
    t.last = slice.last;
    t.matched = ref.longest_prefix(team, key, t.length) ? 1 : 0;
    if (t.lower < ref.size()) {
      t.next_value = ref.value_at(t.lower);
      t.next_size = ref.key_size_at(t.lower);
      for (std::uint32_t b = 0; b < t.next_size; ++b) t.next_hash = hashed(t.next_hash, ref.key_byte_at(t.lower, b));
    }
    if (threadIdx.x % Team::lanes() == 0) out[i] = t;
  }
};
struct ask_a_set {
  radix_tree_ref<> ref;
  const char* bytes;
  const std::uint64_t* offsets;
  std::uint8_t* out;

  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    const auto key = ref.key(bytes + offsets[i], static_cast<std::uint32_t>(offsets[i + 1] - offsets[i]));
    const bool there = ref.contains(team, key);
    if (threadIdx.x % Team::lanes() == 0) out[i] = there ? 1 : 0;
  }
};

/// Keys in device memory.
class keys_on_device {
 public:
  keys_on_device(const device& dev, const strings& keys) {
    std::string all;
    std::vector<std::uint64_t> ends{0};
    for (const std::string& k : keys) ends.push_back((all += k).size());
    bytes_ = to_device(dev, std::span<const char>(all.data(), all.size()));
    offsets_ = to_device(dev, std::span<const std::uint64_t>(ends));
    dev.default_stream().synchronize();
  }
  [[nodiscard]] const char* bytes() const { return bytes_.data(); }
  [[nodiscard]] const std::uint64_t* offsets() const { return offsets_.data(); }

 private:
  buffer<char> bytes_;
  buffer<std::uint64_t> offsets_;
};

class RadixTreeRefGpu : public testing::TestWithParam<const setting*> {
 protected:
  using content = std::map<std::string, std::uint64_t>;

  template <unsigned Lanes, class Body>
  static void launch(std::size_t n, const Body& body) {
    static_assert(std::is_trivially_copyable_v<Body>);
    const stream order = GetParam()->dev.default_stream();
    cuda_backend(GetParam()->dev).for_each_team<tile<Lanes>>(order, n, body);
    order.synchronize();
  }
  static std::vector<told> expected_of(const content& all, const strings& asked) {
    std::vector<told> expected;
    for (const std::string& key : asked) {
      told t{};
      if (const auto at = all.find(key); at != all.end()) {
        t.found = t.contained = 1;
        t.value = at->second;
      }
      const auto from = all.lower_bound(key);
      t.lower = static_cast<std::uint64_t>(std::distance(all.begin(), from));
      for (auto it = from; it != all.end() && it->first.starts_with(key); ++it) ++t.last;
      for (std::size_t length = key.size() + 1; length-- > 0 && t.matched == 0;) {
        t.matched = all.count(key.substr(0, length)) != 0 ? 1 : 0;
        if (t.matched != 0) t.length = static_cast<std::uint32_t>(length);
      }
      if (t.last != 0) {
        t.first = t.lower;
        t.last += t.lower;
      }
      if (from != all.end()) {
        t.next_value = from->second;
        t.next_size = static_cast<std::uint32_t>(from->first.size());
        for (const char c : from->first) t.next_hash = hashed(t.next_hash, static_cast<std::uint8_t>(c));
      }
      expected.push_back(t);
    }
    return expected;
  }
  template <unsigned Lanes>
  static void check(const radix_tree<std::uint64_t>& tree, const keys_on_device& keys,
                    const std::vector<told>& expected) {
    SCOPED_TRACE("teams of " + std::to_string(Lanes));
    lent<told> out(*GetParam(), expected.size());
    launch<Lanes>(expected.size(), ask_everything{tree.ref(), keys.bytes(), keys.offsets(), out.span().data()});
    const auto& got = out.get();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const told &t = got[i], &e = expected[i];
      ASSERT_EQ(t.found, e.found) << "question " << i;
      ASSERT_EQ(t.contained, e.contained) << "question " << i;
      ASSERT_EQ(t.value, e.value) << "question " << i;
      ASSERT_EQ(t.lower, e.lower) << "question " << i;
      ASSERT_EQ(t.last - t.first, e.last - e.first) << "question " << i;
      if (t.last != t.first) {
        ASSERT_EQ(t.first, e.first) << "question " << i;
      }
      ASSERT_EQ(t.matched, e.matched) << "question " << i;
      ASSERT_EQ(t.length, e.length) << "question " << i;
      ASSERT_EQ(t.next_value, e.next_value) << "question " << i;
      ASSERT_EQ(t.next_size, e.next_size) << "question " << i;
      ASSERT_EQ(t.next_hash, e.next_hash) << "question " << i;
    }
  }
  static void check_every_width(const radix_tree<std::uint64_t>& tree, const content& all, const strings& asked) {
    const keys_on_device keys(GetParam()->dev, asked);
    const std::vector<told> expected = expected_of(all, asked);
    check<1>(tree, keys, expected);
    check<2>(tree, keys, expected);
    check<4>(tree, keys, expected);
    check<8>(tree, keys, expected);
    check<16>(tree, keys, expected);
    check<32>(tree, keys, expected);
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RadixTreeRefGpu);

TEST_P(RadixTreeRefGpu, SmallARefAnswersInAKernel) {
  for (const byte_family f : all_byte_families) {
    SCOPED_TRACE(to_string(f));
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{500}}) {
      strings keys = byte_keys_of(f, n);
      if (n < 2) keys.resize(std::min(keys.size(), n));
      std::vector<std::uint64_t> values(keys.size());
      content all;
      for (std::size_t i = 0; i < keys.size(); ++i) all[keys[i]] = values[i] = i + 1;
      auto tree = radix_tree<std::uint64_t>::build(keys, values, {}, GetParam()->dev);
      const strings asked = questions_about(keys, 150);
      check_every_width(tree, all, asked);
      if (HasFatalFailure()) return;
      const strings more = questions_about(keys, 30, 4);
      tree.insert_or_assign(more, std::vector<std::uint64_t>(more.size(), 77), {}, radix_path::in_place);
      for (const std::string& k : more) all[k] = 77;
      check_every_width(tree, all, asked);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(RadixTreeRefGpu, SmallARefOfASetAnswersInAKernel) {
  const strings keys = byte_keys_of(byte_family::urls, 400), asked = questions_about(keys, 300);
  const auto tree = radix_tree<>::build(keys, {}, GetParam()->dev);
  const keys_on_device in(GetParam()->dev, asked);
  lent<std::uint8_t> out(*GetParam(), asked.size());
  launch<8>(asked.size(), ask_a_set{tree.ref(), in.bytes(), in.offsets(), out.span().data()});
  for (std::size_t i = 0; i < asked.size(); ++i)
    ASSERT_EQ(out.get()[i] != 0, std::find(keys.begin(), keys.end(), asked[i]) != keys.end()) << "question " << i;
}

[[nodiscard]] std::vector<const setting*> gpu_settings() {
  std::vector<const setting*> all = all_settings();
  std::erase_if(all, [](const setting* s) { return s->dev.kind() != device_kind::cuda || s->spans == side::host; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(, RadixTreeRefGpu, testing::ValuesIn(gpu_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
