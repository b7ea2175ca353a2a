// index.cpp - the hybrid tree: a tree in host memory whose inner levels are also on a device.
//
// Reads hold the gate shared; a write holds it exclusively and updates the device's copy of the inner levels before the
// next read: no reader sees an incomplete copy. If the device fails during a call, the host does the rest of it.
#include "espalier/hybrid_tree/index.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/fair_shared_mutex.hpp"
#include "device/with_memory.hpp"
#include "hybrid_tree/device_part.hpp"
#include "hybrid_tree/host_memory.hpp"
#include "hybrid_tree/host_tree.hpp"

namespace espalier {

namespace detail {
namespace {

/// Initial share of a batch that is given to the device, until measured (values for an H200 with 16 cores).
constexpr double finds_by_device = 0.45, rows_by_device = 0.6;
/// Number of buckets that tune() takes for each balance that it tries.
constexpr unsigned samples_of_balance = 3;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Measurements for rows of about the same length; a row of a thousand elements costs more than one of eight.
struct row_length_class {
  placement_selector choice;
  device_share share{rows_by_device};
};
/// Each class has four times as many elements as the previous one; the last one has all that are longer.
constexpr std::size_t length_classes = 6;
[[nodiscard]] std::size_t length_class(std::uint64_t limit) {
  return std::min(static_cast<std::size_t>(std::bit_width(limit)) / 2, length_classes - 1);
}
/// "up to 7", "more than 511"
[[nodiscard]] std::string lengths_of(std::size_t a_class) {
  const auto longest = [](std::size_t c) { return (std::uint64_t{1} << (2 * c + 1)) - 1; };
  return a_class + 1 < length_classes ? "up to " + std::to_string(longest(a_class))
                                      : "more than " + std::to_string(longest(a_class - 1));
}

class hybrid_tree_index final : public hybrid_index {
 public:
  hybrid_tree_index(const device& dev, element_type elements, const hybrid_options& options, const void* keys,
                    const void* values, std::size_t n)
      : device_(dev),
        host_(device::cpu(options.threads)),
        host_order_(host_.make_stream()),
        elements_(elements),
        options_(options),
        memory_(host_, options.pages) {
    if (options.bucket == 0) throw error("hybrid_tree: a bucket has at least one query.");
    if (options.window == 0) throw error("hybrid_tree: a window has at least one query.");
    if (!(options.fill >= 0.25 && options.fill <= 1))
      throw error("hybrid_tree: fill is the used share of a leaf of the regular layout, from 0.25 to 1.");
    host_tree_ = options.layout == hybrid_layout::implicit
                     ? make_static_host_tree(memory_.host(), elements, options.keep, keys, values, n)
                     : make_blink_host_tree(memory_.host(), elements, options.fill, keys, values, n);
    size_ = host_tree_->size();
    renew();
  }

  [[nodiscard]] const device& get_device() const override { return device_; }
  [[nodiscard]] const device& host() const override { return host_; }
  [[nodiscard]] element_type elements() const override { return elements_; }
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] hybrid_stats stats() const override {
    const auto lock = gate_.lock_shared();
    const std::lock_guard device_lock(device_mutex_);
    hybrid_stats s;
    s.size = host_tree_->size();
    s.host_bytes = host_tree_->bytes();
    s.inner_bytes = bytes_of_upper(host_tree_->upper());
    s.device_bytes = device_part_.levels == nullptr ? 0 : device_part_.levels->bytes();
    if (device_part_.walker != nullptr) s.device_bytes += inner_walk_pipeline::bytes(key_bytes(), options_.bucket);
    if (device_part_.leaves != nullptr) {
      s.device_bytes += device_part_.leaves->bytes();
      s.reads_leaves = true;
      s.leaf_cache_bytes = device_part_.leaves->cache_bytes();
    }
    s.placement = chosen();
    s.last = last_;
    s.balance = balance_;
    s.reason = reason_ + (why_no_leaves_.empty() ? "" : " The device reads no leaves: " + why_no_leaves_);
    s.update = update_;
    s.pages = memory_.given();
    return s;
  }
  [[nodiscard]] validation validate() const override {
    const auto lock = gate_.lock_shared();
    validation v = host_tree_->validate();
    if (!v.ok) return v;
    const std::lock_guard device_lock(device_mutex_);
    if (device_part_.levels == nullptr) return v;
    try {
      if (!device_part_.levels->is_copy_of(host_tree_->upper()))
        v = {false, "the device's inner levels are not a copy of the host's."};
    } catch (const error& e) {
      give_up(e);
    }
    return v;
  }

