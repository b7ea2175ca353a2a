// large_pages_suite.cpp - see large_pages_suite.hpp.
#include "bench/papers/large_pages/large_pages_suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/harness/figure_curves.hpp"
#include "bench/harness/runner.hpp"
#include "bench/papers/large_pages/scalar_visit.hpp"

namespace espalier::bench {
namespace {

constexpr std::uint64_t least_large_page_keys = 5'000;

constexpr const char* large_pages_introduction =
    "# B+trees with large pages: figures of the paper\n\nNanoseconds per element or search; keys and values have 32 "
    "bits, keys are uniform and distinct, answers are checked. A page of the paper is a node of our B-link tree (with "
    "right links and an express index): the paper's pages have 2048 to 16384 elements, our nodes the widths that are "
    "compiled, 8 to 4096. The paper's GPU (GTX 280) is not this one. `absl-btree` replaces the paper's STX B+tree; its "
    "insertions and visits run in one thread, its searches in all.\n\n";

const std::vector<unsigned> all_slots{8, 0, 32, 128, 4096};
const std::vector<unsigned> few_slots{0, 128, 4096};

/// One diagram of a figure.
struct panel {
  std::string letter;
  std::string title;
  std::string x_label;
  figure_curves curves;
};

class large_pages_suite {
 public:
  large_pages_suite(const suite_options& what, std::ostream& out)
      : what_(what),
        devices_(suite_devices(what.base)),
        chosen_(chosen_parts(what, figures())),
        folder_(what.folder, large_pages_introduction, figures(), out) {}

  void run() const {
    for (const auto& figure : chosen_) {
      folder_.save(figure, figure == "2" ? creation() : figure == "3" ? insertion() : search_and_visit());
    }
  }

 private:
  static std::vector<std::string> figures() { return {"2", "3", "4"}; }

  /// Returns the sizes that --max-keys allows, at least one.
  [[nodiscard]] std::vector<std::uint64_t> allowed(std::vector<std::uint64_t> sizes) const {
    std::erase_if(sizes, [&](std::uint64_t n) { return n > what_.most_keys; });
    if (sizes.empty()) sizes.push_back(what_.most_keys);
    return sizes;
  }
  [[nodiscard]] std::vector<std::uint64_t> growing() const {
    return allowed({100'000, 300'000, 1'000'000, 3'000'000, 10'000'000, 30'000'000});
  }

  [[nodiscard]] options common(device_choice dev, std::vector<std::uint64_t> keys, operation op) const {
    options o = what_.base;
    o.dev = dev;
    o.keys = std::move(keys);
    o.key_types = {scalar_kind::u32};
    o.value_type = scalar_kind::u32;
    o.distributions = {distribution::uniform};
    o.operations = {op};
    o.peers.clear();
    o.hit_rate = 0.5;
    return o;
  }
  [[nodiscard]] options of_nodes(device_choice dev, std::vector<std::uint64_t> keys, operation op,
                                 const std::vector<unsigned>& slots) const {
    options o = common(dev, std::move(keys), op);
    o.index = index_kind::blink;
    o.blink = {};
    for (const auto s : slots) o.blink.shapes.push_back({protocol::blink, inner_index::express_lane, s});
    o.blink.paths = {write_path::per_key};
    return o;
  }

  static std::string device_of(const row& r) { return r.device == "gpu" ? "GPU" : "CPU"; }
  static double per_element(double seconds, std::uint64_t n) { return seconds / static_cast<double>(n); }

  /// Adds a row by the size of its tree: the tree's curve and those of its peers.
  static void by_size(const row& r, figure_curves& into) {
    const auto x = static_cast<double>(r.keys);
    const std::string place = fmt::format("{}", r.keys);
    const std::string name =
        r.blink ? fmt::format("nodes of {}, {}", r.blink->slots, device_of(r)) : "static tree, " + device_of(r);
    into.add(x, place, name, per_element(r.seconds, r.queries));
    for (const auto& p : r.peers) {
      if (p.seconds > 0) {
        into.add(x, place, fmt::format("{}, {}", p.name, device_of(r)), per_element(p.seconds, p.queries));
      }
    }
  }

  [[nodiscard]] report measured(const char* text, const options& o, suite_part& part,
                                report (*measure)(const options&) = run_benchmarks) const {
    const timed_log log(fmt::format("{} on the {}", text, o.dev == device_choice::gpu ? "GPU" : "CPU"));
    report result = measure(o);
    append_rows(result, part.reports[o.dev]);
    return result;
  }

