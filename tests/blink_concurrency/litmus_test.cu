// litmus_test.cu - the version latch on a GPU: what its readers and writers must never see, looked for by thousands of
// teams.
//
// What fence_by_dependency() (sync/shared_memory.hpp) relies on, a memory model does not say. This is the check that it
// holds on the GPU at hand. Skipped where there is none.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "espalier/device/cuda.cuh"
#include "espalier/sync/version_latch.hpp"
#include "espalier/team/tile.cuh"
#include "support/setting.hpp"
#include "support/watchdog.hpp"

namespace espalier::test {
namespace {

/// A latch, and words in three sectors that are equal whenever it is free.
struct alignas(128) litmus_record {
  static constexpr unsigned words = 16;
  std::uint32_t version;
  std::uint32_t pad[7];
  std::uint32_t word[words];
  std::uint32_t rest[8];
};
struct litmus_counts {
  unsigned long long changes, torn_writes, torn_reads, valid_reads;
};

/// Teams by turns change a record, look at it under its latch, and read it without.
struct litmus_body {
  litmus_record* records;
  std::uint32_t number, rounds;
  litmus_counts* counts;

  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    for (std::uint32_t r = 0; r < rounds; ++r) {
      const std::uint32_t mixed = (static_cast<std::uint32_t>(i) * 2654435761u + r * 40503u) >> 7;
      litmus_record& record = records[mixed % number];
      if (mixed % 4 != 0) {
        write(team, record, mixed % 4 == 1);
      } else {
        read(team, record);
      }
    }
  }

 private:
  template <class Team>
  __device__ static bool equal(Team team, const litmus_record& record, std::uint32_t& first) {
    const auto seen = team.template view_relaxed<litmus_record::words>(record.word);
    first = team.get(seen, 0);
    return team.count(seen, equals<std::uint32_t>{first}) == litmus_record::words;
  }
  template <class Team>
  __device__ void count(Team team, unsigned long long litmus_counts::*what) const {
    team.once([&] { atomicAdd(&(counts->*what), 1ull); });
  }
  template <class Team>
  __device__ void write(Team team, litmus_record& record, bool only_looks) const {
    std::uint32_t before = 1;
    for (unsigned turn = 0; ((before = version_latch::try_latch(team, &record.version)) & 1) != 0; ++turn)
      backoff(turn);
    std::uint32_t now = 0;
    if (!equal(team, record, now)) count(team, &litmus_counts::torn_writes);
    if (only_looks) {
      version_latch::release_unchanged(team, &record.version, before);
      return;
    }
    std::uint32_t* const to = record.word;
    const auto next = team.template make<litmus_record::words>([=](unsigned) { return now + 1; });
    team.store_relaxed(to, next);
    version_latch::release(team, &record.version, before);
    count(team, &litmus_counts::changes);
  }
  template <class Team>
  __device__ void read(Team team, litmus_record& record) const {
    const std::uint32_t version = version_latch::read_begin(team, &record.version);
    std::uint32_t first = 0;
    const bool same = equal(team, record, first);
    if (!version_latch::read_valid(team, &record.version, version)) return;
    count(team, &litmus_counts::valid_reads);
    if (!same) count(team, &litmus_counts::torn_reads);
  }
};

class BlinkLitmusGpu : public testing::TestWithParam<const setting*> {
 protected:
  template <unsigned Lanes>
  static void look(std::uint32_t records, std::size_t teams, std::uint32_t rounds) {
    const setting& here = *GetParam();
    lent<litmus_record> memory(here, array<litmus_record>(records));
    lent<litmus_counts> counts(here, array<litmus_counts>(1));
    const stream order = here.dev.default_stream();
    const cuda_backend backend(here.dev);
    backend.for_each_team<tile<Lanes>>(order, teams,
                                       litmus_body{memory.span().data(), records, rounds, counts.span().data()});
    within(std::chrono::seconds(120), [order] { order.synchronize(); });
    const litmus_counts got = counts.get()[0];
    EXPECT_EQ(got.torn_writes, 0u);
    EXPECT_EQ(got.torn_reads, 0u);
    EXPECT_GT(got.valid_reads, 0u);
    unsigned long long changes = 0, versions = 0;
    for (const litmus_record& r : memory.get()) {
      changes += r.word[0];
      versions += r.version / 2;
      EXPECT_EQ(r.version % 2, 0u);
    }
    EXPECT_EQ(changes, got.changes) << "a change was lost";
    EXPECT_EQ(versions, got.changes);
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BlinkLitmusGpu);

TEST_P(BlinkLitmusGpu, NothingTornIsSeenAtAFewRecords) {
  look<1>(3, 20000, 20);
  look<4>(3, 20000, 20);
  look<32>(3, 5000, 20);
}
TEST_P(BlinkLitmusGpu, NothingTornIsSeenAtManyRecords) {
  look<1>(4096, 200000, 50);
  look<4>(4096, 200000, 50);
  look<16>(65536, 100000, 50);
}

std::vector<const setting*> litmus_settings() {
  std::vector<const setting*> all = all_settings();
  std::erase_if(all, [](const setting* s) { return s->dev.kind() != device_kind::cuda || s->spans == side::host; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(, BlinkLitmusGpu, testing::ValuesIn(litmus_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
