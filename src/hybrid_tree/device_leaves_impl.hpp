// device_leaves_impl.hpp - device_leaves on one kind of device, one implementation over a Context of the static tree.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>

#include "espalier/core/error.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cpu.hpp"
#include "espalier/static_tree/layout.hpp"
#include "hybrid_tree/device_leaves.hpp"
#include "hybrid_tree/device_rows_impl.hpp"
#include "hybrid_tree/device_window.hpp"
#include "hybrid_tree/host_staging.hpp"
#include "hybrid_tree/resident_leaves.hpp"

namespace espalier::detail {

/// Elements of a part of a window, sorted by line. The window is processed in parts, so that copies of lines take
/// little memory; a line that two parts need is fetched twice.
struct ordered_bucket {
  const std::uint32_t* lines;  ///< ascending
  const std::uint32_t* order;  ///< position of each element in the window
  std::uint32_t* places;       ///< place of a line's copy, at the first element with that line

  [[nodiscard]] ESPALIER_INLINE bool is_first(std::size_t i) const { return i == 0 || lines[i - 1] != lines[i]; }
  /// Returns the first element with the same line as element i.
  [[nodiscard]] ESPALIER_INLINE std::size_t first_with(std::size_t i) const {
    const std::uint32_t line = lines[i];
    std::size_t step = 1;
    for (; i >= step && lines[i - step] == line; step *= 2) i -= step;
    for (; step > 0; step /= 2) {
      if (i >= step && lines[i - step] == line) i -= step;
    }
    return i;
  }
};

struct number_elements {
  std::uint32_t* order;
  ESPALIER_HD void operator()(std::size_t i) const { order[i] = static_cast<std::uint32_t>(i); }
};

struct place_lines {
  ordered_bucket bucket;
  leaf_cache cache;
  std::uint32_t now;     ///< the bucket's number
  std::uint32_t staged;  ///< first place that belongs to this bucket alone
  ESPALIER_HD void operator()(std::size_t i) const {
    if (!bucket.is_first(i)) return;
    bucket.places[i] = cache.place_or(staged + static_cast<std::uint32_t>(i), bucket.lines[i], now);
  }
};

struct alignas(16) line_piece {
  std::uint64_t low, high;
};

/// One step per 16 bytes, so that neighbouring threads read one line together.
template <unsigned pieces>  // of a line
struct fetch_lines {
  static constexpr std::size_t most_at_once = bus_readers;
  ordered_bucket bucket;
  const line_piece* leaves;
  line_piece* copies;
  ESPALIER_HD void operator()(std::size_t t) const {
    const std::size_t i = t / pieces, piece = t % pieces;
    if (!bucket.is_first(i)) return;
    const std::uint32_t place = bucket.places[i];
    if ((place & leaf_cache::to_fetch) == 0) return;
    copies[std::size_t{place & ~leaf_cache::to_fetch} * pieces + piece] =
        leaves[std::size_t{bucket.lines[i]} * pieces + piece];
  }
};

template <class Word, unsigned V>
struct find_in_copies {
  using view = tree_view<Word, V>;
  static constexpr unsigned per_line = view::shape::keys_per_line;

  view tree;  ///< its lines are in host memory
  ordered_bucket bucket;
  const std::byte* copies;
  const void* keys;  ///< the caller's keys, in the device's memory
  void* values;
  std::uint8_t* found;

  ESPALIER_HD void operator()(std::size_t i) const {
    const std::size_t element = bucket.order[i];
    const Word key = encode_bits(tree.key, load_bits<Word>(tree.key, keys, element));
    const std::size_t place = bucket.places[bucket.first_with(i)] & ~leaf_cache::to_fetch;
    const std::byte* line = copies + place * view::shape::line_bytes;
    const std::uint64_t lines = (tree.size + per_line - 1) / per_line;
    unsigned at = per_line;
    for (std::uint64_t number = bucket.lines[i];;) {
      Word k[per_line];
      const auto* from = reinterpret_cast<const line_piece*>(line);
      const line_piece piece[2] = {from[0], from[1]};
      memcpy(k, piece, sizeof(k));
      for (unsigned s = per_line; s-- > 0;) {
        if (k[s] == key) at = s;  // the first match: slots after the last element repeat its key
      }
      if (at < per_line || !(k[per_line - 1] < key) || ++number >= lines) break;
      // Truncated separators did not distinguish the lines: this line is read in place.
      line = tree.lines + number * view::shape::line_bytes;
    }
    const bool there = at < per_line;
    found[element] = there ? 1 : 0;
    if constexpr (V != 0) {
      using raw = typename value_raw<V>::type;
      const raw v = there ? reinterpret_cast<const raw*>(line + 32)[at] : raw{};
      if (tree.value_bytes == V) {
        static_cast<raw*>(values)[element] = v;
      } else {
        memcpy(static_cast<std::byte*>(values) + element * tree.value_bytes, &v, tree.value_bytes);
      }
    }
  }
};

template <class Context, class Word, unsigned V>
class device_leaves_impl final : public device_leaves {
  using view = tree_view<Word, V>;
  static constexpr std::size_t line_bytes = view::shape::line_bytes;
  static constexpr unsigned pieces = line_bytes / sizeof(line_piece);
  static constexpr std::size_t place_bytes = line_bytes + sizeof(std::uint64_t);
  /// Maximum number of lines that are fetched together for one row; others are read in place.
  static constexpr std::uint64_t most_row_lines = 64;