  [[nodiscard]] suite_part creation() const {
    suite_part part;
    panel p{"", "Figure 2: creation time by page size", "elements of a node", {}};
    for (const auto dev : devices_) {
      options o = of_nodes(dev, allowed({5'000, 30'000, 100'000, 1'000'000}), operation::insert_empty, all_slots);
      o.operations.push_back(operation::build);
      for (const auto& r : measured("figure 2", o, part).rows) {
        const std::string name =
            fmt::format("{} elements, {}, {}", r.keys,
                        r.op == name_of(operation::build) ? "bulk build" : "by insertion", device_of(r));
        p.curves.add(r.blink->slots, std::to_string(r.blink->slots), name, per_element(r.seconds, r.keys));
      }
    }
    show("2",
         "creation time divided by the number of elements for 5 K, 30 K, 100 K and 1 M elements, by page size and "
         "threads per block. Small collections are created fastest where one page holds all elements; for 100 K and "
         "1 M elements pages of 2048 or 4096 are best; 32 to 512 threads differ by less than 2 %.",
         {p}, part);
    return part;
  }

  [[nodiscard]] suite_part insertion() const {
    suite_part part;
    std::vector<panel> panels{{"a", "Figure 3: insertion into a growing tree, batches of 100", "keys", {}},
                              {"b", "Figure 3: insertion into a growing tree, batches of 2^16", "keys", {}}};
    for (const auto dev : devices_) {
      for (std::size_t i = 0; i < panels.size(); ++i) {
        options o = of_nodes(dev, growing(), operation::insert, few_slots);
        o.blink.batch = i == 0 ? 100 : std::uint64_t{1} << 16;
        if (dev == device_choice::cpu) o.peers = {"absl-btree"};
        for (const auto& r : measured(i == 0 ? "figure 3a" : "figure 3b", o, part).rows) by_size(r, panels[i].curves);
      }
    }
    show("3",
         "average time of one random insertion into a tree of up to 40 M elements, pages of 2048, 8196 and 16384, "
         "compared with an STX B+tree on the CPU, which is far faster.",
         panels, part);
    return part;
  }

  [[nodiscard]] suite_part search_and_visit() const {
    suite_part part;
    std::vector<panel> panels{{"a", "Figure 4, left: search, batches of 100", "keys", {}},
                              {"b", "Figure 4, left: search, batches of 2^20", "keys", {}},
                              {"c", "Figure 4, right: a scalar operation on all values", "keys", {}}};
    for (const auto dev : devices_) {
      const bool gpu = dev == device_choice::gpu;
      for (std::size_t i = 0; i < 2; ++i) {
        options trees = of_nodes(dev, growing(), operation::find, few_slots);
        if (!gpu) trees.peers = {"absl-btree"};
        options flat = common(dev, growing(), operation::find);
        flat.index = index_kind::static_tree;
        flat.peers = {gpu ? "thrust-lower-bound" : "lower-bound"};
        for (options* const o : {&trees, &flat}) {
          o->queries = {i == 0 ? 100 : std::uint64_t{1} << 20};
          for (const auto& r : measured(i == 0 ? "figure 4a" : "figure 4b", *o, part).rows)
            by_size(r, panels[i].curves);
        }
      }
      const options visits = of_nodes(dev, growing(), operation::visit, few_slots);
      for (const auto& r : measured("figure 4c", visits, part, measure_scalar_visits).rows)
        by_size(r, panels[2].curves);
    }
    show("4",
         "left, the average of 100 random searches, 100 K to 30 M elements, pages of 2048, 8196 and 16384, compared "
         "with Thrust on a flat array and an STX B+tree; right, a scalar operation on all values, pages of 16384: the "
         "tree is close to Thrust on a flat array, and the CPU's tree far slower.",
         panels, part);
    return part;
  }

  void show(const std::string& figure, const std::string& paper, const std::vector<panel>& panels,
            suite_part& part) const {
    part.tables = fmt::format("## Figure {}\n\nThe paper: {}\n\n", figure, paper);
    for (const auto& p : panels) {
      const std::string file = fmt::format("figure-{}{}.svg", figure, p.letter);
      part.plots.emplace_back(file, to_svg(p.curves.plot(p.title, p.x_label, "seconds per element", false)));
      part.tables += fmt::format("### {}\n\nNanoseconds per element.\n\n", p.title) + p.curves.table(p.x_label, 1e-9) +
                     markdown_image(p.title, file);
    }
    part.tables +=
        fmt::format("{}Sizes up to {} keys. ", devices_.back() == device_choice::cpu ? "No GPU was measured. " : "",
                    size_text(what_.most_keys)) +
        provenance(what_.base);
  }

  const suite_options& what_;
  std::vector<device_choice> devices_;
  std::vector<std::string> chosen_;
  suite_folder folder_;
};

}  // namespace

void run_large_pages_suite(const suite_options& what, std::ostream& out) {
  check_suite(what, least_large_page_keys, 100'000'000);
  large_pages_suite(what, out).run();
}

}  // namespace espalier::bench
