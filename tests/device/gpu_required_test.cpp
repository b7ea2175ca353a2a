// gpu_required_test.cpp - where a GPU is promised, it is there. Tests run in the settings that device::all() gives, so
// a GPU that cannot be used would leave all its tests out and look like success.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "espalier/device/device.hpp"

namespace espalier::test {
namespace {

TEST(GpuRequired, WhereItIsPromisedThereIsAGpu) {
  const char* promise = std::getenv("ESPALIER_REQUIRE_GPU");
  if (promise == nullptr || std::string(promise) != "1") GTEST_SKIP() << "ESPALIER_REQUIRE_GPU is not 1";
  const std::vector<device> all = device::all();
  const bool there = std::any_of(all.begin(), all.end(), [](const device& d) { return d.kind() == device_kind::cuda; });
  if (there) return;
  try {
    static_cast<void>(device::cuda());
    FAIL() << "device::cuda() gives a GPU that device::all() does not list";
  } catch (const error& e) {
    FAIL() << "ESPALIER_REQUIRE_GPU is 1 and no GPU can be used: " << e.what();
  }
}

}  // namespace
}  // namespace espalier::test
