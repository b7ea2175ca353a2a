// btree_suite.cpp - see btree_suite.hpp.
#include "bench/papers/btree_on_gpu/btree_suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/parallel_tasks.hpp"
#include "bench/harness/row.hpp"
#include "bench/harness/runner.hpp"
#include "bench/harness/svg_plot.hpp"
#include "bench/papers/btree_on_gpu/btree_maps.hpp"

namespace espalier::bench {
namespace {

constexpr std::uint64_t least_keys = std::uint64_t{1} << 10;

constexpr const char* btree_introduction =
    "# B-trees beside std::map\n\nSpeed-up over one thread of `std::map` (and its time for all n operations); keys and "
    "values have 32 bits, those of the mesh 64. `std::map` and `absl::btree_map` run in one thread, where there are "
    "cores enough several at the same time, before the trees.\n\n";

/// The B+tree and the B-link tree of the paper, and the B-link tree with an express lane.
const std::vector<std::pair<blink_shape, const char*>>& trees() {
  static const std::vector<std::pair<blink_shape, const char*>> list{
      {{protocol::latch_coupling, inner_index::inner_nodes, 0}, "B+tree"},
      {{protocol::blink, inner_index::inner_nodes, 0}, "B-link"},
      {{protocol::blink, inner_index::express_lane, 0}, "B-link express"}};
  return list;
}

struct data_set {
  distribution shape;
  scalar_kind key;
};
const std::vector<data_set>& data_sets() {
  static const std::vector<data_set> list{{distribution::shuffled, scalar_kind::u32},
                                          {distribution::ascending, scalar_kind::u32},
                                          {distribution::gaussian, scalar_kind::u32},
                                          {distribution::mesh, scalar_kind::u64}};
  return list;
}
std::vector<std::string> part_names() {
  std::vector<std::string> names;
  for (const auto& set : data_sets()) names.emplace_back(name_of(set.shape));
  return names;
}

/// The seconds of one run, and its number of operations.
struct sample {
  double seconds = 0;
  std::uint64_t work = 0;
  [[nodiscard]] double rate() const { return seconds > 0 ? static_cast<double>(work) / seconds : 0; }
};

/// The results of one operation on a data set, by number of keys, then by the name of the tree or map.
using results = std::map<std::uint64_t, std::map<std::string, sample>>;
using results_by_operation = std::map<std::string, results>;

const std::string baseline = "std::map";

/// A table or a plot of the paper, or both.
struct display {
  const char* title;
  distribution shape;
  operation op;
  bool as_table;
  const char* plot_file;  ///< null if there is none
};
const std::vector<display>& displays() {
  constexpr auto find = operation::find, insert = operation::insert_empty;
  static const std::vector<display> list{
      {"Table 5.2: search, shuffled sequence", distribution::shuffled, find, true, nullptr},
      {"Table 5.4: insertion, shuffled sequence", distribution::shuffled, insert, true, nullptr},
      {"Table 5.3: search, ascending sequence", distribution::ascending, find, true, nullptr},
      {"Figure 5.4: insertion, ascending sequence", distribution::ascending, insert, false, "figure-5.4.svg"},
      {"Figure 5.2: search, gaussian distribution", distribution::gaussian, find, false, "figure-5.2.svg"},
      {"Figure 5.3: insertion, gaussian distribution", distribution::gaussian, insert, false, "figure-5.3.svg"},
      {"Edges of a triangle mesh: search", distribution::mesh, find, true, "mesh-search.svg"},
      {"Edges of a triangle mesh: insertion, inner edges come twice", distribution::mesh, insert, true,
       "mesh-insertion.svg"}};
  return list;
}

class btree_suite {
 public:
  btree_suite(const suite_options& what, std::ostream& out)
      : what_(what),
        devices_(suite_devices(what.base)),
        chosen_(chosen_sets(what)),
        folder_(what.folder, btree_introduction, part_names(), out) {}

  void run() const {
    const std::vector<map_timing> all = measure_all_maps();
    for (const auto& set : chosen_) {
      std::vector<map_timing> maps = all;
      std::erase_if(maps, [&](const map_timing& m) { return m.shape != set.shape; });
      folder_.save(std::string(name_of(set.shape)), measure(set, maps));
    }
  }

 private:
  [[nodiscard]] static std::vector<data_set> chosen_sets(const suite_options& what) {
    const std::vector<std::string> names = chosen_parts(what, part_names());
    std::vector<data_set> chosen = data_sets();
    std::erase_if(chosen, [&](const data_set& set) {
      return std::find(names.begin(), names.end(), name_of(set.shape)) == names.end();
    });
    return chosen;
  }

  /// Maps take longer than all trees and run in one thread, so several of them run concurrently if there are enough
  /// cores that they do not affect each other.
  [[nodiscard]] std::vector<map_timing> measure_all_maps() const {
    std::string names;
    std::vector<data_spec> specs;
    for (const auto& set : chosen_) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(set.shape));
      for (const auto n : sizes()) specs.push_back({set.key, set.key, set.shape, n, what_.base.seed});
    }
    const timed_log log("maps of " + names);
    return measure_maps(specs, {what_.base.repeat, what_.base.write_repeat, std::max<std::size_t>(cores() / 2, 1)});
  }

