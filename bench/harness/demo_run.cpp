// demo_run.cpp - one index and four kinds of queries, compared with std::map and binary search; all results are
// checked.
#include "bench/harness/demo_run.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/data/answers.hpp"
#include "bench/harness/device_array.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "bench/harness/timing.hpp"
#include "bench/index/static/system_under_test.hpp"
#include "bench/peers/peer.hpp"
#include "cli/text_table.hpp"

namespace espalier::bench {
namespace {

constexpr unsigned demo_repeat = 3;
/// A std::map takes microseconds per lookup and a third of one per key of a traversal. A peer gets as much work as
/// takes it about a second.
constexpr std::size_t most_lookups = std::size_t{1} << 17;
constexpr double most_walked = 0x1p21;

struct question {
  operation op;
  std::string text;
  std::size_t queries;
  std::uint64_t length;  ///< length of ranges
};

class demo {
 public:
  demo(std::uint64_t keys, std::ostream& out) : out_(out), device_(device::default_device()) {
    spec_.keys = keys;
    threads_ = device_.kind() == device_kind::cpu ? device_.threads() : device::cpu().threads();
  }

  void run() {
    fmt::print(out_, "An ordered index of {} u32 keys with u32 values on {}.\n\n", grouped(spec_.keys), place());
    step("generating random pairs and sorting a copy", [&] { data_ = make_workload(spec_); });
    index_ = make_system_under_test(spec_.key, spec_.value);
    const device_column keys(data_.keys, device_), values(data_.values, device_);
    const build_request build{
        keys.data(), values.data(), data_.keys.size(), {.sorted = false, .keep = aggregates::all}};
    const double ours = step("building the index from the unsorted pairs", [&] { index_->build(build, device_); });
    map_ = make_cpu_peer("std-map", data_, threads_);
    array_ = make_cpu_peer("lower-bound", data_, threads_);
    const double theirs = step("filling a std::multimap with them (one thread)", [&] { map_->prepare(); });

    cli::text_table table({"", "espalier", "std::map", "binary search", "vs std::map", "vs binary search"});
    const double n = static_cast<double>(spec_.keys);
    table.add_row({"build, keys", rate_text(n / ours), rate_text(n / theirs), "", ratio_text(theirs / ours), ""});
    for (const auto& q : questions()) {
      step(fmt::format("asking: {} ({} queries)", q.text, grouped(q.queries)), [&] { table.add_row(ask(q)); });
    }
    finish(table);
  }

 private:
  [[nodiscard]] std::string place() const {
    return device_.kind() == device_kind::cpu ? fmt::format("{} ({} threads)", device_.name(), device_.threads())
                                              : device_.name();
  }
  [[nodiscard]] std::vector<question> questions() const {
    const std::uint64_t million = std::min<std::uint64_t>(1'000'000, std::max<std::uint64_t>(spec_.keys / 10, 1));
    const std::size_t many = std::size_t{1} << 20;
    return {{operation::find, "find a key", many, 0},
            {operation::range, "fetch a range of 100", std::size_t{1} << 18, 100},
            {operation::count, fmt::format("count a range of {}", grouped(million)), many, million},
            {operation::sum, fmt::format("sum over a range of {}", grouped(million)), many, million}};
  }
  /// Formats as 10,000,000.
  static std::string grouped(std::uint64_t n) {
    const std::string digits = std::to_string(n);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
      text += digits[i];
    }
    return text;
  }
  /// Prints a step before it runs, and then how long it took.
  template <class F>
  double step(const std::string& what, F&& f) {
    fmt::print(out_, "  {:<58}", what);
    out_.flush();
    const stopwatch watch;
    f();
    const double seconds = watch.seconds();
    fmt::print(out_, "{:>10}\n", seconds_text(seconds));
    return seconds;
  }

