// inner_levels_impl.hpp - inner levels on one kind of device, one implementation over a Context of the static tree.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "device/build_event.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/static_tree/jobs.hpp"
#include "hybrid_tree/inner_levels.hpp"

namespace espalier::detail {

template <class Context, class Word>
class inner_levels_impl final : public inner_levels {
 public:
  /// Refers to existing levels.
  inner_levels_impl(const device& dev, const inner_levels_view<Word>& image) : device_(dev), image_(image) {}
  /// Makes a copy.
  inner_levels_impl(const device& dev, const inner_levels_view<Word>& image, inner_room room) : device_(dev) {
    const stream order = dev.default_stream();
    headers_ = raw_buffer(dev, bytes_with(room, image.header_bytes), order);
    cells_ = raw_buffer(dev, bytes_with(room, image.cell_bytes), order);
    subtables_ = raw_buffer(dev, bytes_with(room, image.subtable_bytes), order);
    (void)take(image, nullptr, nullptr);
  }

  [[nodiscard]] std::size_t bytes() const override { return headers_.bytes() + cells_.bytes() + subtables_.bytes(); }
  void walk(const void* keys, const std::uint32_t* groups, std::size_t n, std::uint32_t* lines,
            const stream& order) const override {
    launch(find_line_job<Word>{image_.view, keys, groups, lines}, n, order);
  }
  void table(const void* keys, std::size_t n, std::uint32_t* groups, const stream& order) const override {
    launch(top_table_job<Word>{image_.view, keys, groups}, n, order);
  }
  [[nodiscard]] any_inner_levels_view image() const override { return image_; }
  void make_wait(const stream& order) const override { copied_.make_wait(order); }
  [[nodiscard]] bool is_copy_of(const any_inner_levels_view& of) const override {
    const auto& other = std::get<inner_levels_view<Word>>(of);
    return image_.view.size == other.view.size &&
           is_same(image_.view.headers, image_.header_bytes, other.view.headers, other.header_bytes) &&
           is_same(image_.view.cells, image_.cell_bytes, other.view.cells, other.cell_bytes) &&
           is_same(image_.view.subtables, image_.subtable_bytes, other.view.subtables, other.subtable_bytes);
  }
  [[nodiscard]] std::optional<std::size_t> follow(const any_inner_levels_view& before, const any_inner_levels_view& now,
                                                  const cpu_backend& host) override {
    const auto& old = std::get<inner_levels_view<Word>>(before);
    const auto& next = std::get<inner_levels_view<Word>>(now);
    if (next.header_bytes > headers_.bytes() || next.cell_bytes > cells_.bytes() ||
        next.subtable_bytes > subtables_.bytes())
      return std::nullopt;
    return take(next, &old, &host);
  }

 private:
  /// Copies what differs from `old`, or everything if `old` is null; returns the number of bytes.
  std::size_t take(const inner_levels_view<Word>& from, const inner_levels_view<Word>* old, const cpu_backend* host) {
    const inner_levels_view<Word> none;
    const inner_levels_view<Word>& known = old == nullptr ? none : *old;
    const stream order = device_.default_stream();
    std::size_t sent = 0;
    image_ = from;
    const auto part = [&](const raw_buffer& own, auto*& pointer, std::size_t bytes, const void* known_part,
                          std::size_t known_bytes) {
      if (bytes == 0) return;
      const std::vector<byte_range> ranges = old == nullptr ? std::vector<byte_range>{{0, bytes}}
                                                            : differing(*host, known_part, known_bytes, pointer, bytes);
      for (const byte_range& r : ranges) {
        device_.copy(static_cast<char*>(own.data()) + r.first, reinterpret_cast<const char*>(pointer) + r.first,
                     r.last - r.first, order);
        sent += r.last - r.first;
      }
      pointer = static_cast<std::remove_reference_t<decltype(pointer)>>(own.data());
    };
    part(headers_, image_.view.headers, from.header_bytes, known.view.headers, known.header_bytes);
    part(cells_, image_.view.cells, from.cell_bytes, known.view.cells, known.cell_bytes);
    part(subtables_, image_.view.subtables, from.subtable_bytes, known.view.subtables, known.subtable_bytes);
    copied_.record(order);  // searches run on other streams
    order.synchronize();    // the source is host memory that may change
    return sent;
  }
  /// Compares the device's bytes, copied to the host piece by piece, with the host's.
  [[nodiscard]] bool is_same(const void* own, std::size_t own_bytes, const void* other, std::size_t bytes) const {
    if (own_bytes != bytes) return false;
    const stream order = device_.default_stream();
    std::vector<char> piece(std::min(bytes, std::size_t{1} << 20));
    for (std::size_t at = 0; at < bytes; at += piece.size()) {
      const std::size_t part = std::min(piece.size(), bytes - at);
      device_.copy(piece.data(), static_cast<const char*>(own) + at, part, order);
      order.synchronize();
      if (std::memcmp(piece.data(), static_cast<const char*>(other) + at, part) != 0) return false;
    }
    return true;
  }
  template <class Job>
  void launch(const Job& job, std::size_t n, const stream& order) const {
    if (n == 0) return;
    make_wait(order);
    device_.enqueue(order, [this, job, n, order] {
      Context context(device_, order);
      context.launch(job, n, false, node_search::linear);
    });
  }

  device device_;
  inner_levels_view<Word> image_;  ///< describes the buffers, or memory elsewhere on this device
  raw_buffer headers_, cells_, subtables_;
  build_event copied_;
};

/// Makes a copy or, without `room`, refers to the existing levels.
template <class Context>
[[nodiscard]] std::unique_ptr<inner_levels> make_inner_levels(const device& dev, const any_inner_levels_view& image,
                                                              std::optional<inner_room> room) {
  return std::visit(
      [&]<class Word>(const inner_levels_view<Word>& of_word) -> std::unique_ptr<inner_levels> {
        using levels = inner_levels_impl<Context, Word>;
        return room ? std::make_unique<levels>(dev, of_word, *room) : std::make_unique<levels>(dev, of_word);
      },
      image);
}

}  // namespace espalier::detail