  void find(const void* keys, std::size_t n, void* values, std::uint8_t* found, const hybrid_query_options& how,
            const execution&) const override {
    const auto lock = gate_.lock_shared();
    ask(finding(keys, n, values, found, how.copies), how);
  }
  void rows(const void* lo, const void* hi, std::size_t n, const range_options& options, void* out_keys,
            void* out_values, std::uint64_t* counts, const hybrid_query_options& how) const override {
    const auto lock = gate_.lock_shared();
    const range_head_request rows{lo, hi, options, out_keys, elements_.value_bytes == 0 ? nullptr : out_values, counts};
    ask(listing(rows, n, how.copies), how);
  }
  void seek(seek_kind kind, const void* keys, std::size_t n, void* out_keys, void* out_values, std::uint8_t* found,
            const query_options& options, const execution&) const override {
    const auto lock = gate_.lock_shared();
    if (n != 0) reads().seek(kind, keys, n, out_keys, out_values, found, options, now());
  }
  void count(const void* lo, const void* hi, std::size_t n, const range_options& options, std::uint64_t* counts,
             const execution&) const override {
    const auto lock = gate_.lock_shared();
    if (n != 0) reads().count(lo, hi, n, options, counts, now());
  }
  void rank(bound_type bound, const void* keys, std::size_t n, std::uint64_t* ranks) const override {
    const auto lock = gate_.lock_shared();
    if (n != 0) host_tree_->rank(bound, keys, n, ranks);
  }
  void select(const std::uint64_t* ranks, std::size_t n, void* out_keys, void* out_values,
              std::uint8_t* found) const override {
    const auto lock = gate_.lock_shared();
    if (n != 0) host_tree_->select(ranks, n, out_keys, elements_.value_bytes == 0 ? nullptr : out_values, found);
  }
  [[nodiscard]] std::uint64_t estimate(const void* lo, const void* hi) const override {
    const auto lock = gate_.lock_shared();
    return host_tree_->estimate(lo, hi);
  }
  [[nodiscard]] range_buffers range(const void* lo, const void* hi, std::size_t n, const range_options& options,
                                    const execution&) const override {
    const auto lock = gate_.lock_shared();
    return reads().range(lo, hi, n, options, now());
  }
  void aggregate(aggregate_op op, const void* lo, const void* hi, std::size_t n, interval ends, void* out,
                 std::uint8_t* found, const execution&) const override {
    const auto lock = gate_.lock_shared();
    if (n != 0) reads().aggregate(op, lo, hi, n, ends, out, found, now());
  }
  void write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done,
             update_mode way) override {
    if (n == 0) return;
    const auto lock = gate_.lock_exclusive();
    device_part_.leaves.reset();  // lines that it reads may be freed
    inner_update update;
    try {
      update = host_tree_->write(op, keys, values, n, done, way);
    } catch (...) {
      size_ = host_tree_->size();
      throw;
    }
    size_ = host_tree_->size();
    update_ = {update.way, 0, 0, std::move(update.reason)};
    // The batch is in the tree. Without memory for the device's copy, the host works alone.
    if (!with_memory([&] { follow(update); })) {
      device_part_.host_levels.reset();
      give_up("memory of the host ran out.");
    }
  }
  void tune(const void* keys, std::size_t n) override {
    const auto lock = gate_.lock_shared();
    const std::lock_guard device_lock(device_mutex_);
    if (device_part_.levels == nullptr) {  // a device that failed may work again; this does not count as the last write
      const hybrid_update last_write = update_;
      renew();
      update_ = last_write;
    }
    if (device_part_.levels == nullptr || n == 0) return;
    try_leaves_again();
    const std::size_t bucket = std::min(n, options_.bucket), buckets = std::min<std::size_t>(n / bucket, 64);
    const std::size_t all = buckets * bucket;
    // Results are written to memory of the same kind as that of the keys.
    const device answers = device_.is_pinned(keys) ? device_.with_pool(device_.host_pool()) : host_;
    const raw_buffer values(answers, all * elements_.value_bytes, answers.default_stream());
    const buffer<std::uint8_t> found(answers, all);
    const call question = finding(keys, all, values.data(), found.data(), host_copies::automatic);
    std::size_t next = 0;
    const auto discover = [&] {
      balance_ = discover_balance([&](const load_balance& b) {
        // The minimum of several: a disturbance makes a bucket slower, and a balance that followed it would persist.
        sample_times best{infinity, infinity};
        for (unsigned turn = 0; turn < samples_of_balance; ++turn) {
          const std::size_t first = next++ % buckets * bucket;
          const query_span sample{first, first + bucket};
          best.device =
              std::min(best.device, timed([&] {
                         device_part_.begin_bucket(b, question, sample, 0, host_copies::automatic, host_order_);
                         (void)device_part_.walker->wait(0);
                       }));
          best.host = std::min(best.host, timed([&] { device_part_.finish_bucket(b, question, sample, 0); }));
        }
        return best;
      });
    };
    if (!is_done(discover, [&](const error& e) { give_up(e); })) return;
    // Three times each: memory is touched for the first time, and concurrent host and device find their shares.
    choice_ = placement_selector(placements());
    for (const hybrid_placement p : placements()) {
      double seconds = 0;
      hybrid_placement ran = p;
      for (unsigned turn = 0; turn < 3 && ran == p; ++turn) seconds = seconds_of(p, question, {}, ran);
      if (device_part_.levels == nullptr) return;  // the device failed, and reason_ says so
      if (ran == p) choice_.set(p, all, seconds);
    }
    is_tuned_ = true;
    measured_bytes_ = bytes_of_upper(host_tree_->upper());
    for (row_length_class& rows : rows_) rows.choice.prefer(choice_.best());
    tell_choice();
  }