 public:
  device_leaves_impl(const device& dev, const device& host, const static_index& tree, std::size_t part,
                     std::size_t cache)
      : device_(dev),
        host_(host),
        tree_(*static_cast<const view*>(tree.view())),
        lines_((tree_.size + view::shape::keys_per_line - 1) / view::shape::keys_per_line),
        part_(part),
        reading_(dev.make_stream()) {
    make_readable(dev.with_pool(dev.host_pool()), lines_ * line_bytes);
    const std::uint64_t most = leaf_cache::to_fetch - 1 - areas * part_;  // numbers of places have 31 bits
    cache_.places = static_cast<std::uint32_t>(std::min({cache / place_bytes, lines_, most}));
    const stream order = dev.default_stream();
    words_ = buffer<std::uint64_t>(dev, cache_.places, order);
    cache_.words = words_.data();
    copies_ = raw_buffer(dev, (cache_.places + areas * part_) * line_bytes, order);
    forget();
    const stream_event made = order.mark();
    reading_.wait_for(made);
    for (unsigned s = 0; s < slots; ++s) slots_.emplace_back(dev).order.wait_for(made);
    order.synchronize();
  }

  [[nodiscard]] std::size_t bytes() const override {
    std::size_t sum = cache_bytes() + areas * part_ * line_bytes + row_line_places_.bytes();
    for (const slot& s : slots_) sum += s.bytes();
    return sum;
  }
  [[nodiscard]] std::size_t cache_bytes() const override { return cache_.places * place_bytes; }

  void start(unsigned s, const inner_levels& levels, const window& w) override {
    slot& at = slots_[s];
    at.make_room(device_, elements(), w.n, expected());
    const std::uint32_t now = next_number();
    at.send(host_, elements(), w);
    levels.walk(at.keys.data(), nullptr, w.n, at.lines[0].data(), at.order);
    order_by_line(at, w.n);
    reading_.wait_for(at.order.mark());
    const auto part = [n = w.n, this](const turn& t) { return part_of(n, part_, t); };
    read_in_turn(
        at, parts_of(w.n, part_),
        [&](const turn& t) { next(at, reading_, [this, &at, now, p = part(t)] { fetch(at, p, now); }); },
        [&](const turn& t) { next(at, at.order, [this, &at, p = part(t)] { answer(at, p); }); });
    at.bring_back(elements(), w);
  }
  void start_rows(unsigned s, const inner_levels& levels, const range_head_request& rows, std::size_t n,
                  host_copies copies) override {
    slot& at = slots_[s];
    at.make_room(device_, elements(), n, expected());
    at.make_row_room(device_, elements(), n, rows.options.limit, expected());
    at.send(host_, elements(), rows, n, copies);
    levels.walk(at.keys.data(), nullptr, n, at.lines[0].data(), at.order);
    const range_head_job<Word, V> job = at.job_of(tree_, rows);
    order_by_line(at, n);
    const std::uint64_t most = most_lines_of_a_row(job.limit);
    wants_all_lines(n, job.limit) ? list_by_chunk(at, job, n, most) : list_by_line(at, job, n, most);
    at.bring_back(elements(), rows, n, copies);
  }
  /// True if the window reads three quarters or more of the lines, not counting those in the cache. A row whose lines
  /// take more than half of an area cannot be copied from a chunk.
  [[nodiscard]] bool wants_all_lines(std::size_t n, std::uint64_t limit) const override {
    const std::uint64_t most = most_lines_of_a_row(limit);
    const double read = static_cast<double>(n * most) * (1 - cached_part());
    return read >= 0.75 * static_cast<double>(lines_) && most <= part_ / 2;
  }
  [[nodiscard]] double cached_part() const override {
    return static_cast<double>(cache_.places) / static_cast<double>(lines_);
  }
  [[nodiscard]] bool is_done(unsigned s) const override { return slots_[s].order.is_done(); }
  void finish(unsigned s) override {
    const slot& at = slots_[s];
    wait_blocking(at.order);
    if (at.has_failed) std::rethrow_exception(at.failure);
    at.arrive(host_);
  }
  void abandon() noexcept override {
    drain(reading_);
    drain(slots_);
    try {
      forget();  // places may have been assigned to lines whose copies were not made
    } catch (...) {
      cache_.places = 0;
    }
  }

