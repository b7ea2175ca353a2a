// btree_suite.cpp - see btree_suite.hpp.
#include "bench/btree_suite.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
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
  btree_suite(const btree_suite_options& what, std::ostream& out) : what_(what), out_(out) {
    if (what.most_keys < least_keys || what.most_keys > std::uint64_t{1} << 28) {
      throw bad_arguments(fmt::format("--max-keys is {}: give 2^10 to 2^28.", size_text(what.most_keys)));
    }
    if (what.base.threads.size() != 1) throw bad_arguments("--threads: a suite takes one number of threads.");
    devices_ = {device_choice::cpu};
    if (what.base.where == device_choice::gpu || (what.base.where == device_choice::automatic && has_gpu())) {
      devices_.push_back(device_choice::gpu);
    }
    std::error_code failed;
    std::filesystem::create_directories(what.folder, failed);
    if (failed || !open("tables.md")) {
      throw bad_arguments(fmt::format("--out: the folder '{}' cannot be written to.", what.folder));
    }
  }

  void run() {
    for (const auto& set : data_sets) {
      for (const auto where : devices_) {
        // Peers beside one of the trees: they do not depend on which, and take longer than all of them.
        for (const bool first : {true, false}) {
          report part = run_benchmarks(options_for(set, where, first));
          collect(set.shape, part);
          keep(where, std::move(part));
        }
      }
    }
    write_tables();
    write_plots();
  }

 private:
  static bool has_gpu() { return device::best().kind() == device_kind::cuda; }

  [[nodiscard]] std::ofstream open(const std::string& name) const {
    return std::ofstream(std::filesystem::path(what_.folder) / name);
  }
  void save(const std::string& name, const std::string& text) const {
    std::ofstream file = open(name);
    file << text;
    if (!file.flush()) throw std::runtime_error(fmt::format("Writing '{}' into '{}' failed.", name, what_.folder));
    fmt::print(out_, "{}\n", (std::filesystem::path(what_.folder) / name).string());
  }

  /// For the first of the trees, with peers, or for the others.
  [[nodiscard]] options options_for(const data_set& set, device_choice where, bool first) const {
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
    if (where == device_choice::cpu && first) o.peers = {"std-map", "absl-btree"};
    o.force_peers = true;
    o.blink.shapes.clear();
    for (const auto& tree : trees()) {
      if ((&tree == &trees().front()) == first) o.blink.shapes.push_back(tree.first);
    }
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

  void collect(distribution shape, const report& part) {
    for (const auto& r : part.rows) {
      auto& at = results_[{shape, r.op}][r.keys];
      at[name_of_tree(r)] = {r.seconds, r.queries};
      for (const auto& p : r.peers) {
        at[p.name == "std-map" ? baseline : "absl::btree_map"] = {p.seconds, p.queries};
      }
    }
  }

  /// Kept after each data set: a run that is cut short leaves what it has.
  void keep(device_choice where, report part) {
    report& all = reports_[where];
    if (all.rows.empty()) {
      all = std::move(part);
    } else {
      std::move(part.rows.begin(), part.rows.end(), std::back_inserter(all.rows));
    }
    std::ofstream file = open(where == device_choice::gpu ? "results-gpu.json" : "results-cpu.json");
    write_json(all, file);
    if (!file.flush()) throw std::runtime_error(fmt::format("Writing into '{}' failed.", what_.folder));
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
    std::string text = fmt::format("## {}\n\n| 2^x | {} [ms] |", title, baseline);
    for (const auto& name : names()) text += fmt::format(" {} |", name);
    text += "\n|---:|---:|";
    for (std::size_t i = 0; i < names().size(); ++i) text += "---:|";
    text += '\n';
    for (const auto& [keys, measured] : results_.at({shape, std::string(name_of(op))})) {
      const double base = measured.at(baseline).rate();
      // The map may have been asked a part of what the trees were asked.
      const double asked = static_cast<double>(measured.at(names().front()).work);
      text += fmt::format("| {} | {:.3f} |", std::bit_width(keys) - 1, base > 0 ? asked / base * 1e3 : 0);
      for (const auto& name : names()) {
        text += base > 0 && measured.contains(name) ? fmt::format(" {:.3f} |", measured.at(name).rate() / base) : " |";
      }
      text += '\n';
    }
    return text + '\n';
  }

  void write_tables() const {
    const machine m = describe_machine();
    std::string text = fmt::format(
        "# B-trees beside std::map\n\nSpeed-up over one thread of `std::map` (and its time for all n operations); keys "
        "and "
        "values have 32 bits, those of the mesh 64.\n\nCPU: {}, {} threads. GPU: {}. Commit {}, {}.\nCommand: "
        "`{}`.\n\n",
        m.cpu, reports_.at(device_choice::cpu).rows.front().threads, m.gpus.empty() ? "none" : m.gpus.front().name,
        m.commit, m.compiler, what_.base.command);
    text += table("Table 5.2: search, shuffled sequence", distribution::shuffled, operation::find);
    text += table("Table 5.3: search, ascending sequence", distribution::ascending, operation::find);
    text += table("Table 5.4: insertion, shuffled sequence", distribution::shuffled, operation::insert_empty);
    text += table("Edges of a triangle mesh: search", distribution::mesh, operation::find);
    text += table("Edges of a triangle mesh: insertion, inner edges come twice", distribution::mesh,
                  operation::insert_empty);
    for (const auto& f : figures()) text += fmt::format("![{}]({})\n\n", f.title, f.file);
    save("tables.md", text);
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
      save(f.file, to_svg(plot));
    }
  }

  const btree_suite_options& what_;
  std::ostream& out_;
  std::vector<device_choice> devices_;
  std::map<std::pair<distribution, std::string>, results> results_;
  std::map<device_choice, report> reports_;
};

}  // namespace

void run_btree_suite(const btree_suite_options& what, std::ostream& out) { btree_suite(what, out).run(); }

}  // namespace espalier::bench
