// child_process.cpp - see child_process.hpp. One socket is the child's input and output, so that writing to a child
// that has exited is an error code and not a signal.
#include "bench/query/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "espalier/core/error.hpp"

extern char** environ;

namespace espalier::bench {
namespace {

class spawn_actions {
 public:
  spawn_actions(int socket, bool quiet) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, STDOUT_FILENO);
    if (quiet) ::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  spawn_actions(const spawn_actions&) = delete;
  spawn_actions& operator=(const spawn_actions&) = delete;
  ~spawn_actions() { ::posix_spawn_file_actions_destroy(&actions_); }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

child_process::child_process(const std::vector<std::string>& words, bool quiet) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw error(fmt::format("No child process can be started: {}.", std::strerror(errno)));
  }
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const spawn_actions actions(ends[1], quiet);
  const int failed = ::posix_spawnp(&id_, arguments[0], actions.get(), nullptr, arguments.data(), environ);
  ::close(ends[1]);
  socket_ = ends[0];
  if (failed != 0) {
    ::close(socket_);
    throw error(fmt::format("'{}' cannot be started: {}.", words[0], std::strerror(failed)));
  }
}

child_process::~child_process() {
  ::close(socket_);
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool child_process::send(std::string text) {
  for (std::string_view left = text; !left.empty();) {
    const ssize_t sent = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::optional<std::string> child_process::receive() {
  std::array<char, 4096> piece{};
  for (;;) {
    if (const auto end = pending_.find('\n'); end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    const ssize_t got = ::recv(socket_, piece.data(), piece.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    pending_.append(piece.data(), static_cast<std::size_t>(got));
  }
}

std::optional<std::string> child_process::ask(const std::string& line) {
  return send(line + '\n') ? receive() : std::nullopt;
}

}  // namespace espalier::bench
