// pair_figures.cpp - see pair_figures.hpp.
#include "bench/papers/btree_query_engine/pair_figures.hpp"

#include <arrow/table.h>
#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "bench/harness/figure_curves.hpp"
#include "bench/harness/runner.hpp"
#include "bench/query/sql_under_test.hpp"

namespace espalier::bench {
namespace {

constexpr std::array questions{key_question::range, key_question::count, key_question::sum};
constexpr std::array index_kinds{"static", "blink", "radix", "hybrid"};
constexpr std::uint64_t least_rows = std::uint64_t{1} << 15;  // the only size in the paper
constexpr std::uint64_t most_asked = std::uint64_t{1} << 20;
constexpr std::uint64_t asked_of_each_size = std::uint64_t{1} << 10;
constexpr std::size_t different_statements = 16;

class pair_figures {
 public:
  pair_figures(query_setting& setting, pair_kind kind) : setting_(setting), kind_(kind) {
    for (std::uint64_t n = least_rows; n < setting.what.most_keys; n *= 4) sizes_.push_back(n);
    sizes_.push_back(setting.what.most_keys);
    for (const auto dev : setting.devices) part_.reports[dev] = begin_report(setting.what.base);
  }

  [[nodiscard]] suite_part measure() {
    for (const auto n : sizes_) {
      const timed_log log(fmt::format("{} pairs, {} rows", name_of(kind_), size_text(n)));
      measure_size(n);
    }
    for (const auto question : questions) show(question);
    part_.tables += setting_.duckdb.about() + '\n' + provenance(setting_.what.base);
    return std::move(part_);
  }

 private:
  // ---- measuring ------------------------------------------------------------------------------------------------

  /// Returns the x values of the curves: scans take long, and equally long for every range.
  [[nodiscard]] std::vector<std::uint64_t> asked_of(std::uint64_t rows, bool scan) const {
    if (rows != sizes_.front() && rows != sizes_.back()) return {asked_of_each_size};
    std::vector<std::uint64_t> list;
    for (std::uint64_t asked = 1; asked <= most_asked; asked *= scan ? 32 : 2) list.push_back(asked);
    return list;
  }

  void measure_size(std::uint64_t n) {
    const key_table table(kind_, n, setting_.what.base.seed);
    const scratch_file file(setting_.folder, "pairs.parquet");
    write_parquet_file(file.path(), n, table.source());
    by_duckdb_.clear();
    setting_.duckdb.run(fmt::format("CREATE OR REPLACE TABLE t AS SELECT * FROM read_parquet('{}')", file.path()));
    measure_duckdb(table);
    setting_.duckdb.run("DROP TABLE t");
    for (const auto dev : setting_.devices) {
      sql_under_test tested(dev, setting_.threads);
      tested.load("t", file.path());
      if (dev == device_choice::cpu) measure_ours(tested, table, dev, "none");
      for (const char* const kind : index_kinds) {
        tested.run(fmt::format("CREATE INDEX i ON t USING {} (k) INCLUDE (v)", kind));
        measure_ours(tested, table, dev, kind);
        tested.run("DROP INDEX i");
      }
    }
  }

  void measure_duckdb(const key_table& table) {
    for (const auto asked : asked_of(table.rows(), true)) {
      const auto ranges = table.ranges(different_statements, asked);
      for (const auto question : questions) {
        const auto timing = setting_.duckdb.ask(table.statements(question, ranges), setting_.what.base.repeat);
        if (!timing) return;
        table.check(question, ranges.front(), *timing->answer);
        by_duckdb_[{question, asked}] = timing->seconds;
        add(question, table.rows(), asked, "DuckDB", timing->seconds);
      }
    }
  }

  void measure_ours(sql_under_test& tested, const key_table& table, device_choice dev, const std::string& index) {
    const std::string curve = fmt::format("{}, {}", index == "none" ? "no index" : index, processor_name(dev));
    for (const auto asked : asked_of(table.rows(), index == "none")) {
      const auto ranges = table.ranges(different_statements, asked);
      for (const auto question : questions) {
        const auto statements = table.statements(question, ranges);
        table.check(question, ranges.front(), *tested.ask(statements.front()));
        const double seconds = tested.seconds(statements, setting_.what.base.repeat);
        add(question, table.rows(), asked, curve, seconds);
        add_row(question, table, asked, dev, index, seconds);
      }
    }
  }

  void add(key_question question, std::uint64_t rows, std::uint64_t asked, const std::string& curve, double seconds) {
    if (rows == sizes_.front() || rows == sizes_.back()) {
      by_asked_[{question, rows}].add(static_cast<double>(asked), size_text(asked), curve, seconds);
    }
    if (asked == asked_of_each_size) {
      by_rows_[question].add(static_cast<double>(rows), size_text(rows), curve, seconds);
    }
  }

  void add_row(key_question question, const key_table& table, std::uint64_t asked, device_choice dev,
               const std::string& index, double seconds) {
    row r = setting_.result(dev, name_of(question), table.rows(), seconds);
    r.index = index;
    r.key_type = r.value_type = "i32";
    r.distribution = name_of(kind_);
    r.range_elements = asked;
    if (const auto peer = by_duckdb_.find({question, asked}); peer != by_duckdb_.end()) {
      add_peer(r, "duckdb", peer->second);
    }
    part_.reports[dev].rows.push_back(std::move(r));
  }

  // ---- showing --------------------------------------------------------------------------------------------------

  void show(key_question question) {
    const unsigned number =
        (kind_ == pair_kind::identical ? 8U : 11U) + static_cast<unsigned>(question);  // the order in the paper
    part_.tables += fmt::format("## Figure {}: {}, {} key-value pairs\n\nMilliseconds of one statement.\n\n", number,
                                describe(question), name_of(kind_));
    char letter = 'a';
    std::vector<std::uint64_t> shown{sizes_.front()};
    if (sizes_.size() > 1) shown.push_back(sizes_.back());
    for (const auto n : shown) {
      show_panel(fmt::format("{}{}", number, letter++),
                 fmt::format("{} from {} rows", describe(question), size_text(n)), "keys in the range",
                 by_asked_[{question, n}]);
    }
    show_panel(fmt::format("{}{}", number, letter),
               fmt::format("{} of {} keys by rows of the table", describe(question), asked_of_each_size),
               "rows of the table", by_rows_[question]);
  }
  void show_panel(const std::string& figure, const std::string& title, const std::string& x,
                  const figure_curves& curves) {
    const std::string file = fmt::format("figure-{}.svg", figure);
    part_.plots.emplace_back(file, to_svg(curves.plot(title, x, "seconds of a statement", false)));
    part_.tables += fmt::format("### {}: {}\n\n", figure, title) + curves.table(x, 1e-3) + markdown_image(title, file);
  }
  [[nodiscard]] static const char* describe(key_question question) {
    return question == key_question::range ? "range selection" : question == key_question::count ? "COUNT" : "SUM";
  }

  query_setting& setting_;
  pair_kind kind_;
  std::vector<std::uint64_t> sizes_;
  std::map<std::pair<key_question, std::uint64_t>, double> by_duckdb_;  ///< for the current table
  std::map<std::pair<key_question, std::uint64_t>, figure_curves> by_asked_;
  std::map<key_question, figure_curves> by_rows_;
  suite_part part_;
};

}  // namespace

suite_part measure_pairs(query_setting& setting, pair_kind kind) { return pair_figures(setting, kind).measure(); }

}  // namespace espalier::bench
