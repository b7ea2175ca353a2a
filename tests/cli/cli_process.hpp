// cli_process.hpp - runs the built `espalier` as a user would: a command line in; output, errors and exit code out.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace espalier::cli_test {

/// The binary that was built beside this test.
inline std::filesystem::path cli_path() {
#ifdef ESPALIER_CLI_PATH
  return ESPALIER_CLI_PATH;
#else
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "espalier";
#endif
}

struct outcome {
  int code = -1;
  std::string out;
  std::string err;
};

inline std::filesystem::path scratch_file(const std::string& name) {
  return std::filesystem::temp_directory_path() / ("espalier-cli-test-" + std::to_string(getpid()) + "-" + name);
}

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline outcome run(const std::string& arguments) {
  const auto errors = scratch_file("stderr");
  std::ostringstream command;
  command << cli_path() << ' ' << arguments << " 2>" << errors;  // paths are streamed in quotes
  outcome result;
  FILE* pipe = popen(command.str().c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> piece{};
  for (std::size_t n = 0; (n = fread(piece.data(), 1, piece.size(), pipe)) > 0;) result.out.append(piece.data(), n);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.err = contents(errors);
  std::filesystem::remove(errors);
  return result;
}

}  // namespace espalier::cli_test