 private:
  struct slot : device_window {
    using device_window::device_window;
    void make_room(const device& dev, element_type e, std::size_t n, std::size_t most) {
      device_window::make_room(dev, e, n, most, [&](std::size_t room) {
        for (buffer<std::uint32_t>* const b : {&places, &lines[0], &lines[1], &numbers[0], &numbers[1]}) {
          *b = buffer<std::uint32_t>();  // freed before the larger one is allocated
          *b = buffer<std::uint32_t>(dev, room, order);
        }
      });
    }
    void make_row_room(const device& dev, element_type e, std::size_t n, std::size_t limit, std::size_t most) {
      device_window::make_row_room(dev, e, n, limit, most, [&](std::size_t room) {
        placed = buffer<std::uint64_t>();
        placed = buffer<std::uint64_t>(dev, room, order);
      });
    }
    [[nodiscard]] std::size_t bytes() const {
      return device_window::bytes() + 5 * places.bytes() + placed.bytes() + cuts.bytes();
    }
    buffer<std::uint32_t> places;
    buffer<std::uint32_t> lines[2], numbers[2];  ///< two of each, for out-of-place sorts
    bool ordered = false;                        ///< index of the sorted one
    std::atomic<bool> has_failed = false;        ///< a step of the window failed, for the following reason
    std::exception_ptr failure;
    buffer<std::uint64_t> placed;  ///< for rows: number of lines brought by the previous rows
    buffer<std::uint32_t> cuts;    ///< for rows: first row of each chunk of lines
  };

  [[nodiscard]] element_type elements() const { return {tree_.key, tree_.value, tree_.value_bytes}; }
  /// One of the steps in which a window reads leaves, with its memory for copies of lines.
  struct turn {
    std::size_t step;
    unsigned area;
  };
  /// fetch(turn) enqueues the reads of leaves, use(turn) the computation of results. All windows read in one stream, in
  /// sequence and without a pause: two windows that read concurrently would also have their results ready at the same
  /// time, so that the bus would never be busy in both directions. Their other work overlaps.
  template <class Fetch, class Use>
  void read_in_turn(slot& at, std::size_t steps, const Fetch& fetch, const Use& use) {
    for (std::size_t step = 0; step < steps; ++step) {
      const turn now{step, area_};
      stream_event& used = used_[area_];
      area_ = (area_ + 1) % areas;
      reading_.wait_for(used);
      fetch(now);
      at.order.wait_for(reading_.mark());
      use(now);
      used = at.order.mark();
    }
  }
  /// Elements [first, first + n) of a window.
  struct part_of_window {
    std::size_t first, n;
    unsigned area;
  };
  [[nodiscard]] static std::size_t parts_of(std::size_t n, std::size_t size) { return (n + size - 1) / size; }
  [[nodiscard]] static part_of_window part_of(std::size_t n, std::size_t size, const turn& t) {
    return {t.step * size, std::min(size, n - t.step * size), t.area};
  }
  /// Does nothing if another step of the window has failed: finish() reports it.
  template <class Step>
  void next(slot& at, const stream& order, const Step& step) const {
    device_.enqueue(order, [&at, step] {
      if (at.has_failed) return;
      try {
        step();
      } catch (...) {
        if (!at.has_failed.exchange(true)) at.failure = std::current_exception();
      }
    });
  }
  /// Small blocks of memory share their pages with others, which must not be mapped: the device reads a copy.
  void make_readable(const device& pinned, std::size_t bytes) {
    constexpr std::size_t alone_in_pages = std::size_t{1} << 21;  // see cpu_pool.cpp
    if (bytes >= alone_in_pages) {
      mapped_ = device_.register_host(tree_.lines, bytes);
      return;
    }
    small_ = raw_buffer(pinned, bytes, device_.default_stream());
    std::memcpy(small_.data(), tree_.lines, bytes);
    tree_.lines = static_cast<const std::byte*>(small_.data());
  }
  /// Invalidates all copies. Bucket 0 is then min_idle_buckets ago.
  void forget() {
    device_.fill(words_.data(), 0, words_.bytes(), device_.default_stream());
    device_.default_stream().synchronize();
    now_ = leaf_cache::min_idle_buckets;
  }
  /// Number of a window that requests places.
  [[nodiscard]] std::uint32_t next_number() {
    if (now_ == leaf_cache::last_bucket) {
      for (const slot& other : slots_) other.order.synchronize();
      forget();
    }
    return now_++;
  }
  /// The first step of a window.
  void order_by_line(slot& at, std::size_t n) const {
    at.has_failed = false;
    next(at, at.order, [this, &at, n] {
      Context context(device_, at.order);
      context.for_each(n, number_elements{at.numbers[0].data()});
      at.ordered =
          context.sort_pairs(at.lines[0].data(), at.lines[1].data(), at.numbers[0].data(), at.numbers[1].data(), 4, n);
    });
  }

