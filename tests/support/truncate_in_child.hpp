// truncate_in_child.hpp - truncates a file from another process.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace espalier::test {

/// May be called while other threads run: the child only makes system calls.
inline void truncate_in_child(const std::filesystem::path& path, off_t bytes) {
  const char* const name = path.c_str();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::truncate(name, bytes) == 0 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << path;
}

}  // namespace espalier::test
