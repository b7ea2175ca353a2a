// gpu_memory.hpp - columns of joins in every kind of memory that a call on a GPU accepts.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "join/join_cases.hpp"

namespace espalier::test {

enum class memory { pageable, pinned, device };
inline constexpr memory memories[] = {memory::pageable, memory::pinned, memory::device};

inline const char* name_of(memory m) {
  switch (m) {
    case memory::pageable:
      return "pageable";
    case memory::pinned:
      return "pinned";
    case memory::device:
      return "device";
  }
  return "?";
}

/// Every GPU. They exist until the process ends, since a device must not be destroyed after main() has returned.
inline const std::vector<device>& gpus() {
  static const auto* const found = [] {
    auto* all = new std::vector<device>;
    for (const device& d : device::all()) {
      if (d.kind() == device_kind::cuda) all->push_back(d);
    }
    return all;
  }();
  return *found;
}

/// A copy of host elements in one kind of memory.
template <class T>
class placed {
 public:
  placed(const device& gpu, memory m, std::span<const T> from)
      : order_(gpu.default_stream()), gpu_(gpu), size_(from.size()) {
    if (m == memory::pageable) {
      host_.assign(from.begin(), from.end());
    } else {
      hold_ = raw_buffer(m == memory::pinned ? gpu.with_pool(gpu.host_pool()) : gpu, from.size_bytes(), order_);
      if (!from.empty()) gpu.copy(hold_.data(), from.data(), from.size_bytes(), order_);
      order_.synchronize();
    }
  }
  placed(const device& gpu, memory m, const std::vector<T>& from) : placed(gpu, m, std::span<const T>(from)) {}

  [[nodiscard]] std::span<T> span() {
    return {hold_.data() == nullptr ? host_.data() : static_cast<T*>(hold_.data()), size_};
  }
  [[nodiscard]] std::vector<T> get() {
    std::vector<T> out(size_);
    if (size_ == 0) return out;
    gpu_.copy(out.data(), span().data(), size_ * sizeof(T), order_);
    order_.synchronize();
    return out;
  }

 private:
  stream order_;
  device gpu_;
  std::size_t size_;
  std::vector<T> host_;
  raw_buffer hold_;
};

/// A side in one kind of memory.
template <class Key>
class placed_side {
 public:
  placed_side(const device& gpu, memory m, const side_data<Key>& from)
      : keys_(gpu, m, from.keys),
        codes_(gpu, m, from.codes),
        bits_(gpu, m, from.validity),
        offset_(from.offset),
        groups_(from.codes.empty() ? 0 : from.groups) {}

  [[nodiscard]] join_side side(row_order order = row_order::detect) {
    join_side out{.on = column_view(keys_.span()), .by = codes_.span(), .groups = groups_, .order = order};
    if (!bits_.span().empty()) out.on.validity = {bits_.span().data(), offset_};
    return out;
  }

 private:
  placed<Key> keys_;
  placed<std::uint32_t> codes_;
  placed<std::uint8_t> bits_;
  std::size_t offset_;
  std::uint32_t groups_;
};

}  // namespace espalier::test