  // ---- finds ----------------------------------------------------------------------------------------------
  [[nodiscard]] static ordered_bucket bucket_of(const slot& at, const part_of_window& p) {
    return {at.lines[at.ordered].data() + p.first, at.numbers[at.ordered].data() + p.first, at.places.data() + p.first};
  }
  void fetch(const slot& at, const part_of_window& p, std::uint32_t now) const {
    Context context(device_, reading_);
    const ordered_bucket bucket = bucket_of(at, p);
    context.for_each(p.n, place_lines{bucket, cache_, now, static_cast<std::uint32_t>(first_place(p.area))});
    context.for_each(p.n * pieces, fetch_lines<pieces>{bucket, host_lines(), static_cast<line_piece*>(copies_.data())});
  }
  void answer(const slot& at, const part_of_window& p) const {
    Context context(device_, at.order);
    context.for_each(p.n,
                     find_in_copies<Word, V>{tree_, bucket_of(at, p), static_cast<const std::byte*>(copies_.data()),
                                             at.keys.data(), at.values.data(), at.found.data()});
  }

  // ---- rows -----------------------------------------------------------------------------------------------
  [[nodiscard]] std::uint64_t most_lines_of_a_row(std::uint64_t limit) const {
    constexpr unsigned per_line = view::shape::keys_per_line;
    return std::min<std::uint64_t>({(limit + 2 * per_line - 2) / per_line, most_row_lines, part_});
  }
  [[nodiscard]] row_lines lines_of(const slot& at, const part_of_window& p, std::uint64_t most) const {
    return {at.lines[at.ordered].data() + p.first, at.placed.data() + p.first, row_line_places_.data() + p.area * part_,
            most, lines_};
  }
  void list_by_line(slot& at, const range_head_job<Word, V>& job, std::size_t n, std::uint64_t most) {
    if (row_line_places_.size() == 0) row_line_places_ = buffer<std::uint32_t>(device_, areas * part_, reading_);
    const std::uint32_t now = next_number();
    reading_.wait_for(at.order.mark());
    const auto size = static_cast<std::size_t>(part_ / most);
    const auto part = [=](const turn& t) { return part_of(n, size, t); };
    read_in_turn(
        at, parts_of(n, size),
        [&](const turn& t) { next(at, reading_, [=, this, &at, p = part(t)] { fetch_rows(at, p, most, now); }); },
        [&](const turn& t) { next(at, at.order, [=, this, &at, p = part(t)] { list(at, p, most, job); }); });
  }
  void fetch_rows(const slot& at, const part_of_window& p, std::uint64_t most, std::uint32_t now) const {
    Context context(device_, reading_);
    const row_lines of = lines_of(at, p, most);
    std::uint64_t* const placed = at.placed.data() + p.first;
    context.for_each(p.n, count_row_lines{of, placed});
    context.exclusive_scan(placed, placed, p.n);
    context.for_each(p.n * most, place_row_lines{of, cache_, now, static_cast<std::uint32_t>(first_place(p.area))});
    context.for_each(p.n * most * pieces,
                     fetch_row_lines<line_piece, pieces>{of, host_lines(), static_cast<line_piece*>(copies_.data())});
  }
  void list(const slot& at, const part_of_window& p, std::uint64_t most, const range_head_job<Word, V>& job) const {
    Context context(device_, at.order);
    context.for_each(p.n,
                     list_rows<Word, V, row_lines>{job, lines_of(at, p, most), at.numbers[at.ordered].data() + p.first,
                                                   static_cast<const std::byte*>(copies_.data())});
  }

