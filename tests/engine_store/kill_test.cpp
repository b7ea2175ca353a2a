// kill_test.cpp - a commit that is killed, or fails, before each of its file operations.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "engine_store/fault_layer.hpp"
#include "engine_store/sample_states.hpp"
#include "support/scratch_folder.hpp"

namespace {

using namespace espalier::engine;
using namespace espalier::test;

// Runs `work` in a child after `prepare` in this process; true if it lived to the end. Threads of this process (of
// libraries, from earlier work) are not in the child, but locks that one of them held at that moment are: now and then
// a child waits for such a lock for ever. It is put out of its misery, and another one tries.
template <class Prepare, class Work>
bool lives_through(const Prepare& prepare, const Work& work) {
  for (int attempt = 1;; ++attempt) {
    prepare();
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      try {
        work();
      } catch (const std::exception&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM && attempt < 5) continue;
    EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    return !WIFSIGNALED(status);
  }
}
template <class Work>
bool lives_through(const Work& work) {
  return lives_through([] {}, work);
}
auto copy_of(const std::filesystem::path& from, const std::filesystem::path& to) {
  return [=] {
    std::filesystem::remove_all(to);
    std::filesystem::copy(from, to);
  };
}

// The state of a folder after a fault: one of two, whole, with nothing left over.
void expect_old_or_new(const std::filesystem::path& folder, const std::string& old_text, const std::string& new_text,
                       const std::string& when) {
  const std::string found = text_in(folder);
  EXPECT_TRUE(found == old_text || found == new_text) << when;
  const auto report = verify(folder);
  EXPECT_TRUE(report.problems.empty()) << when << ": " << report.problems.front();
  EXPECT_EQ(names_in(folder).size(), report.files + 1) << when;  // and the catalog
}

TEST(StoreKill, LeavesTheOldOrTheNewState) {
  const scratch_folder scratch;
  const auto first = first_state();
  const auto second = second_state(first);
  const std::string old_text = text_of(first);
  const std::string new_text = text_of(second);
  store::open(scratch.path() / "template")->commit(first);
  int old_states = 0;
  int at = 1;
  for (bool lived = false; !lived; ++at) {
    const auto folder = scratch.path() / std::to_string(at);
    lived = lives_through(copy_of(scratch.path() / "template", folder), [&] {
      fault_layer layer(fault::kills, at);
      store::open(folder, layer)->commit(second);
    });
    expect_old_or_new(folder, old_text, new_text, "killed at operation " + std::to_string(at));
    old_states += text_in(folder) == old_text ? 1 : 0;
    ASSERT_LT(at, 1000);
  }
  EXPECT_GT(old_states, 10);
  EXPECT_LT(old_states, at - 1);
}

// A commit that leaves the file of an index behind its table, one that goes on so, and one that replaces the file.
TEST(StoreKill, LeavesIndexFilesWithWhatTheyCover) {
  const scratch_folder scratch;
  auto first = first_state();
  auto second = first;
  second[0].rows = first[0].rows->appended(random_rows(3, 9));
  second[0].indexes[0].covers = first[0].rows->counts();
  auto third = second;
  const std::vector<std::uint64_t> gone = {0, 107};
  third[0].rows = second[0].rows->erased(gone);
  auto last = third;
  last[0].indexes[0] = sample_index("by_a", 3);
  const std::vector<std::string> states = {text_of(first), text_of(second), text_of(third), text_of(last)};
  store::open(scratch.path() / "template")->commit(first);
  std::set<std::string> seen;
  int at = 1;
  for (bool lived = false; !lived; ++at) {
    const auto folder = scratch.path() / std::to_string(at);
    lived = lives_through(copy_of(scratch.path() / "template", folder), [&] {
      fault_layer layer(fault::kills, at);
      const auto opened = store::open(folder, layer);
      opened->commit(first);
      for (const auto& state : {second, third, last}) opened->commit(state);
    });
    const std::string found = text_in(folder);
    EXPECT_TRUE(std::ranges::count(states, found) == 1) << "killed at operation " << at << "\n" << found;
    seen.insert(found);
    expect_old_or_new(folder, found, found, "killed at operation " + std::to_string(at));
    ASSERT_LT(at, 1000);
  }
  EXPECT_EQ(seen.size(), states.size());
}

TEST(StoreKill, LeavesNothingOrAnEmptyDatabaseWhenItIsMade) {
  const scratch_folder scratch;
  int at = 1;
  for (bool lived = false; !lived; ++at) {
    const auto folder = scratch.path() / std::to_string(at);
    lived = lives_through([&] { std::filesystem::remove_all(folder); },
                          [&] {
                            fault_layer layer(fault::kills, at);
                            (void)store::open(folder, layer);
                          });
    EXPECT_EQ(text_in(folder), "");
    ASSERT_LT(at, 100);
  }
  EXPECT_GT(at, 5);
}

TEST(StoreKill, OpeningAfterAKillMayBeKilledToo) {
  const scratch_folder scratch;
  const auto first = first_state();
  const auto second = second_state(first);
  store::open(scratch.path() / "template")->commit(first);
  // Enough files are left over for the opening to have work to do.
  ASSERT_FALSE(lives_through([&] {
    fault_layer layer(fault::kills, 20);
    store::open(scratch.path() / "template", layer)->commit(second);
  }));
  int at = 1;
  for (bool lived = false; !lived; ++at) {
    const auto folder = scratch.path() / std::to_string(at);
    lived = lives_through(copy_of(scratch.path() / "template", folder), [&] {
      fault_layer layer(fault::kills, at);
      (void)store::open(folder, layer);
    });
    expect_old_or_new(folder, text_of(first), text_of(first), "killed at operation " + std::to_string(at));
    ASSERT_LT(at, 100);
  }
  EXPECT_GT(at, 2);
}

TEST(StoreFailure, LeavesTheOldStateAndTheStoreUsable) {
  const scratch_folder scratch;
  const auto first = first_state();
  const auto second = second_state(first);
  store::open(scratch.path() / "template")->commit(first);
  int uncertain = 0;
  bool succeeded = false;
  for (int at = 1; !succeeded; ++at) {
    ASSERT_LT(at, 1000);
    const auto folder = scratch.path() / std::to_string(at);
    std::filesystem::copy(scratch.path() / "template", folder);
    std::string failure;
    {
      fault_layer layer(fault::throws, at);
      std::unique_ptr<store> opened;
      try {
        opened = store::open(folder, layer);
        opened->commit(second);
        succeeded = layer.operations() < at;
      } catch (const espalier::error& e) {
        failure = e.what();
      }
      if (opened && failure.find("open the database again") != std::string::npos) {
        ++uncertain;
        EXPECT_THROW(opened->commit(first), espalier::error);
      } else if (opened && !failure.empty()) {
        opened->commit(first);  // the disk is well again
      }
    }
    const std::string found = text_in(folder);
    const bool removal_failed = failure.empty();
    if (removal_failed || failure.find("open the database again") != std::string::npos) {
      EXPECT_EQ(found, text_of(second)) << at;
    } else {
      EXPECT_EQ(found, text_of(first)) << at;
    }
    EXPECT_TRUE(verify(folder).problems.empty()) << at;
  }
  EXPECT_EQ(uncertain, 2) << "removing the marker of the commit, and syncing the folder";
}

}  // namespace