 private:
  [[nodiscard]] const untyped_reads& reads() const { return host_tree_->reads(); }
  [[nodiscard]] execution now() const { return in_separate_stream(memory_.host()); }
  [[nodiscard]] unsigned key_bytes() const { return bytes_of(elements_.key); }
  [[nodiscard]] const void* at(const void* keys, std::size_t i) const {
    return static_cast<const char*>(keys) + i * key_bytes();
  }
  template <class Work>
  [[nodiscard]] static double timed(const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  /// The placement of large batches; called while the device is held. A CPU as the device is used only on request,
  /// because it has the same cores as the host.
  [[nodiscard]] hybrid_placement chosen() const { return has_choice() ? choice_.best() : hybrid_placement::host_alone; }
  [[nodiscard]] bool has_choice() const {
    return device_part_.levels != nullptr && (is_tuned_ || device_.kind() == device_kind::cuda);
  }
  /// The most promising one is first.
  [[nodiscard]] std::vector<hybrid_placement> placements() const {
    if (host_tree_->lines() == nullptr) return {hybrid_placement::shared, hybrid_placement::host_alone};
    return {hybrid_placement::both, hybrid_placement::device_alone, hybrid_placement::shared,
            hybrid_placement::host_alone};
  }
  void tell_choice() const {
    const auto rates = [this](const placement_selector& choice, const device_share& share) {
      const bool has_both = host_tree_->lines() != nullptr && why_no_leaves_.empty();
      return choice.text() + (has_both ? " (of both, " + std::to_string(share.of(100)) + " % by the device)" : "");
    };
    reason_ = "measured: " + rates(choice_, share_);
    for (std::size_t c = 0; c < rows_.size(); ++c) {
      if (rows_[c].choice.is_known())
        reason_ += "; rows of " + lengths_of(c) + " elements: " + rates(rows_[c].choice, rows_[c].share);
    }
    reason_ += "; the device is " + device_.name() + "; inner levels of shared buckets: " + in_words(balance_) + ".";
  }

  /// Measurements are valid for trees of about the same size.
  [[nodiscard]] bool is_like_measured(std::size_t bytes) const {
    return bytes <= measured_bytes_ / 2 * 3 && bytes >= measured_bytes_ / 3 * 2 && measured_bytes_ != 0;
  }
  /// Lets the device read leaves again, after that was given up, or before it was first requested.
  void try_leaves_again() {
    why_no_leaves_.clear();
    leave_out_leaves(false);
  }
  void leave_out_leaves(bool leave) const {
    const auto is_one = [leave](hybrid_placement p) { return leave && needs_leaves(p); };
    choice_.leave_out(is_one);
    for (row_length_class& rows : rows_) rows.choice.leave_out(is_one);
  }
  void forget_measured() {
    is_tuned_ = false;
    measured_bytes_ = 0;
    choice_ = placement_selector(placements());
    rows_.fill({choice_, device_share(rows_by_device)});
    share_ = device_share(finds_by_device);
    balance_ = {};
  }
  /// Makes a new copy of the inner levels for the device; without one the host works alone.
  void renew() {
    const any_inner_levels_view image = host_tree_->upper();
    const std::size_t bytes = bytes_of_upper(image), buckets = inner_walk_pipeline::bytes(key_bytes(), options_.bucket);
    const bool holds = device_part_.levels != nullptr && is_like_measured(bytes);
    device_part_.levels.reset();
    device_part_.leaves.reset();
    if (!holds) forget_measured();
    try_leaves_again();
    device_part_.host_levels = borrow_inner_levels(host_, image);
    if (bytes == 0) {
      reason_ = "the tree is too small to share.";
      return;
    }
    if (bytes > options_.gpu_memory || buckets > options_.gpu_memory - bytes) {
      reason_ = "inner levels (" + std::to_string(bytes) + " bytes) and buckets (" + std::to_string(buckets) +
                ") take more than the " + std::to_string(options_.gpu_memory) +
                " bytes of the device's memory that the tree may have (hybrid_options::gpu_memory" +
                (bytes < options_.gpu_memory ? "; buckets take less if hybrid_options::bucket is less)." : ").");
      return forget_measured();
    }
    try {
      if (device_part_.walker == nullptr)
        device_part_.walker = std::make_unique<inner_walk_pipeline>(device_, host_, key_bytes(), options_.bucket);
      const bool may_grow = options_.layout == hybrid_layout::regular &&
                            bytes_with(inner_room::growing, bytes) + buckets <= options_.gpu_memory;
      update_.send_seconds = timed([&] {
        device_part_.levels = copy_inner_levels(device_, image, may_grow ? inner_room::growing : inner_room::exact);
      });
      update_.sent = bytes;
      if (measured_bytes_ != 0) return tell_choice();
      reason_ = device_.kind() == device_kind::cuda
                    ? "there is a GPU; large calls measure."
                    : "there is no GPU, so the CPU does all; tune() measures whether threads in its place help.";
    } catch (const error& e) {
      give_up(e);
    }
  }
  /// Called after a write: unchanged inner levels are kept; a device that failed is tried again.
  void follow(const inner_update& update) {
    try_leaves_again();
    if (!update.inner_changed && device_part_.levels != nullptr) return;
    if (update.before != nullptr && device_part_.levels != nullptr && bytes_of_upper(host_tree_->upper()) != 0) {
      device_part_.host_levels = borrow_inner_levels(host_, host_tree_->upper());
      try {
        std::optional<std::size_t> sent;
        update_.send_seconds = timed([&] {
          sent = device_part_.levels->follow(update.before->image(), host_tree_->upper(), cpu_backend(host_));
        });
        update_.sent = sent.value_or(0);
        if (sent) return;
      } catch (const error& e) {
        return give_up(e);
      }
    }
    renew();
  }
  void give_up(const error& e) const { give_up(e.what()); }
  void give_up(const char* why) const {
    device_part_.drain();
    last_ = hybrid_placement::host_alone;
    device_part_.leaves.reset();
    device_part_.levels.reset();
    device_part_.walker.reset();
    if (!with_memory([&] { reason_ = std::string("the device failed, and the host works alone: ") + why; }))
      reason_.clear();
  }
  /// The device stops reading leaves, and continues with inner levels: if the device is lost, those report it.
  void give_up_leaves(const error& e) const {
    device_part_.drain();
    device_part_.leaves.reset();
    why_no_leaves_ = std::string("it failed when it last did: ") + e.what();
    leave_out_leaves(true);
  }
  /// Returns whether the work completed. If not, the device failed, and `give_up` received the reason.
  template <class Work, class GiveUp>
  bool is_done(const Work& work, const GiveUp& give_up) const {
    try {
      work();
      return true;
    } catch (const error& e) {
      give_up(e);
    } catch (...) {
      device_part_.drain();
      throw;
    }
    return false;
  }

  // ---- queries that are sent to the device -------------------------------------------------------------------
  using call = batch_request;
  [[nodiscard]] call finding(const void* keys, std::size_t n, void* values, std::uint8_t* found,
                             host_copies copies) const {
    const auto value_at = [=, this](std::size_t i) -> void* {
      const unsigned bytes = elements_.value_bytes;
      return values == nullptr || bytes == 0 ? nullptr : static_cast<char*>(values) + i * bytes;
    };
    const auto found_at = [=](std::size_t i) { return found == nullptr ? nullptr : found + i; };
    return {keys,
            key_bytes(),
            n,
            bucket_of(n),
            [=, this](const query_span& s) {
              reads().find(at(keys, s.first), s.size(), value_at(s.first), found_at(s.first), {}, now());
            },
            [=, this](const std::uint32_t* lines, const query_span& s) {
              host_tree_->find_from(lines, at(keys, s.first), s.size(), value_at(s.first), found_at(s.first));
            },
            [=, this](unsigned slot, const query_span& s) {
              device_part_.leaves->start(slot, *device_part_.levels,
                                         {at(keys, s.first), s.size(), value_at(s.first), found_at(s.first), copies});
            },
            [n, this] { return windows_of(n, window_, n / 2, elements_.value_bytes + 1); },
            &choice_,
            &share_};
  }
  [[nodiscard]] call listing(const range_head_request& rows, std::size_t n, host_copies copies) const {
    // A bucket takes about as long as one of finds.
    const std::uint64_t finds = 1 + std::min<std::uint64_t>(rows.options.limit / 8, 15);
    row_length_class& habits = rows_[length_class(rows.options.limit)];
    return {rows.lo,
            key_bytes(),
            n,
            std::max<std::size_t>(bucket_of(n) / finds, 1),
            [=, this](const query_span& s) {
              const range_head_request r = rows.from(s.first, elements_);
              reads().rows(r.lo, r.hi, s.size(), r.options, r.keys, r.values, r.counts, now());
            },
            [=, this](const std::uint32_t* lines, const query_span& s) {
              const range_head_request r = rows.from(s.first, elements_);
              host_tree_->rows_from(lines, r.lo, r.hi, s.size(), r.options, r.keys, r.values, r.counts);
            },
            [=, this](unsigned slot, const query_span& s) {
              device_part_.leaves->start_rows(slot, *device_part_.levels, rows.from(s.first, elements_), s.size(),
                                              copies);
            },
            [=, this] {
              const std::uint64_t limit = rows.options.limit;
              return windows_of(n, std::min(window_, spare_ / row_window_bytes(elements_, limit)),
                                device_part_.leaves->wants_all_lines(n / 2, limit) ? n / 2 : n / 4,
                                rows.row_bytes(elements_));
            },
            &habits.choice,
            &habits.share};
  }
  /// If lines are read over the bus, a large window shares more of them: `alone`, if it answers everything. If the
  /// device has all lines, or many, results (of `answer` bytes each) should be transferred early: until those of the
  /// first window are, that direction of the bus is idle. Half a millisecond of it is long compared to the host's cost
  /// of a window, and 32 windows are enough.
  [[nodiscard]] window_sizes windows_of(std::size_t n, std::size_t room, std::size_t alone, std::size_t answer) const {
    const double cached = device_part_.leaves->cached_part();
    if (cached < 0.125) return {room, alone};
    if (cached < 1) return {room, n / 4};
    constexpr std::size_t bytes = std::size_t{1} << 25;
    const std::size_t most = std::max<std::size_t>(n / 8, 1);
    return {std::min(room, most), std::clamp(bytes / answer, std::min(n / 32 + 1, most), most)};
  }
  void ask(const call& c, const hybrid_query_options& how) const {
    if (how.balance &&
        !(how.balance->levels <= inner_level_count && how.balance->share >= 0 && how.balance->share <= 1))
      throw error("hybrid_query_options: a balance has 0 to 2 levels and a share from 0 to 1.");
    if (how.queue_depth >= inner_walk_pipeline::slots) throw error("hybrid_query_options: queue_depth is at most 2.");
    if (c.n == 0) return;
    // A short call does not wait for the device while a long one uses it.
    const bool is_short = how.placement == hybrid_placement::automatic && c.n / 4 < c.bucket;
    if (is_short || how.placement == hybrid_placement::host_alone) {
      last_ = hybrid_placement::host_alone;
      return c.here({0, c.n});
    }
    outcome o{hybrid_placement::host_alone, {{0, c.n}}};
    {
      const std::lock_guard device_lock(device_mutex_);  // the slots serve one call at a time
      if (how.placement != hybrid_placement::automatic) {
        o = with_device(how.placement, c, how);
      } else if (has_choice()) {
        return ask_cheapest(c, how);
      } else {
        last_ = hybrid_placement::host_alone;
      }
    }
    for (const query_span& s : o.rest) c.here(s);
  }
  /// Called while the device is held, so that calls do not disturb each other's measurements.
  void ask_cheapest(const call& c, const hybrid_query_options& how) const {
    const hybrid_placement p = c.choice->next();
    const bool had_leaves = device_part_.leaves != nullptr;
    hybrid_placement ran = p;
    const double seconds = seconds_of(p, c, how, ran);
    if (device_part_.levels == nullptr) return;                 // the device failed
    if (!had_leaves && device_part_.leaves != nullptr) return;  // made by this call, which is not representative
    if (ran == p) c.choice->note(p, c.n, seconds);
    measured_bytes_ = bytes_of_upper(host_tree_->upper());
    if (choice_.is_known()) {  // for example, a device that has all leaves needs no help
      for (row_length_class& rows : rows_) rows.choice.prefer(choice_.best());
    }
    tell_choice();
  }
  /// Seconds for all queries of the call.
  [[nodiscard]] double seconds_of(hybrid_placement p, const call& c, const hybrid_query_options& how,
                                  hybrid_placement& ran) const {
    return timed([&] {
      const outcome o = with_device(p, c, how);
      for (const query_span& s : o.rest) c.here(s);
      ran = o.ran;
    });
  }
  /// A call with few queries has several buckets nevertheless, so that both processors have work.
  [[nodiscard]] std::size_t bucket_of(std::size_t n) const {
    constexpr std::size_t least = std::size_t{1} << 16;
    return std::min(options_.bucket, std::max(n / 16, least));
  }
  [[nodiscard]] static bool needs_leaves(hybrid_placement p) {
    return p == hybrid_placement::device_alone || p == hybrid_placement::both;
  }
  /// Maximum window of the device queue, in half of the available memory: 0 if an ordinary bucket does not fit.
  [[nodiscard]] std::size_t largest_window(std::size_t room) const {
    std::size_t window = std::max(options_.window, options_.bucket);
    while (window > options_.bucket && window_bytes(elements_, window) > room / 2)
      window = std::max(window / 2, options_.bucket);
    return window_bytes(elements_, window) > room / 2 ? 0 : window;
  }
  /// Made on first request: null if the layout does not support it, or there is no memory.
  [[nodiscard]] device_leaves* leaves() const {
    if (device_part_.leaves != nullptr || !why_no_leaves_.empty() || device_part_.levels == nullptr)
      return device_part_.leaves.get();
    why_no_leaves_ = host_tree_->lines() == nullptr ? "those of the regular layout may move." : make_leaves();
    if (device_part_.leaves == nullptr) leave_out_leaves(true);
    return device_part_.leaves.get();
  }
  /// Returns an empty string, or the reason why there are none.
  [[nodiscard]] std::string make_leaves() const {
    const std::string no_room = "there is no room for a window as large as a bucket.";
    const std::size_t taken = device_part_.levels->bytes() + inner_walk_pipeline::bytes(key_bytes(), options_.bucket);
    if (taken > options_.gpu_memory) return no_room;
    try {
      const bool on_gpu = device_.kind() == device_kind::cuda;
      const std::size_t room = std::min(options_.gpu_memory - taken, device_.memory().free);
      window_ = largest_window(room);
      if (window_ == 0) return no_room;
      const std::size_t spare = room - window_bytes(elements_, window_);
      const std::size_t cache = std::min(options_.leaf_cache.value_or(on_gpu ? spare / 4 : 0), spare);
      spare_ = spare - cache;
      device_part_.leaves =
          make_device_leaves(device_, host_, *host_tree_->lines(), std::min(window_, largest_part), cache);
      return {};
    } catch (const error& e) {
      return e.what();
    }
  }
  /// The placement that ran, and the queries that are left to the host.
  struct outcome {
    hybrid_placement ran;
    std::vector<query_span> rest;
  };
  [[nodiscard]] outcome with_device(hybrid_placement p, const call& c, const hybrid_query_options& how) const {
    outcome o{hybrid_placement::host_alone, {}};
    if (device_part_.levels == nullptr || p == hybrid_placement::host_alone) {
      o.rest.push_back({0, c.n});
    } else if (needs_leaves(p) && leaves() != nullptr && c.window().most != 0) {
      const load_balance b = how.balance.value_or(balance_);
      const bool done =
          is_done([&] { device_part_.run_queues_of(p == hybrid_placement::both, b, c, how, host_order_, o.rest); },
                  [&](const error& e) { give_up_leaves(e); });  // windows need far more memory than inner levels
      if (done) o.ran = p;
    } else {
      const bool done = is_done([&] { run_shared(c, how, o.rest); }, [&](const error& e) { give_up(e); });
      if (done) o.ran = hybrid_placement::shared;
    }
    last_ = o.ran;
    return o;
  }
  void run_shared(const call& c, const hybrid_query_options& how, std::vector<query_span>& rest) const {
    const pipeline_times times = device_part_.run_shared(how.balance.value_or(balance_), c, how, host_order_, rest);
    if (c.n / c.bucket >= 8 && how.queue_depth == 2 && !how.balance)
      balance_ = rebalanced(balance_, times.waited, times.worked);
  }
  device device_, host_;
  stream host_order_;  ///< stream of the host's share of a bucket
  element_type elements_;
  hybrid_options options_;
  host_segment_memory memory_;
  std::unique_ptr<host_tree> host_tree_;
  std::atomic<std::size_t> size_ = 0;  ///< after the last write; read without the gate
  mutable fair_shared_mutex gate_;
  // The following members are changed while the device, or the gate exclusively, is held.
  mutable std::mutex device_mutex_;
  mutable device_part device_part_;
  mutable std::string why_no_leaves_;  ///< not empty if they were requested and could not be made
  mutable std::size_t window_ = 0;     ///< maximum size of windows with leaves
  mutable std::size_t spare_ = 0;      ///< bytes of the device's memory left by leaves and their windows
  mutable load_balance balance_;
  mutable placement_selector choice_;
  mutable std::atomic<hybrid_placement> last_ = hybrid_placement::automatic;
  mutable device_share share_{finds_by_device};
  mutable std::array<row_length_class, length_classes> rows_;
  bool is_tuned_ = false;
  mutable std::size_t measured_bytes_ = 0;  ///< size of the inner levels at the last measurement; 0 if there was none
  mutable std::string reason_;
  hybrid_update update_;
};

}  // namespace

std::unique_ptr<hybrid_index> build_hybrid_index(const device& dev, element_type elements,
                                                 const hybrid_options& options, const void* keys, const void* values,
                                                 std::size_t n) {
  if (elements.value_bytes > 16)
    throw error("hybrid_tree: values have at most 16 bytes; store an index to larger ones.");
  return std::make_unique<hybrid_tree_index>(dev, elements, options, keys, values, n);
}

}  // namespace detail
}  // namespace espalier
