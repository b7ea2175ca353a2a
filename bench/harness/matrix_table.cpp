// matrix_table.cpp - prints rows of distribution_matrix.hpp as one table.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/cli_names.hpp"
#include "bench/index/blink/distribution_matrix.hpp"
#include "cli/text_table.hpp"

namespace espalier::bench {
namespace {

std::string_view automatic_path() { return name_in(path_names, write_path::automatic); }

std::string millions(double rate) { return rate > 0 ? fmt::format("{:.{}f}", rate / 1e6, rate < 1e8 ? 2 : 0) : "-"; }

/// Returns the columns that the rows of one table line share.
std::vector<std::string> line_of(const row& r) {
  return {r.op,
          r.threads == 0 ? r.device : fmt::format("{} x{}", r.device, r.threads),
          r.key_type + "/" + r.value_type,
          r.blink->batch_distribution,
          r.keys == 0 ? "empty" : size_text(r.keys),
          size_text(r.queries)};
}

std::vector<std::string> distinct_texts(const std::vector<const row*>& rows, std::string (*text)(const row&)) {
  std::vector<std::string> list;
  for (const auto* r : rows) {
    if (std::find(list.begin(), list.end(), text(*r)) == list.end()) list.push_back(text(*r));
  }
  return list;
}

/// Sorts rows by operation; they were measured alternately.
std::vector<const row*> by_operation(const report& result) {
  std::vector<const row*> rows;
  for (const auto& r : result.rows) rows.push_back(&r);
  const auto ops = distinct_texts(rows, [](const row& r) { return r.op; });
  const auto position = [&](const row* r) { return std::find(ops.begin(), ops.end(), r->op) - ops.begin(); };
  std::stable_sort(rows.begin(), rows.end(), [&](auto* a, auto* b) { return position(a) < position(b); });
  return rows;
}

const peer_result* cell_peer(const row& r, const std::string& name) {
  const auto at = std::find_if(r.peers.begin(), r.peers.end(), [&](const peer_result& p) { return p.name == name; });
  return at == r.peers.end() ? nullptr : &*at;
}

class matrix_table {
 public:
  explicit matrix_table(const report& result)
      : rows_(by_operation(result)),
        paths_(distinct_texts(rows_, [](const row& r) { return r.blink->path; })),
        shown_(std::find(paths_.begin(), paths_.end(), automatic_path()) != paths_.end() ? std::string(automatic_path())
                                                                                         : paths_.front()) {
    for (const auto* r : rows_) {
      for (const auto& p : r->peers) {
        if (std::find(peers_.begin(), peers_.end(), p.name) == peers_.end()) peers_.push_back(p.name);
      }
    }
  }

  void write(std::ostream& out) const {
    std::vector<std::string> head{"op", "device", "types", "batch lies", "tree", "batch"};
    for (const auto& path : paths_) head.push_back(path + " M/s");
    head.emplace_back("automatic / better");
    head.push_back(shown_ + " us");
    for (const auto& name : peers_) {
      head.push_back(name + " M/s");
      head.push_back(shown_ + " vs " + name);
    }
    cli::text_table table(head);
    for (auto first = rows_.begin(); first != rows_.end();) {
      const auto line = line_of(**first);
      const auto last = std::find_if(first, rows_.end(), [&](const row* r) { return line_of(*r) != line; });
      table.add_row(cells(line, {first, last}));
      first = last;
    }
    out << table.text();
    write_notes(out);
    write_extremes(out);
  }

 private:
  [[nodiscard]] std::vector<std::string> cells(std::vector<std::string> line,
                                               const std::vector<const row*>& of_line) const {
    const auto by = [&](const std::string& path) -> const row* {
      const auto at = std::find_if(of_line.begin(), of_line.end(), [&](auto* r) { return r->blink->path == path; });
      return at == of_line.end() ? nullptr : *at;
    };
    for (const auto& path : paths_) line.push_back(by(path) != nullptr ? millions(by(path)->rate) : "");
    const row* const shown = by(shown_);
    const double share = shown != nullptr ? shown->blink->of_better_path : 0;
    line.push_back(share > 0 ? ratio_text(share) : "");
    line.push_back(shown != nullptr && shown->seconds > 0 ? fmt::format("{:.0f}", shown->seconds * 1e6) : "");
    for (const auto& name : peers_) {
      const peer_result* const found = shown != nullptr ? cell_peer(*shown, name) : nullptr;
      const bool known = found != nullptr && found->seconds > 0;
      line.push_back(known ? millions(static_cast<double>(found->queries) / found->seconds) : "");
      line.push_back(known ? ratio_text(found->ratio) : "");
    }
    return line;
  }

  void write_notes(std::ostream& out) const {
    std::vector<std::string> notes;
    for (const auto* r : rows_) {
      for (const auto& n : r->notes) {
        if (std::find(notes.begin(), notes.end(), n) == notes.end()) notes.push_back(n);
      }
    }
    for (const auto& n : notes) out << "note: " << n << '\n';
  }

  static std::string place_of(const row& r) {
    return fmt::format("{}, {} into {}, {}", r.blink->batch_distribution, size_text(r.queries),
                       r.keys == 0 ? "an empty tree" : size_text(r.keys), r.blink->path);
  }

  /// The rates of small batches are dominated by the call overhead, so the largest batches are compared.
  void write_extremes(std::ostream& out) const {
    const auto text = [](const row& r) {
      const auto line = line_of(r);
      return fmt::format("{} {} {}", line[0], line[2], line[1]);
    };
    for (const auto& group : distinct_texts(rows_, text)) {
      std::vector<const row*> list;
      std::uint64_t largest = 0;
      for (const auto* r : rows_) {
        if (text(*r) == group && r->blink->path == shown_ && r->rate > 0) list.push_back(r);
        if (text(*r) == group) largest = std::max(largest, r->queries);
      }
      std::vector<const row*> shares = list;
      std::erase_if(shares, [](const row* r) { return r->blink->of_better_path <= 0; });
      std::erase_if(list, [&](const row* r) { return r->queries != largest; });
      const auto rate = [](const row* a, const row* b) { return a->rate < b->rate; };
      const auto share = [](const row* a, const row* b) { return a->blink->of_better_path < b->blink->of_better_path; };
      if (!list.empty()) {
        const auto [worst, best] = std::minmax_element(list.begin(), list.end(), rate);
        fmt::print(out, "{}: worst {} M/s ({}), best {} M/s ({})\n", group, millions((*worst)->rate), place_of(**worst),
                   millions((*best)->rate), place_of(**best));
      }
      if (!shares.empty()) {
        const auto [worst, best] = std::minmax_element(shares.begin(), shares.end(), share);
        fmt::print(out, "{}: automatic / better path: worst {} ({}), best {} ({})\n", group,
                   ratio_text((*worst)->blink->of_better_path), place_of(**worst),
                   ratio_text((*best)->blink->of_better_path), place_of(**best));
      }
    }
  }

  std::vector<const row*> rows_;
  std::vector<std::string> paths_;
  std::string shown_;  ///< the path for which extremes and peers are shown
  std::vector<std::string> peers_;
};

}  // namespace

bool is_matrix(const report& result) {
  return !result.rows.empty() && result.rows.front().blink && !result.rows.front().blink->batch_distribution.empty();
}

void write_matrix(const report& result, std::ostream& out) { matrix_table(result).write(out); }

}  // namespace espalier::bench
