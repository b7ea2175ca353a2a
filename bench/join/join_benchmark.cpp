// join_benchmark.cpp - see join_benchmark.hpp. Keys are timestamps (i64) with random gaps, and ties; groups have a zipf
// distribution. An as-of join's answer is complete: row numbers and one gathered column of 8 bytes. A window join has
// five aggregates of one column over windows of 100 rows on average.
#include "bench/join/join_benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

#include "bench/harness/host_memory.hpp"
#include "bench/harness/runner.hpp"
#include "bench/harness/timing.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/join/asof_join.hpp"
#include "espalier/join/gather.hpp"
#include "espalier/join/window_join.hpp"

namespace espalier::bench {
namespace {

constexpr std::uint32_t zipf_groups = 500;
constexpr std::uint64_t mean_gap = 1'000;

struct join_table {
  std::vector<std::int64_t> keys;
  std::vector<std::uint32_t> codes;
  std::vector<std::int64_t> values;
};

/// Keys of `rows` rows within `span`.
join_table make_table(std::size_t rows, std::uint64_t span, bool is_random, bool has_groups, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  join_table out;
  out.keys.resize(rows);
  out.values.resize(rows);
  const std::uint64_t gap = std::max<std::uint64_t>(2 * span / std::max<std::size_t>(rows, 1), 2);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    at += random() % gap;
    out.keys[i] = static_cast<std::int64_t>(is_random ? random() % span : at);
    out.values[i] = static_cast<std::int64_t>(random() % 1'000'000);
  }
  if (!has_groups) return out;
  std::vector<std::uint32_t> drawn;  // groups by their share
  double sum = 0;
  for (std::uint32_t g = 0; g < zipf_groups; ++g) sum += 1.0 / (g + 1);
  constexpr double draws = 1 << 16;
  for (std::uint32_t g = 0; g < zipf_groups; ++g) {
    drawn.insert(drawn.end(), static_cast<std::size_t>(std::ceil(draws / sum / (g + 1))), g);
  }
  out.codes.resize(rows);
  for (std::uint32_t& code : out.codes) code = drawn[random() % drawn.size()];
  return out;
}

/// An array in the memory that is measured.
template <class T>
class placed_array {
 public:
  placed_array() = default;
  placed_array(const device& dev, bool on_device, std::size_t n) : dev_(dev), n_(n) {
    if (on_device && dev.kind() == device_kind::cuda) {
      device_ = buffer<T>(dev, n);
    } else {
      host_ = host_memory(std::max<std::size_t>(n, 1) * sizeof(T), dev);
    }
  }
  placed_array(const device& dev, bool on_device, const std::vector<T>& from)
      : placed_array(dev, on_device, from.size()) {
    if (!from.empty()) dev.copy(data(), from.data(), from.size() * sizeof(T), dev.default_stream());
    dev.default_stream().synchronize();
  }
  [[nodiscard]] T* data() const { return device_.empty() ? static_cast<T*>(host_.data()) : device_.data(); }
  [[nodiscard]] std::span<T> span() const { return {data(), n_}; }
  [[nodiscard]] std::vector<T> to_vector() const {
    std::vector<T> out(n_);
    if (n_ == 0) return out;
    dev_.copy(out.data(), data(), n_ * sizeof(T), dev_.default_stream());
    dev_.default_stream().synchronize();
    return out;
  }

 private:
  device dev_ = device::cpu();
  std::size_t n_ = 0;
  buffer<T> device_;
  host_memory host_;
};

struct placed_table {
  placed_array<std::int64_t> keys, values;
  placed_array<std::uint32_t> codes;
  std::uint32_t groups;

  placed_table(const device& dev, bool on_device, const join_table& from)
      : keys(dev, on_device, from.keys),
        values(dev, on_device, from.values),
        codes(dev, on_device, from.codes),
        groups(from.codes.empty() ? 0 : zipf_groups) {}
  [[nodiscard]] join_side side() const {
    return {.on = column_view(keys.span()), .by = codes.span(), .groups = groups};
  }
};

/// Runs an as-of join and a gather; `keep` are the arrays of the answer.
struct asof_run {
  placed_array<row_number> rows;
  placed_array<std::int64_t> values;
  placed_array<std::uint8_t> validity;

  asof_run(const device& dev, bool on_device, std::size_t n)
      : rows(dev, on_device, n), values(dev, on_device, n), validity(dev, on_device, (n + 7) / 8) {}
  void operator()(const placed_table& left, const placed_table& right, const device& dev) const {
    asof_join(left.side(), right.side(), rows.span(), {}, dev);
    gather_column(right.values.span(), rows.span(), values.span(), validity.span(), dev);
  }
  [[nodiscard]] bool equals(const asof_run& other) const {
    return rows.to_vector() == other.rows.to_vector() && values.to_vector() == other.values.to_vector() &&
           validity.to_vector() == other.validity.to_vector();
  }
};

/// Runs a window join.
struct window_run {
  placed_array<std::uint64_t> counts;
  placed_array<std::int64_t> sums, least, most;
  placed_array<double> averages;