  [[nodiscard]] suite_part measure(const data_set& set, const std::vector<map_timing>& maps) const {
    suite_part part;
    results_by_operation measured;
    for (const auto& m : maps) {
      measured[std::string(name_of(m.op))][m.keys][m.result.name == "std-map" ? baseline : "absl::btree_map"] = {
          m.result.seconds, m.result.queries};
    }
    for (const auto dev : devices_) {
      const timed_log log(fmt::format("{} on the {}", name_of(set.shape), dev == device_choice::gpu ? "GPU" : "CPU"));
      report& result = part.reports[dev] = run_benchmarks(options_for(set, dev));
      for (const auto& r : result.rows) measured[r.op][r.keys][name_of_tree(r)] = {r.seconds, r.queries};
    }
    add_maps(maps, part.reports[device_choice::cpu]);
    for (const auto& d : displays()) {
      if (d.shape != set.shape) continue;
      const results& shown = measured.at(std::string(name_of(d.op)));
      part.tables += fmt::format("## {}\n\n", d.title);
      if (d.as_table) part.tables += table(shown);
      if (d.plot_file != nullptr) {
        part.tables += markdown_image(d.title, d.plot_file);
        part.plots.emplace_back(d.plot_file, to_svg(plot(d, shown)));
      }
    }
    part.tables += provenance(what_.base);
    return part;
  }

  /// Adds the maps to the rows of the first tree.
  static void add_maps(const std::vector<map_timing>& maps, report& trees) {
    for (auto& r : trees.rows) {
      if (r.blink->policy != name_in(protocol_names, protocol::latch_coupling)) continue;
      for (const auto& m : maps) {
        if (m.keys != r.keys || name_of(m.op) != r.op) continue;
        peer_result& p = r.peers.emplace_back(m.result);
        const double theirs = p.seconds / static_cast<double>(p.queries);
        if (r.seconds > 0) p.ratio = theirs / (r.seconds / static_cast<double>(r.queries));
        if (r.threads > 1) {
          r.notes.push_back(fmt::format("{}: runs all in one thread, the index uses {}", p.name, r.threads));
        }
      }
    }
  }

  [[nodiscard]] std::vector<std::uint64_t> sizes() const {
    std::vector<std::uint64_t> list;
    for (std::uint64_t n = least_keys; n <= what_.most_keys; n *= 2) list.push_back(n);
    return list;
  }
  [[nodiscard]] options options_for(const data_set& set, device_choice dev) const {
    options o = what_.base;
    o.index = index_kind::blink;
    o.dev = dev;
    o.keys = sizes();
    o.queries = {as_many_as_keys};
    o.key_types = {set.key};
    o.distributions = {set.shape};
    o.operations = {operation::find, operation::insert_empty};
    o.peers.clear();
    o.blink.shapes.clear();
    for (const auto& tree : trees()) o.blink.shapes.push_back(tree.first);
    o.blink.paths = {write_path::per_key};
    o.blink.requests = request_order::in_order;
    return o;
  }

  static std::string name_of_tree(const row& r) {
    for (const auto& [shape, name] : trees()) {
      if (r.blink->policy == name_in(protocol_names, shape.protocol) &&
          r.blink->upper == name_in(upper_names, shape.inner)) {
        return fmt::format("{}, {}", name, r.device == "gpu" ? "GPU" : "CPU");
      }
    }
    return "?";
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto dev : devices_) {
      for (const auto& [shape, name] : trees()) {
        list.push_back(fmt::format("{}, {}", name, dev == device_choice::gpu ? "GPU" : "CPU"));
      }
    }
    list.emplace_back("absl::btree_map");
    return list;
  }

  /// Columns as in the paper: the exponent, milliseconds of std::map, and the speedups of the others.
  [[nodiscard]] std::string table(const results& shown) const {
    std::vector<std::string> head{"2^x", baseline + " [ms]"};
    for (const auto& name : names()) head.push_back(name);
    std::vector<std::vector<std::string>> lines;
    for (const auto& [keys, measured] : shown) {
      const double base = measured.at(baseline).rate();
      // The map may have executed only a part of the trees' queries.
      const double asked = static_cast<double>(measured.at(names().front()).work);
      auto& cells = lines.emplace_back();
      cells.push_back(std::to_string(std::bit_width(keys) - 1));
      cells.push_back(fmt::format("{:.3f}", base > 0 ? asked / base * 1e3 : 0));
      for (const auto& name : names()) {
        const bool known = base > 0 && measured.contains(name);
        cells.push_back(known ? fmt::format("{:.3f}", measured.at(name).rate() / base) : "");
      }
    }
    return markdown_table(head, lines);
  }

  [[nodiscard]] svg_plot plot(const display& what, const results& shown) const {
    const bool find = what.op == operation::find;
    svg_plot p{what.title, "keys", find ? "queries per second" : "inserted pairs per second", {}};
    std::vector<std::string> list = names();
    list.insert(list.begin(), baseline);
    for (const auto& name : list) {
      svg_series s{name, {}};
      for (const auto& [keys, measured] : shown) {
        if (measured.contains(name)) s.points.emplace_back(static_cast<double>(keys), measured.at(name).rate());
      }
      p.series.push_back(std::move(s));
    }
    return p;
  }

  const suite_options& what_;
  std::vector<device_choice> devices_;
  std::vector<data_set> chosen_;
  suite_folder folder_;
};

}  // namespace

void run_btree_suite(const suite_options& what, std::ostream& out) {
  check_suite(what, least_keys, std::uint64_t{1} << 28);
  btree_suite(what, out).run();
}

}  // namespace espalier::bench
