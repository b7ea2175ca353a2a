// btree_suite.cpp - see btree_suite.hpp.
#include "bench/btree_suite.hpp"

#include <fmt/format.h>

#include <bit>
#include <future>
#include <iterator>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "bench/row.hpp"
#include "bench/runner.hpp"
#include "bench/svg_plot.hpp"

namespace espalier::bench {
namespace {

constexpr std::uint64_t least_keys = std::uint64_t{1} << 10;

/// B+tree and B-link tree of the paper, and the B-link tree with an express lane.
const std::vector<std::pair<blink_shape, const char*>>& trees() {
  static const std::vector<std::pair<blink_shape, const char*>> list{
      {{protocol::couple, upper::classic, 0}, "B+tree"},
      {{protocol::link, upper::classic, 0}, "B-link"},
      {{protocol::link, upper::express, 0}, "B-link express"}};
  return list;
}

struct data_set {
  distribution shape;
  scalar_kind key;
};
constexpr data_set data_sets[] = {{distribution::shuffled, scalar_kind::u32},
                                  {distribution::ascending, scalar_kind::u32},
                                  {distribution::gaussian, scalar_kind::u32},
                                  {distribution::mesh, scalar_kind::u64}};

/// Seconds of one run, for how many operations.
struct sample {
  double seconds = 0;
  std::uint64_t work = 0;
  [[nodiscard]] double rate() const { return seconds > 0 ? static_cast<double>(work) / seconds : 0; }
};

/// Results of one data set and operation: by number of keys, then by who was measured.
using results = std::map<std::uint64_t, std::map<std::string, sample>>;

const std::string baseline = "std::map";

class btree_suite {
 public:
  btree_suite(const suite_options& what, std::ostream& out)
      : what_(what), devices_(suite_devices(what.base)), folder_(what.folder, out) {}

  void run() {
    measure_peers();
    for (const auto& set : data_sets) {
      for (const auto where : devices_) {
        report part = run_benchmarks(options_for(set, where));
        collect_trees(set.shape, part);
        folder_.keep(where, std::move(part));
      }
    }
    write_tables();
    write_plots();
  }

 private:
  /// Maps take longer than all trees, and run in one thread: those of several data sets side by side, where there are
  /// cores enough for them not to notice each other.
  void measure_peers() {
    const bool side_by_side = std::thread::hardware_concurrency() >= 2 * std::size(data_sets);
    std::vector<options> asked;
    for (const auto& set : data_sets) {
      options& o = asked.emplace_back(options_for(set, device_choice::cpu));
      o.threads = {1};
      o.blink.shapes.resize(1);
      o.peers = {"std-map", "absl-btree"};
    }
    std::vector<std::future<report>> parts;
    for (const auto& o : asked) {
      parts.push_back(
          std::async(side_by_side ? std::launch::async : std::launch::deferred, [&o] { return run_benchmarks(o); }));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      report part = parts[i].get();
      collect_peers(data_sets[i].shape, part);
      folder_.keep(device_choice::cpu, std::move(part));
    }
  }

  [[nodiscard]] options options_for(const data_set& set, device_choice where) const {
    options o = what_.base;
    o.index = index_kind::blink;
    o.where = where;
    o.keys.clear();
    for (std::uint64_t n = least_keys; n <= what_.most_keys; n *= 2) o.keys.push_back(n);
    o.queries = {as_many_as_keys};
    o.key_types = {set.key};
    o.distributions = {set.shape};
    o.operations = {operation::find, operation::insert_empty};
    o.peers.clear();
    o.force_peers = true;
    o.blink.shapes.clear();
    for (const auto& tree : trees()) o.blink.shapes.push_back(tree.first);
    o.blink.paths = {write_path::per_key};
    o.blink.requests = request_order::in_order;
    o.blink.single_threaded_peers = true;
    return o;
  }

  static std::string name_of_tree(const row& r) {
    for (const auto& [shape, name] : trees()) {
      if (r.blink->policy == name_in(protocol_names, shape.how) &&
          r.blink->upper == name_in(upper_names, shape.above)) {
        return fmt::format("{}, {}", name, r.device == "gpu" ? "GPU" : "CPU");
      }
    }
    return "?";
  }

