// stream_dependencies.hpp - the order of streams at one tree, where calls only enqueue: reads overlap reads, a write
// overlaps nothing. The host does not wait: a stream is made to wait for marks of others.
//
// Invariants:
//   - What is kept are marks (events), never streams: a stream may be destroyed as soon as its owner likes.
//   - A stream is known by its id, so that handles of one stream, wrapped for each call, take one entry.
//   - A write waits for all marks and replaces them: what follows it follows them.
//   - Marks that have been reached are dropped, at the latest when there are twice as many as were left the last time.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "espalier/device/device.hpp"

namespace espalier::detail {

class stream_dependencies {
 public:
  /// What a stream enqueues while this lives is in turn. No turn begins during a write (fair_shared_mutex).
  class turn {
   public:
    turn() = default;  ///< of no stream
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

  /// Makes the stream wait for those that must not overlap what it enqueues next.
  [[nodiscard]] turn begin(const stream& order, bool writes);
  /// Makes it wait for all that was enqueued in turn: the end of the tree.
  void wait_for_all(const stream& order);
  /// Marks that are kept.
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
  std::vector<stream_at> reads_;  ///< since the last write, one for each stream
  stream_at write_;               ///< the last one
  std::size_t swept_ = 8;         ///< as many may come before reached ones are looked for
};

}  // namespace espalier::detail
