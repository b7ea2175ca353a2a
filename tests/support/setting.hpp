// setting.hpp - the environment of a test: a device and the location of its spans. `lent` is memory for one call.
#pragma once

#include <cstdint>
#include <cstring>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "espalier/device/device.hpp"
#include "support/array.hpp"

namespace espalier::test {

enum class side { host, device };

struct setting {
  device dev;
  side spans;
  std::string name;
  stream own;  ///< created for these tests, in addition to the default stream
};

inline void PrintTo(const setting* s, std::ostream* out) { *out << s->name; }

/// Returns the CPU with one and two threads, and every GPU with spans on the host and on the device. They exist until
/// the process ends, since a device must not be destroyed after main() has returned.
[[nodiscard]] inline std::vector<const setting*> all_settings() {
  static const auto* const settings = [] {
    auto* made = new std::vector<setting>;
    const auto add = [made](const device& d, side spans, const std::string& name) {
      made->push_back({d, spans, name, d.make_stream()});
    };
    add(device::cpu(1), side::host, "cpu_1_thread");
    add(device::cpu(2), side::host, "cpu_2_threads");
    for (const device& d : device::all()) {
      if (d.kind() != device_kind::cuda) continue;
      add(d, side::host, "gpu" + std::to_string(d.ordinal()) + "_host_spans");
      add(d, side::device, "gpu" + std::to_string(d.ordinal()) + "_device_spans");
    }
    return made;
  }();
  std::vector<const setting*> all;
  for (const setting& s : *settings) all.push_back(&s);
  return all;
}

/// Returns the settings whose spans are on the host: each device once per number of threads.
[[nodiscard]] inline std::vector<const setting*> host_span_settings() {
  std::vector<const setting*> all = all_settings();
  std::erase_if(all, [](const setting* s) { return s->spans == side::device; });
  return all;
}

/// Returns the GPUs with spans in their own memory, each once.
[[nodiscard]] inline std::vector<const setting*> device_span_settings() {
  std::vector<const setting*> all = all_settings();
  std::erase_if(all, [](const setting* s) { return s->dev.kind() != device_kind::cuda || s->spans == side::host; });
  return all;
}

/// Names tests after their setting.
struct setting_name {
  template <class Info>
  [[nodiscard]] std::string operator()(const Info& test) const {
    return test.param->name;
  }
};

/// Memory passed to one call: on the setting's side, filled before the call, read back after it.
template <class T>
class lent {
 public:
  /// An output of `n` elements; every byte is 0xa5 before the call, except for bool, which has no such value.
  lent(const setting& s, std::size_t n) : lent(s, patterned(n).span()) {}
  lent(const setting& s, std::span<const T> input) : setting_(&s), host_(input) {
    if (s.spans == side::device) {
      device_ = to_device(s.dev, input);
      s.dev.default_stream().synchronize();
    }
  }
  lent(const setting& s, const array<T>& input) : lent(s, input.span()) {}

  [[nodiscard]] std::span<T> span() { return setting_->spans == side::device ? device_.span() : host_.span(); }
  [[nodiscard]] std::span<const T> in() { return span(); }

  /// Returns the output after the call was waited for.
  [[nodiscard]] const array<T>& get() {
    if (setting_->spans == side::device && !host_.empty()) {
      const stream s = setting_->dev.default_stream();
      setting_->dev.copy(host_.data(), device_.data(), host_.size() * sizeof(T), s);
      s.synchronize();
    }
    return host_;
  }

 private:
  static array<T> patterned(std::size_t n) {
    array<T> a(n);
    T pattern{};
    if (!std::is_same_v<T, bool>) std::memset(static_cast<void*>(&pattern), 0xa5, sizeof(T));
    for (T& x : a) x = pattern;
    return a;
  }

  const setting* setting_;
  array<T> host_;
  buffer<T> device_;
};

/// Copies a result that a call returned in its own buffer to the host.
template <class T>
[[nodiscard]] array<T> to_host(const setting& s, const buffer<T>& b) {
  array<T> host(b.size());
  if (!b.empty()) {
    const stream order = s.dev.default_stream();
    s.dev.copy(host.data(), b.data(), b.size() * sizeof(T), order);
    order.synchronize();
  }
  return host;
}

}  // namespace espalier::test
