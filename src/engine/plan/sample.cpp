#include "engine/plan/sample.hpp"

#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "engine/catalog.hpp"
#include "engine/error.hpp"
#include "engine/expr/evaluate.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/keys/groups.hpp"
#include "engine/stop.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

constexpr std::uint64_t sampled_rows = 512;

constexpr std::uint64_t sampled_bytes = std::uint64_t{1} << 22;  // approximate bytes of text

// Returns live rows, evenly spread over the table, and fewer of them if these columns have long texts.
std::vector<std::uint64_t> sample_of(const table_version& table, const std::vector<std::size_t>& columns) {
  const std::uint64_t rows = table.rows();
  std::uint64_t text = 0;
  for (const auto column : columns) text += static_cast<std::uint64_t>(text_bytes(*table.data(column)));
  const std::uint64_t of_a_row = rows == 0 ? 0 : text / rows;
  const std::uint64_t count =
      std::min({rows, sampled_rows, std::max<std::uint64_t>(8, sampled_bytes / (of_a_row + 1))});
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t row = rows * i / count;
    if (!table.is_deleted(row)) out.push_back(row);
  }
  return out;
}

bool can_be_evaluated(const expr_ptr& e, const planner_options& options) {
  return !any_node(e, [&](const expr& node) {
    return node.query ||
           (node.kind == op::parameter && static_cast<std::size_t>(node.number) > options.parameters.size());
  });
}

// Estimates the number of distinct values with Haas and Stokes' Duj1 estimator, as PostgreSQL does.
double estimated_value_count(double rows, double sampled, double different, double once) {
  if (sampled >= rows) return different;
  if (once >= sampled) return rows;
  return std::clamp(sampled * different / (sampled - once + once * sampled / rows), different, rows);
}

double count_values(const table_version& table, std::size_t column) {
  const cancellation_scope unasked(nullptr);  // takes microseconds, at the first statement that needs it
  const std::vector<std::size_t> columns{column};
  const auto rows = sample_of(table, columns);
  if (rows.empty()) return 1;
  const auto values = table.take(columns, rows)->column(0);
  const auto groups = grouped({group_codes(*values)}, rows.size());
  std::vector<std::uint32_t> times(groups.count(), 0);
  for (std::size_t row = 0; row < rows.size(); ++row) ++times[groups.group(row)];
  const auto once = static_cast<double>(std::count(times.begin(), times.end(), 1U));
  return estimated_value_count(static_cast<double>(table.live_rows()), static_cast<double>(rows.size()),
                               static_cast<double>(groups.count()), once);
}

// A cache of distinct counts by table version and column, with a limited number of entries.
class remembered_counts {
 public:
  double get(const table_version::pointer& table, std::size_t column) {
    const std::pair key(table.get(), column);
    {
      const std::lock_guard hold(mutex_);
      const auto found = counts_.find(key);
      // A later version may have been allocated at the address of a freed one, so the weak pointer is checked.
      if (found != counts_.end() && !found->second.of.expired()) return found->second.count;
    }
    const double count = count_values(*table, column);
    const std::lock_guard hold(mutex_);
    if (counts_.size() >= most) counts_.clear();
    counts_[key] = {table, count};
    return count;
  }

 private:
  static constexpr std::size_t most = 4096;
  struct entry {
    std::weak_ptr<const table_version> of;
    double count = 0;
  };
  std::mutex mutex_;
  std::map<std::pair<const table_version*, std::size_t>, entry> counts_;
};

}  // namespace

std::optional<double> sampled_share(const scan_node& scan, const planner_options& options) {
  const auto possible = [&](const expr_ptr& e) { return can_be_evaluated(e, options); };
  if (!std::all_of(scan.conditions.begin(), scan.conditions.end(), possible)) return std::nullopt;
  std::set<column_id> read;
  for (const auto& condition : scan.conditions) collect_columns(condition, read);
  std::vector<std::size_t> columns;
  relation sample;
  for (std::size_t i = 0; i < scan.columns.size(); ++i) {
    if (!read.contains(scan.outputs[i].id)) continue;
    columns.push_back(scan.columns[i]);
    sample.ids.push_back(scan.outputs[i].id);
  }
  if (columns.empty()) return std::nullopt;
  const auto rows = sample_of(*scan.table->version, columns);
  if (rows.empty()) return std::nullopt;
  sample.rows = static_cast<std::int64_t>(rows.size());
  sample.columns = scan.table->version->take(columns, rows)->columns();
  evaluation values;
  values.parameters = options.parameters;
  try {
    const auto passed = static_cast<double>(values.filter(scan.conditions, sample).rows);
    return std::max(passed, 0.5) / static_cast<double>(rows.size());
  } catch (const located_error&) {
    return std::nullopt;  // the error is reported at execution
  }
}

bool appears_sorted(const table_entry& table, std::size_t column) {
  const std::vector<std::size_t> columns{column};
  const auto rows = sample_of(*table.version, columns);
  if (rows.empty()) return false;
  const auto codes = ordered_codes(*table.version->take(columns, rows)->column(0));
  const auto key = [&](std::size_t i) { return std::pair(codes.high.empty() ? 0 : codes.high[i], codes.words[i]); };
  std::size_t last = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (codes.is_null(i)) continue;
    if (key(i) < key(last)) return false;
    last = i;
  }
  return true;
}

double sampled_value_count(const table_entry& table, std::size_t column) {
  static remembered_counts counts;
  return counts.get(table.version, column);
}

}  // namespace espalier::engine
