// text_table.hpp - prints cells in columns; the first column is left-aligned, numbers and the rest right-aligned.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace espalier::cli {

class text_table {
 public:
  explicit text_table(std::vector<std::string> header) : header_(std::move(header)) {}
  void add_column(std::string title) { header_.push_back(std::move(title)); }
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// Columns that are empty in every row are omitted.
  [[nodiscard]] std::string text() const {
    const auto widths = column_widths();
    std::string rule;
    for (const auto w : widths) rule += w == 0 ? "" : std::string(w + 2, '-');
    std::string out = line(header_, widths) + rule + '\n';
    for (const auto& row : rows_) out += line(row, widths);
    return out;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> column_widths() const {
    std::vector<std::size_t> widths(header_.size(), 0);
    for (const auto& row : rows_) {
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    }
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (widths[c] != 0) widths[c] = std::max(widths[c], header_[c].size());
    }
    return widths;
  }
  [[nodiscard]] static std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
    std::string out;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (widths[c] == 0) continue;
      const std::string pad(widths[c] - cells[c].size(), ' ');
      out += c == 0 ? cells[c] + pad + "  " : pad + cells[c] + "  ";
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + '\n';
  }

  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace espalier::cli
