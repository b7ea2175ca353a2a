#include "cli/query/render.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "cli/query/cell_text.hpp"
#include "cli/query/text_width.hpp"

namespace espalier::cli {
namespace {

struct rendered_column {
  std::string title;
  std::vector<std::string> cells;
  std::size_t width = 0;
  bool right = false;
};

// Line breaks and other control characters would break the table.
std::string on_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\r') {
      line += "\\r";
    } else if (c == '\t') {
      line += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      line += c;
    }
  }
  return line;
}

rendered_column render_column(const arrow::Table& rows, int column) {
  rendered_column rendered;
  rendered.title = on_one_line(rows.field(column)->name());
  rendered.right = is_set_right(*rows.field(column)->type());
  rendered.width = text_width(rendered.title);
  for (const auto& chunk : rows.column(column)->chunks()) {
    for (std::int64_t i = 0; i < chunk->length(); ++i) {
      rendered.cells.push_back(on_one_line(cell_text(*chunk, i)));
      rendered.width = std::max(rendered.width, text_width(rendered.cells.back()));
    }
  }
  return rendered;
}

void put_cell(std::string& line, const std::string& text, const rendered_column& column, bool last) {
  const std::string blanks(column.width - text_width(text), ' ');
  line += " ";
  line += column.right ? blanks + text : text;
  if (!column.right && !last) line += blanks;
  line += last ? "" : " |";
}

std::vector<std::string> distinct_names(const arrow::Table& rows) {
  std::vector<std::string> names;
  std::set<std::string> used;
  for (const auto& field : rows.fields()) {
    std::string name = field->name();
    for (int n = 1; !used.insert(name).second; ++n) name = fmt::format("{}_{}", field->name(), n);
    names.push_back(json_string(name));
  }
  return names;
}

// The position of a row in a chunked column, for sequential access.
struct column_walk {
  const arrow::ChunkedArray* data;
  int chunk = 0;
  std::int64_t at = 0;

  void next() {
    ++at;
    settle();
  }
  void settle() {
    while (chunk < data->num_chunks() && at >= data->chunk(chunk)->length()) {
      at -= data->chunk(chunk)->length();
      ++chunk;
    }
  }
};

constexpr std::size_t text_at_once = 1 << 16;

}  // namespace

std::optional<answer_format> answer_format_from(std::string_view name) {
  if (name == "table") return answer_format::table;
  if (name == "csv") return answer_format::csv;
  if (name == "json") return answer_format::json;
  if (name == "arrow") return answer_format::arrow;
  return std::nullopt;
}

void render_table(const arrow::Table& rows, const text_sink& to) {
  std::vector<rendered_column> columns;
  for (int i = 0; i < rows.num_columns(); ++i) columns.push_back(render_column(rows, i));
  std::string titles;
  std::string rule;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    put_cell(titles, columns[i].title, columns[i], i + 1 == columns.size());
    rule += std::string(columns[i].width + 2, '-');
    if (i + 1 < columns.size()) rule += "+";
  }
  to(titles + "\n" + rule + "\n");
  std::string text;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows.num_rows()); ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      put_cell(text, columns[i].cells[row], columns[i], i + 1 == columns.size());
    }
    text += "\n";
    if (text.size() >= text_at_once) {
      to(text);
      text.clear();
    }
  }
  to(text + fmt::format("({} {})\n", rows.num_rows(), rows.num_rows() == 1 ? "row" : "rows"));
}

void render_json(const arrow::Table& rows, const text_sink& to) {
  const auto names = distinct_names(rows);
  std::vector<column_walk> walks;
  for (const auto& column : rows.columns()) {
    walks.push_back({column.get()});
    walks.back().settle();
  }
  std::string text = "[";
  for (std::int64_t row = 0; row < rows.num_rows(); ++row) {
    text += row == 0 ? "{" : ", {";
    for (std::size_t i = 0; i < walks.size(); ++i) {
      text += i == 0 ? "" : ", ";
      text += names[i] + ": " + cell_json(*walks[i].data->chunk(walks[i].chunk), walks[i].at);
      walks[i].next();
    }
    text += "}";
    if (text.size() >= text_at_once) {
      to(text);
      text.clear();
    }
  }
  to(text + "]\n");
}

}  // namespace espalier::cli
