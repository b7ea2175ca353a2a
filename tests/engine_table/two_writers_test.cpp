// two_writers_test.cpp - two processes that write the same file: names of temporary files never collide, and no file of
// the user is overwritten or removed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "engine/table/replaced_file.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

using files_by_name = std::map<std::string, std::string>;

files_by_name files_of(const std::filesystem::path& folder) {
  files_by_name out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    out[entry.path().filename().string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return out;
}

constexpr int pieces = 16;
constexpr std::size_t piece_bytes = 4096;

// What process `who` writes: the same letter everywhere.
std::string content_of(int who) { return std::string(pieces * piece_bytes, static_cast<char>('a' + who)); }

void write_once(const std::filesystem::path& path, int who) {
  replaced_file file(path);
  const int handle = file.duplicate_handle();
  const auto content = content_of(who);
  for (int i = 0; i < pieces; ++i) {
    if (::write(handle, content.data(), piece_bytes) != static_cast<ssize_t>(piece_bytes)) ::_exit(2);
  }
  ::close(handle);
  file.finish();
}

// Forked processes inherit the generator of names from this thread and so try the same ones.
template <class Body>
std::array<pid_t, 2> two_processes(const Body& body) {
  std::array<pid_t, 2> out{};
  for (int who = 0; who < 2; ++who) {
    out[static_cast<std::size_t>(who)] = ::fork();
    if (out[static_cast<std::size_t>(who)] != 0) continue;
    try {
      body(who);
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  return out;
}

void expect_success(const std::array<pid_t, 2>& children) {
  for (const auto child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

TEST(TwoWriters, EachWritesAWholeFileAndLeavesNothingElse) {
  const test::scratch_folder scratch;
  const auto path = scratch.path() / "out.csv";
  files_by_name of_user = {{"out.csv.part", "mine"}, {"out.csv.0123456789abcdef.part", "mine, too"}, {"part", ""}};
  for (const auto& [name, content] : of_user) std::ofstream(scratch.path() / name, std::ios::binary) << content;
  write_once(path, 0);
  const auto children = two_processes([&](int who) {
    for (int i = 0; i < 60; ++i) write_once(path, who);
  });
  for (int i = 0; i < 200; ++i) {
    std::ifstream file(path, std::ios::binary);
    const std::string seen{std::istreambuf_iterator<char>(file), {}};
    ASSERT_TRUE(seen == content_of(0) || seen == content_of(1)) << "a mixture, or a part of a file";
  }
  expect_success(children);
  auto found = files_of(scratch.path());
  EXPECT_TRUE(found["out.csv"] == content_of(0) || found["out.csv"] == content_of(1));
  found.erase("out.csv");
  EXPECT_EQ(found, of_user);
}

// The second process finds each name that it tries in use by the first, which is still writing.
TEST(TwoWriters, AnAbandonedFileIsRemovedAndThatOfTheOtherIsNot) {
  const test::scratch_folder scratch;
  const auto path = scratch.path() / "out.csv";
  write_once(path, 1);
  std::array<int, 2> first_has_opened{}, second_has_ended{};
  ASSERT_EQ(::pipe(first_has_opened.data()), 0);
  ASSERT_EQ(::pipe(second_has_ended.data()), 0);
  const auto signal = [](const std::array<int, 2>& to) {
    if (::write(to[1], "!", 1) != 1) ::_exit(3);
  };
  const auto wait_for = [](const std::array<int, 2>& from) {
    char byte = 0;
    if (::read(from[0], &byte, 1) != 1) ::_exit(4);
  };
  const auto children = two_processes([&](int who) {
    if (who == 0) {
      replaced_file file(path);
      const int handle = file.duplicate_handle();
      signal(first_has_opened);
      wait_for(second_has_ended);
      if (::write(handle, "first", 5) != 5) ::_exit(2);
      ::close(handle);
      file.finish();
    } else {
      wait_for(first_has_opened);
      { const replaced_file abandoned(path); }
      if (files_of(path.parent_path()).size() != 2) ::_exit(5);  // the old file, and what the first writes
      signal(second_has_ended);
    }
  });
  expect_success(children);
  EXPECT_EQ(files_of(scratch.path()), (files_by_name{{"out.csv", "first"}}));
}

}  // namespace
}  // namespace espalier::engine