  std::vector<std::string> ask(const question& q) {
    query_set points;
    range_set ranges;
    query_view view;
    if (takes_ranges(q.op)) {
      ranges = make_ranges(data_, q.queries, q.length);
      view.ranges = &ranges;
    } else {
      points = make_queries(data_, q.queries, 1.0, false);
      view.points = &points;
    }
    const column& lo = takes_ranges(q.op) ? ranges.lo : points.keys;
    const device_column keys(lo, device_), hi(ranges.hi, device_);
    const std::uint64_t elements = q.op == operation::range ? view.elements() : 0;
    const device_answers out(make_answers(q.op, spec_, q.queries, elements), device_);
    const request ask_index{keys.data(), hi.data(), q.queries, out.pointers(), elements, {}, true, {}};
    out.poison();
    index_->run(q.op, ask_index);
    const answers& ours = out.fetch();
    check(q.op, view, ours, expected_answers(q.op, data_, view), "the reference", q.queries);
    const double rate = static_cast<double>(q.queries) / timed(demo_repeat, [&] { index_->run(q.op, ask_index); });
    const double map = ask_peer(q, view, lo, ranges.hi, ours, *map_, "std::map");
    const double array = ask_peer(q, view, lo, ranges.hi, ours, *array_, "binary search");
    return {q.text,           rate_text(rate),        rate_text(map),
            rate_text(array), ratio_text(rate / map), ratio_text(rate / array)};
  }

  /// Returns the queries per second of a peer on the CPU, for a part of the queries.
  double ask_peer(const question& q, const query_view& view, const column& lo, const column& hi, const answers& ours,
                  peer& p, const std::string& name) {
    const double mean = static_cast<double>(view.elements()) / static_cast<double>(q.queries);
    // Binary search does not traverse, so its own limit of elements to read applies.
    const bool walks = &p == map_.get() && takes_ranges(q.op);
    const auto most = static_cast<std::size_t>(std::max(2.0, most_walked / std::max(mean, 1.0)));
    const std::size_t n =
        std::min({q.queries, most_lookups, walks ? most : most_lookups, p.sample(q.op, q.queries, mean)});
    sampled_ = sampled_ || n < q.queries;
    const std::uint64_t elements = q.op == operation::range ? ours[0].as<std::uint64_t>()[n] : 0;
    const device_answers out(make_answers(q.op, spec_, n, elements), device::cpu());
    const request r{lo.data(), hi.data(), n, out.pointers(), elements, {}, true, {}};
    out.poison();
    if (q.op == operation::range) out.put(0, ours[0]);
    p.run(q.op, r);
    check(q.op, view, ours, out.fetch(), name, n);
    return static_cast<double>(n) / timed(1, [&] { p.run(q.op, r); });
  }

  template <class F>
  static double timed(unsigned times, F&& f) {
    return median_seconds(times, [&](std::size_t k) {
      for (std::size_t i = 0; i < k; ++i) f();
    });
  }
  void check(operation op, const query_view& view, const answers& ours, const answers& theirs, const std::string& name,
             std::size_t n) const {
    if (auto wrong = difference(op, spec_, view, ours, theirs, name, n)) throw cli::wrong_answer(*wrong);
  }

  void finish(const cli::text_table& table) {
    const tree_stats s = index_->stats();
    fmt::print(
        out_,
        "\nQueries per second (build: keys per second); all with {} threads{}, but std::map is filled by one:\n\n{}\n",
        threads_, device_.kind() == device_kind::cpu ? "" : " but the GPU", table.text());
    const double per_key = spec_.keys == 0 ? 0 : 1 / static_cast<double>(spec_.keys);
    fmt::print(out_,
               "All answers agree. The index takes {:.2f} bytes per pair of 8 bytes, {:.2f} of them for aggregates.\n",
               static_cast<double>(s.bytes) * per_key, static_cast<double>(s.aggregate_bytes) * per_key);
    if (sampled_)
      fmt::print(
          out_, "The peers were timed once, on the first part of the queries; std::map gets few of the long ranges.\n");
    fmt::print(
        out_,
        "\nNext: `espalier bench --keys 2^20,2^24 --distribution uniform,zipf --ops find,sum` measures your case;\n"
        "      examples/ has the library in programs of a screenful, `espalier info` what this machine offers.\n");
  }

  std::ostream& out_;
  device device_;
  data_spec spec_;
  workload data_;
  unsigned threads_ = 1;
  bool sampled_ = false;
  std::unique_ptr<system_under_test> index_;
  std::unique_ptr<peer> map_, array_;
};

}  // namespace

void run_demo(std::uint64_t keys, std::ostream& out) { demo(keys, out).run(); }

}  // namespace espalier::bench
