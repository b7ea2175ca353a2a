// stream_dependencies.hpp - ordering of streams that use one tree, where calls only enqueue: reads overlap reads, a
// write overlaps nothing. The host does not wait: a stream is made to wait for marks of other streams.
//
// Invariants:
//   - Marks (events) are kept, never streams: a stream may be destroyed at any time by its owner.
//   - A stream is identified by its id, so that several handles of one stream take one entry.
//   - A write waits for all marks and replaces them: what follows the write follows them.
//   - Reached marks are dropped, at the latest when there are twice as many as remained after the last sweep.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "espalier/device/device.hpp"

namespace espalier::detail {

class stream_dependencies {
 public:
  /// Work that a stream enqueues while this object lives is ordered. No turn begins during a write (fair_shared_mutex).
  class turn {
   public:
    turn() = default;  ///< belongs to no stream
    turn(turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)),
          order_(std::move(other.order_)),
          id_(other.id_),
          writes_(other.writes_) {}
    turn& operator=(turn&&) = delete;
    ~turn() {
      if (turns_ != nullptr) turns_->end(order_, id_, writes_);
    }

   private:
    friend class stream_dependencies;
    turn(stream_dependencies* access_gate, stream order, std::uint64_t id, bool writes)
        : turns_(access_gate), order_(std::move(order)), id_(id), writes_(writes) {}

    stream_dependencies* turns_ = nullptr;
    stream order_;
    std::uint64_t id_ = 0;
    bool writes_ = false;
  };

  /// Makes the stream wait for all work that must not overlap what it enqueues next.
  [[nodiscard]] turn begin(const stream& order, bool writes);
  /// Makes the stream wait for all ordered work: called when the tree is destroyed.
  void wait_for_all(const stream& order);
  /// Number of kept marks.
  [[nodiscard]] std::size_t kept() const;

 private:
  struct stream_at {
    std::uint64_t id = 0;
    stream_event mark;
  };

  void end(const stream& order, std::uint64_t id, bool writes) noexcept;
  void keep(stream_at&& read);
  [[nodiscard]] static bool is_over(const stream_at& at);
  static void follow(const stream& order, std::uint64_t id, const stream_at& other);

  mutable std::mutex mutex_;
  std::vector<stream_at> reads_;  ///< since the last write, one per stream
  stream_at write_;               ///< the last write
  std::size_t swept_ = 8;         ///< number of entries at which reached ones are swept
};

}  // namespace espalier::detail