  void collect_trees(distribution shape, const report& part) {
    for (const auto& r : part.rows) results_[{shape, r.op}][r.keys][name_of_tree(r)] = {r.seconds, r.queries};
  }
  void collect_peers(distribution shape, const report& part) {
    for (const auto& r : part.rows) {
      for (const auto& p : r.peers) {
        results_[{shape, r.op}][r.keys][p.name == "std-map" ? baseline : "absl::btree_map"] = {p.seconds, p.queries};
      }
    }
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto where : devices_) {
      for (const auto& [shape, name] : trees()) {
        list.push_back(fmt::format("{}, {}", name, where == device_choice::gpu ? "GPU" : "CPU"));
      }
    }
    list.emplace_back("absl::btree_map");
    return list;
  }

  /// As in the paper: the exponent, milliseconds of std::map, and how many times as fast the others are.
  [[nodiscard]] std::string table(const std::string& title, distribution shape, operation op) const {
    std::vector<std::string> head{"2^x", baseline + " [ms]"};
    for (const auto& name : names()) head.push_back(name);
    std::vector<std::vector<std::string>> lines;
    for (const auto& [keys, measured] : results_.at({shape, std::string(name_of(op))})) {
      const double base = measured.at(baseline).rate();
      // The map may have been asked a part of what the trees were asked.
      const double asked = static_cast<double>(measured.at(names().front()).work);
      auto& cells = lines.emplace_back();
      cells.push_back(std::to_string(std::bit_width(keys) - 1));
      cells.push_back(fmt::format("{:.3f}", base > 0 ? asked / base * 1e3 : 0));
      for (const auto& name : names()) {
        const bool known = base > 0 && measured.contains(name);
        cells.push_back(known ? fmt::format("{:.3f}", measured.at(name).rate() / base) : "");
      }
    }
    return fmt::format("## {}\n\n", title) + markdown_table(head, lines);
  }

  void write_tables() const {
    std::string text =
        "# B-trees beside std::map\n\nSpeed-up over one thread of `std::map` (and its time for all n operations); keys "
        "and values have 32 bits, those of the mesh 64. `std::map` and `absl::btree_map` run in one thread; on "
        "machines "
        "of 8 cores or more their data sets are measured at the same time, before the trees.\n\n" +
        provenance(what_.base, folder_.kept(device_choice::cpu).rows.back().threads);
    text += table("Table 5.2: search, shuffled sequence", distribution::shuffled, operation::find);
    text += table("Table 5.3: search, ascending sequence", distribution::ascending, operation::find);
    text += table("Table 5.4: insertion, shuffled sequence", distribution::shuffled, operation::insert_empty);
    text += table("Edges of a triangle mesh: search", distribution::mesh, operation::find);
    text += table("Edges of a triangle mesh: insertion, inner edges come twice", distribution::mesh,
                  operation::insert_empty);
    for (const auto& f : figures()) text += fmt::format("![{}]({})\n\n", f.title, f.file);
    folder_.save("tables.md", text);
  }

  struct figure {
    const char* file;
    const char* title;
    distribution shape;
    operation op;
  };
  static const std::vector<figure>& figures() {
    static const std::vector<figure> list{
        {"figure-5.2.svg", "Figure 5.2: search, gaussian distribution", distribution::gaussian, operation::find},
        {"figure-5.3.svg", "Figure 5.3: insertion, gaussian distribution", distribution::gaussian,
         operation::insert_empty},
        {"figure-5.4.svg", "Figure 5.4: insertion, ascending sequence", distribution::ascending,
         operation::insert_empty},
        {"mesh-search.svg", "Edges of a triangle mesh: search", distribution::mesh, operation::find},
        {"mesh-insertion.svg", "Edges of a triangle mesh: insertion", distribution::mesh, operation::insert_empty}};
    return list;
  }

  void write_plots() const {
    for (const auto& f : figures()) {
      svg_plot plot{f.title, "keys", f.op == operation::find ? "queries per second" : "inserted pairs per second", {}};
      std::vector<std::string> list = names();
      list.insert(list.begin(), baseline);
      for (const auto& name : list) {
        svg_series s{name, {}};
        for (const auto& [keys, measured] : results_.at({f.shape, std::string(name_of(f.op))})) {
          if (measured.contains(name)) s.points.emplace_back(static_cast<double>(keys), measured.at(name).rate());
        }
        plot.series.push_back(std::move(s));
      }
      folder_.save(f.file, to_svg(plot));
    }
  }

  const suite_options& what_;
  std::vector<device_choice> devices_;
  suite_folder folder_;
  std::map<std::pair<distribution, std::string>, results> results_;
};

}  // namespace

void run_btree_suite(const suite_options& what, std::ostream& out) {
  check_suite(what, least_keys, std::uint64_t{1} << 28);
  btree_suite(what, out).run();
}

}  // namespace espalier::bench