  // ---- rows of a window that reads most lines ----------------------------------------------------------------
  void list_by_chunk(slot& at, const range_head_job<Word, V>& job, std::size_t n, std::uint64_t most) {
    const std::uint64_t chunk = part_ - (most - 1);
    const auto chunks = static_cast<std::size_t>((lines_ + chunk - 1) / chunk);
    if (at.cuts.size() < chunks + 1) at.cuts = buffer<std::uint32_t>(device_, chunks + 1, at.order);
    next(at, at.order, [this, &at, n, chunk, chunks] {
      Context context(device_, at.order);
      context.for_each(chunks + 1, cut_into_chunks{at.lines[at.ordered].data(), n, chunk, at.cuts.data()});
    });
    read_in_turn(
        at, chunks,
        [&](const turn& t) {
          const std::uint64_t begin = t.step * chunk, end = std::min(begin + part_, lines_);
          copy_later(device_, copies(t.area), tree_.lines + begin * line_bytes, (end - begin) * line_bytes, reading_);
        },
        [&](const turn& t) {
          next(at, at.order, [this, &at, job, n, t, chunk, most] {
            Context context(device_, at.order);
            const line_chunk of{at.lines[at.ordered].data(), t.step * chunk, most, lines_};
            const std::size_t steps = std::min(n, std::size_t{1} << 18);
            context.for_each(
                steps, list_chunk<Word, V>{
                           {job, of, at.numbers[at.ordered].data(), copies(t.area)}, at.cuts.data() + t.step, steps});
          });
        });
  }

  /// First place of the area's copies, after those of the cache.
  [[nodiscard]] std::size_t first_place(unsigned area) const { return cache_.places + area * part_; }
  [[nodiscard]] std::byte* copies(unsigned area) const {
    return static_cast<std::byte*>(copies_.data()) + first_place(area) * line_bytes;
  }
  [[nodiscard]] const line_piece* host_lines() const { return reinterpret_cast<const line_piece*>(tree_.lines); }

  device device_;
  cpu_backend host_;
  view tree_;
  std::uint64_t lines_;  ///< lines of the tree
  std::size_t part_;     ///< elements of a window whose lines are fetched together
  std::shared_ptr<const void> mapped_;
  raw_buffer small_;
  buffer<std::uint32_t> row_line_places_;  ///< place of each line of a part of rows, per area
  leaf_cache cache_;
  std::uint32_t now_ = 0;
  stream reading_;            ///< stream that reads leaves
  unsigned area_ = 0;         ///< area of the next part
  stream_event used_[areas];  ///< recorded when the copies of each area were used
  buffer<std::uint64_t> words_;
  raw_buffer copies_;  ///< copies of the cache, then those of each area
  std::deque<slot> slots_;
};

template <class Context, class Word, unsigned V>
[[nodiscard]] std::unique_ptr<device_leaves> make_leaves_of(const device& dev, const device& host,
                                                            const static_index& tree, std::size_t part,
                                                            std::size_t cache) {
  using whole = resident_leaves<Context, Word, V>;
  if (whole::bytes_of_copy(tree) <= cache) return std::make_unique<whole>(dev, host, tree);
  return std::make_unique<device_leaves_impl<Context, Word, V>>(dev, host, tree, part, cache);
}
template <class Context, class Word>
[[nodiscard]] std::unique_ptr<device_leaves> make_leaves_of(const device& dev, const device& host,
                                                            const static_index& tree, std::size_t part,
                                                            std::size_t cache) {
  switch (value_slot(tree.elements().value_bytes)) {
    case 0:
      return make_leaves_of<Context, Word, 0>(dev, host, tree, part, cache);
    case 4:
      return make_leaves_of<Context, Word, 4>(dev, host, tree, part, cache);
    case 8:
      return make_leaves_of<Context, Word, 8>(dev, host, tree, part, cache);
    default:
      return make_leaves_of<Context, Word, 16>(dev, host, tree, part, cache);
  }
}
template <class Context>
[[nodiscard]] std::unique_ptr<device_leaves> make_leaves(const device& dev, const device& host,
                                                         const static_index& tree, std::size_t part,
                                                         std::size_t cache) {
  return bytes_of(tree.elements().key) <= 4 ? make_leaves_of<Context, std::uint32_t>(dev, host, tree, part, cache)
                                            : make_leaves_of<Context, std::uint64_t>(dev, host, tree, part, cache);
}

}  // namespace espalier::detail