  window_run(const device& dev, bool on_device, std::size_t n)
      : counts(dev, on_device, n),
        sums(dev, on_device, n),
        least(dev, on_device, n),
        most(dev, on_device, n),
        averages(dev, on_device, n) {}
  void operator()(const placed_table& left, const placed_table& right, const device& dev) const {
    using enum window_function;
    const window_output outputs[] = {
        {count, 0, counts.span()}, {sum, 0, sums.span()}, {avg, 0, averages.span()},
        {min, 0, least.span()},    {max, 0, most.span()},
    };
    const column_view values(right.values.span());
    const std::uint64_t width = 100 * mean_gap;
    window_join(left.side(), right.side(), {&values, 1}, {.preceding = width, .following = 0}, outputs, dev);
  }
  [[nodiscard]] bool equals(const window_run& other) const {
    return counts.to_vector() == other.counts.to_vector() && sums.to_vector() == other.sums.to_vector() &&
           averages.to_vector() == other.averages.to_vector() && least.to_vector() == other.least.to_vector() &&
           most.to_vector() == other.most.to_vector();
  }
};

class join_measurement {
 public:
  join_measurement(const join_choices& what, const device& dev) : what_(what), dev_(dev) {}

  template <class Run>
  [[nodiscard]] row measure(const std::string& op, const std::string& order, bool on_device, const join_table& left,
                            const join_table& right) const {
    const std::size_t n = left.keys.size();
    const placed_table left_in(dev_, on_device, left), right_in(dev_, on_device, right);
    const Run run(dev_, on_device, n);
    run(left_in, right_in, dev_);
    if (dev_.kind() == device_kind::cuda) {
      const device cpu = device::cpu();
      const placed_table cpu_left(cpu, false, left), cpu_right(cpu, false, right);
      const Run expected(cpu, false, n);
      expected(cpu_left, cpu_right, cpu);
      if (!run.equals(expected)) {
        throw cli::wrong_answer(fmt::format("{} of {} rows {}: the answer is not the CPU's.", op, n, order));
      }
    }
    row r;
    r.index = "join";
    r.device = dev_.kind() == device_kind::cuda ? "gpu" : "cpu";
    r.op = op;
    r.keys = right.keys.size();
    r.queries = n;
    r.key_type = r.value_type = "i64";
    r.distribution = order;
    r.threads = dev_.threads();
    r.location = on_device ? "device" : "host";
    r.seconds = median_seconds(what_.base.repeat, [&](std::size_t times) {
      for (std::size_t k = 0; k < times; ++k) run(left_in, right_in, dev_);
    });
    r.rate = static_cast<double>(n) / r.seconds;
    return r;
  }

 private:
  const join_choices& what_;
  device dev_;
};

std::vector<std::string> chosen_of(const char* what, const std::string& text, const char* known) {
  const std::vector<std::string> all = split_list(what, known);
  std::vector<std::string> chosen = split_list(what, text.empty() ? known : text);
  for (const auto& name : chosen) {
    if (std::find(all.begin(), all.end(), name) == all.end()) {
      throw cli::bad_arguments(fmt::format("--{} does not know '{}': choose from {}.", what, name, known));
    }
  }
  return chosen;
}

}  // namespace

join_choices parse_join_choices(const raw_options& raw) {
  join_choices what;
  what.base = parse_options(raw);
  if (!raw.left.empty()) {
    for (const auto& word : split_list("left", raw.left)) what.left.push_back(parse_number("left", word));
  }
  what.ops = chosen_of("joins", raw.joins, join_operations);
  what.orders = chosen_of("orders", raw.orders, join_orders);
  what.places = chosen_of("places", raw.places, join_places);
  for (const auto* list : {&what.base.keys, &what.left}) {
    for (const auto n : *list) {
      if (n == 0 || n > max_join_rows) throw cli::bad_arguments("Sides of joins have 1 to 2^32 - 1 rows.");
    }
  }
  return what;
}

report run_join_benchmarks(const join_choices& what) {
  report result = begin_report(what.base);
  device dev = choose_device(what.base);
  if (dev.kind() == device_kind::cpu) dev = device::cpu(static_cast<unsigned>(what.base.threads.front()));
  const join_measurement m(what, dev);
  for (const auto right_rows : what.base.keys) {
    for (const auto left_rows : what.left.empty() ? std::vector{right_rows} : what.left) {
      for (const auto& order : what.orders) {
        const bool is_random = order.starts_with("random"), has_groups = order.ends_with("groups");
        const std::uint64_t span = right_rows * mean_gap;
        const join_table left = make_table(left_rows, span, is_random, has_groups, what.base.seed);
        const join_table right = make_table(right_rows, span, is_random, has_groups, what.base.seed + 1);
        for (const auto& place : what.places) {
          if (place == "device" && dev.kind() == device_kind::cpu) continue;  // its memory is the host's
          for (const auto& op : what.ops) {
            const bool on_device = place == "device";
            result.rows.push_back(op == "asof" ? m.measure<asof_run>(op, order, on_device, left, right)
                                               : m.measure<window_run>(op, order, on_device, left, right));
          }
        }
      }
    }
  }
  return result;
}

}  // namespace espalier::bench
