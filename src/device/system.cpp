// system.cpp - reads /proc and /sys/fs/cgroup. A file that is missing or malformed means that it sets no limit.
#include "device/system.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace espalier::detail {

namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

std::optional<std::size_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::size_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// Returns the number after `name` in a file of "name value" lines; meminfo has a colon after the name and kB after the
// value.
std::optional<std::size_t> read_field(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  std::size_t value = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    if (fields >> word && word == name && fields >> value) return value;
  }
  return std::nullopt;
}

// Returns whether `name` is one of the comma-separated names. The empty list contains the empty name.
bool lists(std::string_view names, std::string_view name) {
  for (;;) {
    const auto comma = names.find(',');
    if (names.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    names.remove_prefix(comma + 1);
  }
}

// Folders of this process's control group and all its parents, for one controller ("" is v2), as visible to this
// process. A container often sees its own group mounted as the root, so the root is always included.
std::vector<std::string> group_folders(const std::string& controller, const std::string& mount) {
  std::string path;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view names = std::string_view(line).substr(first + 1, second - first - 1);
    if (lists(names, controller) && line[second + 1] == '/') path = line.substr(second + 1);
  }
  std::vector<std::string> folders{mount};
  for (std::size_t end = path.size(); end > 1; end = path.rfind('/', end - 1)) {
    folders.push_back(mount + path.substr(0, end));
  }
  return folders;
}

struct group_files {
  const char* limit;
  const char* used;
  const char* reclaimable;  // field of memory.stat: inactive file pages
};

void apply_groups(memory_info& info, const std::vector<std::string>& folders, const group_files& files) {
  for (const std::string& folder : folders) {
    const auto limit = read_number(folder + files.limit);  // "max" is not a number and means no limit
    const auto used = read_number(folder + files.used);
    if (!limit || !used || *limit >= info.total) continue;
    const std::size_t cache = read_field(folder + "/memory.stat", files.reclaimable).value_or(0);
    const std::size_t held = *used - std::min(*used, cache);
    info.total = *limit;
    info.free = std::min(info.free, *limit - std::min(*limit, held));
  }
}

unsigned quota_processors() {
  std::size_t least = unlimited;
  const auto apply = [&least](std::size_t quota, std::size_t period) {
    if (quota != 0 && period != 0) least = std::min(least, (quota + period - 1) / period);
  };
  for (const std::string& folder : group_folders("", "/sys/fs/cgroup")) {
    std::ifstream file(folder + "/cpu.max");
    std::size_t quota = 0;
    std::size_t period = 0;
    if (file >> quota >> period) apply(quota, period);  // "max" is not a number
  }
  for (const std::string& folder : group_folders("cpu", "/sys/fs/cgroup/cpu")) {
    const auto quota = read_number(folder + "/cpu.cfs_quota_us");  // -1 means no quota
    const auto period = read_number(folder + "/cpu.cfs_period_us");
    if (quota && period && *quota < unlimited / 2) apply(*quota, *period);
  }
  return static_cast<unsigned>(std::clamp<std::size_t>(least, 1, std::numeric_limits<unsigned>::max()));
}

}  // namespace

memory_info system_memory() {
  constexpr std::size_t kib = 1024;
  memory_info info;
  info.total = read_field("/proc/meminfo", "MemTotal:").value_or(0) * kib;
  info.free = read_field("/proc/meminfo", "MemAvailable:").value_or(0) * kib;
  if (info.total == 0) return {unlimited, unlimited};  // no /proc: only mmap itself can tell
  apply_groups(info, group_folders("", "/sys/fs/cgroup"), {"/memory.max", "/memory.current", "inactive_file"});
  apply_groups(info, group_folders("memory", "/sys/fs/cgroup/memory"),
               {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"});
  return info;
}

std::size_t resident_anonymous_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  std::size_t shared = 0;
  if (!(file >> size >> resident >> shared)) return 0;
  return (resident - std::min(resident, shared)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::vector<memory_mapping> memory_mappings() {
  constexpr std::size_t kib = 1024;
  std::vector<memory_mapping> found;
  std::ifstream file("/proc/self/smaps");
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t first = 0, last = 0;
    char dash = 0;
    std::istringstream fields(line);
    if (line.starts_with("AnonHugePages:")) {
      std::string name;
      std::size_t size = 0;
      if (!found.empty() && fields >> name >> size) found.back().huge = size * kib;
    } else if (line.find('-') < line.find(' ') && fields >> std::hex >> first >> dash >> last && dash == '-') {
      // A mapping begins with its addresses. The system reports mappings in several reads, and memory that is mapped
      // meanwhile (for example by this vector) makes it repeat a mapping that has grown: the later entry counts.
      while (!found.empty() && found.back().first >= first) found.pop_back();
      if (!found.empty() && found.back().last > first) found.back().last = first;
      found.push_back({first, last, 0});
    }
  }
  return found;
}

std::string huge_page_policy() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  for (std::string word; file >> word;) {  // the active policy is in brackets
    if (word.front() == '[' && word.back() == ']') return word.substr(1, word.size() - 2);
  }
  return {};
}

unsigned usable_processors() {
  unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    processors = static_cast<unsigned>(std::max(1, CPU_COUNT(&mask)));
  }
  return std::min(processors, quota_processors());
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname machine{};
  return uname(&machine) == 0 ? std::string(machine.machine) + " CPU" : std::string("CPU");
}

}  // namespace espalier::detail
