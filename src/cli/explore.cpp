// explore.cpp - `espalier explore`: serves the explorer's page on this machine until it is interrupted.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "explorer/http/server.hpp"
#include "explorer/read_trace.hpp"

extern char** environ;

namespace espalier::cli {
namespace {

struct explore_options {
  std::string index = "blink", device = "cpu", host = "127.0.0.1";
  std::vector<std::string> traces;
  int port = 8420;
  bool no_open = false;
};

const char* explore_footer =
    "The page shows a tree level by level while a trace of it is played, stepped and turned back, and lets you try\n"
    "trees out: the library itself runs behind it. Live trees have u64 keys; B-link trees with hooks are compiled\n"
    "with protocol link or couple and 8 or 12 slots. Of a hybrid tree the part in host memory is shown, in either\n"
    "layout. Traces come from `espalier bench INDEX --trace FILE` (docs/bench.md lists the recorded operations) or\n"
    "from your program (espalier/inspect/trace.hpp); two of them are shown side by side.\n"
    "Nothing but this machine can reach the page unless --host says otherwise; then the address that is printed ends\n"
    "with a token, and only those who open the page with it can use it.\n\n"
    "Examples:\n"
    "  espalier explore\n"
    "  espalier explore --index radix\n"
    "  espalier explore --trace link.trace --trace couple.trace\n"
    "  espalier explore --port 0 --no-open\n"
    "A CPU and a GPU at the same work, on one clock:\n"
    "  espalier bench radix --keys 1000 --ops insert,find,erase --peers none --device cpu --trace cpu.trace\n"
    "  espalier bench radix --keys 1000 --ops insert,find,erase --peers none --device gpu --trace gpu.trace\n"
    "  espalier explore --trace cpu.trace --trace gpu.trace";

/// Without a desktop there is no browser to open. No shell is involved.
void open_browser(const std::string& url) {
#if defined(__APPLE__)
  const char* program = "open";
#else
  const char* program = "xdg-open";
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
#endif
  std::string name = program, address = url;
  char* arguments[] = {name.data(), address.data(), nullptr};
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  if (posix_spawnp(&child, program, &quiet, nullptr, arguments, environ) == 0) {
    std::thread([child] { waitpid(child, nullptr, 0); }).detach();
  }
  posix_spawn_file_actions_destroy(&quiet);
}

device explore_device(const std::string& name) {
  if (name == "cpu") return device::cpu();
  if (name == "gpu") return gpu_for_command();
  throw bad_arguments("--device is '" + name + "': choose cpu or gpu.");
}

int explore(const explore_options& o) {
  static const std::vector<std::string> indexes{"static", "blink", "radix", "hybrid"};
  if (std::find(indexes.begin(), indexes.end(), o.index) == indexes.end())
    throw bad_arguments("--index is '" + o.index + "': choose static, blink, radix or hybrid.");
  if (o.traces.size() > 2) throw bad_arguments("--trace: two traces are shown side by side, not more.");
  if (o.port < 0 || o.port > 65535) throw bad_arguments("--port is a number from 0 (any) to 65535.");

  // sigwait() below handles these signals; threads that are created from here on block them.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  explorer::server_options wishes;
  wishes.host = o.host;
  wishes.port = o.port;
  wishes.index = o.index;
  explorer::server server(explore_device(o.device), wishes);
  for (const std::string& path : o.traces)
    server.add_trace(std::filesystem::path(path).filename().string(), explorer::read_trace_file(path));

  std::thread serving([&server] { server.serve(); });
  while (!server.is_serving()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::printf("%s\n", server.url().c_str());
  std::fflush(stdout);
  std::fputs("The explorer answers there until you press Ctrl-C.\n", stderr);
  if (!server.token().empty()) {
    std::fputs("Other machines open it by this machine's address, with the same token; it is sent unencrypted.\n",
               stderr);
  }
  if (!o.no_open) open_browser(server.url());
  int signal = 0;
  sigwait(&ends, &signal);
  server.stop();
  serving.join();
  return 0;
}

}  // namespace

void add_explore(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("explore", "Serve a page on this machine that shows trees at work.");
  auto o = std::make_shared<explore_options>();
  command->add_option("--index", o->index, "What the page begins with: static, blink, radix or hybrid")
      ->capture_default_str();
  command->add_option("--trace", o->traces, "A trace to show; give it twice to compare two")->take_all();
  command->add_option("--port", o->port, "Port to listen on, 0 for any that is free")->capture_default_str();
  command->add_option("--host", o->host, "Address to listen on; the default is this machine alone")
      ->capture_default_str();
  command->add_option("--device", o->device, "Where live trees are: cpu or gpu")->capture_default_str();
  command->add_flag("--no-open", o->no_open, "Do not open a browser");
  command->footer(explore_footer);
  command->callback([&chosen, o] { chosen = [o] { return explore(*o); }; });
}

}  // namespace espalier::cli
