// machine.cpp - reads /proc and /sys, and queries Highway and CUDA.
#include "bench/harness/machine.hpp"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <hwy/targets.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "bench/data/column.hpp"
#include "bench/harness/timing.hpp"
#include "espalier/device/device.hpp"

#if __has_include("espalier_commit.hpp")
#include "espalier_commit.hpp"
#endif
#ifndef ESPALIER_COMMIT
#define ESPALIER_COMMIT "unknown"
#endif
#ifndef ESPALIER_VERSION
#define ESPALIER_VERSION "0.1.0"
#endif

namespace espalier::bench {
namespace {

/// Returns the value of the first "name : value" line.
std::string field(const char* file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, name.size(), name) != 0) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return {};
}

std::string cpu_name() {
  if (auto name = field("/proc/cpuinfo", "model name"); !name.empty()) return name;
  // Arm's kernel reports numbers only; these are the common server cores.
  static const std::map<std::string, std::string> arm{{"0xd0c", "Neoverse-N1"}, {"0xd40", "Neoverse-V1"},
                                                      {"0xd49", "Neoverse-N2"}, {"0xd4f", "Neoverse-V2"},
                                                      {"0xd84", "Neoverse-V3"}, {"0xd8e", "Neoverse-N3"}};
  const std::string part = field("/proc/cpuinfo", "CPU part");
  const auto known = arm.find(part);
  if (known != arm.end()) return known->second;
  return part.empty() ? "unknown" : "Arm part " + part;
}

std::string simd_target() {
  const std::int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(usable & -usable);  // the lowest bit is the best target
}

std::string huge_pages() {
  std::ifstream in("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(in, line);
  const std::size_t open = line.find('['), close = line.find(']');
  const std::string state =
      open == std::string::npos || close == std::string::npos ? "unknown" : line.substr(open + 1, close - open - 1);
  const std::string reserved = field("/proc/meminfo", "HugePages_Total");
  return "transparent: " + state + ", reserved: " + (reserved.empty() ? "0" : reserved);
}

std::string compiler_name() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "unknown";
#endif
}

/// Copies with all cores; 128 MiB is far beyond a core's share of the caches. Without repetitions, 32 MiB gives a quick
/// estimate.
double host_copy_bandwidth(unsigned repeat) {
  const std::size_t bytes = std::size_t{1} << (repeat > 1 ? 27 : 25);
  const column from(scalar_kind::u64, bytes / 8), to(scalar_kind::u64, bytes / 8);
  const auto parts = [&](auto&& f) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, bytes, std::size_t{1} << 20), [&](const auto& r) {
      f(static_cast<std::byte*>(to.data()) + r.begin(), static_cast<std::byte*>(from.data()) + r.begin(), r.size());
    });
  };
  parts([](std::byte* a, std::byte* b, std::size_t n) {
    std::memset(a, 1, n);
    std::memset(b, 2, n);
  });
  const double seconds = median_seconds(std::min(repeat, 5u), [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) parts([](std::byte* a, std::byte* b, std::size_t n) { std::memcpy(a, b, n); });
  });
  return 2.0 * static_cast<double>(bytes) / seconds;
}

}  // namespace

machine describe_machine() {
  machine m;
  m.cpu = cpu_name();
  m.cores = device::cpu().threads();
  struct sysinfo memory {};
  if (sysinfo(&memory) == 0) m.memory = std::size_t{memory.totalram} * memory.mem_unit;
  utsname system{};
  if (uname(&system) == 0) {
    m.architecture = system.machine;
    m.system = std::string(system.sysname) + " " + system.release;
  }
  m.simd = simd_target();
  m.huge_pages = huge_pages();
  m.compiler = compiler_name();
  m.version = ESPALIER_VERSION;
  m.commit = ESPALIER_COMMIT;
#ifdef ESPALIER_HAS_CUDA
  describe_gpus(m);
#else
  m.no_gpu = "this build has no CUDA code";
#endif
  return m;
}

double measure_copy_bandwidth(const device& dev, unsigned repeat) {
#ifdef ESPALIER_HAS_CUDA
  if (dev.kind() == device_kind::cuda) return gpu_copy_bandwidth(dev.ordinal());
#endif
  (void)dev;  // builds without CUDA support CPUs only
  return host_copy_bandwidth(repeat);
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace espalier::bench
