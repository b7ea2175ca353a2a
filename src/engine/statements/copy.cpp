#include <arrow/array/util.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/error.hpp"
#include "engine/exec/executor.hpp"
#include "engine/expr/coerce.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/sql/binder.hpp"
#include "engine/sql/declared_type.hpp"
#include "engine/sql/file_options.hpp"
#include "engine/sql/hints.hpp"
#include "engine/statements/coded_refusal.hpp"
#include "engine/statements/session.hpp"
#include "engine/store/folder.hpp"
#include "engine/store/store.hpp"
#include "engine/table/read_into.hpp"
#include "engine/table/write.hpp"

namespace espalier::engine {
namespace {

struct copy_file {
  file_format format;
  csv_options options;
  column_match match;
};

copy_file file_of(const ast::copy& copy) {
  auto options = copy.options;
  std::optional<file_format> format = format_from_path(copy.file);
  auto match = column_match::by_position;
  for (const auto& [name, value] : copy.options) {
    if (name == "by_name") {
      if (!copy.from) throw_sql_error(copy.table.position, "The option by_name is for COPY ... FROM.");
      if (value != "true" && value != "false")
        throw_sql_error(copy.table.position, "The option by_name takes true or false.");
      match = value == "true" ? column_match::by_name : column_match::by_position;
    }
    if (name != "format") continue;
    format = format_from_name(value);
    if (!format)
      throw_sql_error(copy.table.position,
                      fmt::format("The format '{}' is not supported; csv, parquet and arrow are.", value));
  }
  if (!format)
    throw_sql_error(copy.table.position, "Tell the format of the file: COPY ... (FORMAT csv), parquet or arrow.");
  std::erase_if(options, [](const auto& option) { return option.first == "format" || option.first == "by_name"; });
  return {*format, read_file_options(options, *format, copy.table.position), match};
}

// Checks columns with a declared length, as INSERT does.
std::shared_ptr<arrow::Table> fitted_texts(const table_entry& entry, std::shared_ptr<arrow::Table> rows) {
  for (std::size_t i = 0; i < entry.declarations.size(); ++i) {
    if (entry.declarations[i].length == 0) continue;
    const int place = static_cast<int>(i);
    const auto type = declared_type_of(entry, i);
    relation one;
    one.rows = rows->num_rows();
    one.add(0, rows->column(place));
    const auto fitted = evaluation{}.column(stored(make_column(0, type.type), type), one);
    rows = value_of(rows->SetColumn(place, rows->schema()->field(place), fitted));
  }
  return rows;
}

}  // namespace

query_result session::run_copy(const ast::copy& copy, const progress& tell) {
  query_result out;
  if (!options_.allow_file_access) refuse_file_access(copy.table.position, "COPY");
  const auto file = file_of(copy);
  if (!copy.from && store_ && is_in_database(copy.file, store_->folder())) {
    throw_sql_error(
        copy.table.position,
        fmt::format("'{}' is in the folder of the open database, which holds only files of its own: COPY to a file in "
                    "another folder.",
                    copy.file));
  }
  std::shared_ptr<const table_entry> entry = copy.query ? nullptr : entry_of(copy.table);
  std::vector<column> columns;
  if (entry) {
    const auto& all = entry->version->columns();
    for (const auto& name : copy.columns) {
      const auto place = entry->version->column_index(name);
      if (place == all.size())
        throw_sql_error(codes::undefined_column, copy.table.position, no_such_column(name, *entry->version));
      columns.push_back(all[place]);
    }
    if (copy.columns.empty()) columns = all;
  }
  if (!copy.from) {
    std::shared_ptr<arrow::Table> rows;
    if (copy.query) {
      rows = rows_of(*copy.query, tell, out.timings);
    } else {
      ast::select all;
      for (const auto& column : columns) {
        ast::target target;
        target.value = std::make_unique<ast::expression>();
        target.value->kind = ast::expression_kind::column;
        target.value->names = {column.name};
        all.targets.push_back(std::move(target));
      }
      all.from.push_back(std::make_unique<ast::from_item>());
      all.from[0]->table = copy.table;
      rows = rows_of(all, tell, out.timings);
    }
    write_table(rows, copy.file, file.format, file.options);
    out.tag = fmt::format("COPY {}", rows->num_rows());
    return out;
  }
  std::shared_ptr<arrow::Table> rows;
  {
    const stopwatch watch(out.timings.run);
    rows = read_into(columns, copy.file, file.format, file.options, file.match, tell);
    // Columns that the file does not provide are NULL.
    arrow::FieldVector fields;
    std::vector<std::shared_ptr<arrow::ChunkedArray>> data;
    for (const auto& column : entry->version->columns()) {
      const auto found = std::find(columns.begin(), columns.end(), column);
      fields.push_back(arrow::field(column.name, arrow_type(column.type)));
      data.push_back(found == columns.end()
                         ? chunked(value_of(arrow::MakeArrayOfNull(arrow_type(column.type), rows->num_rows())))
                         : rows->column(static_cast<int>(found - columns.begin())));
    }
    rows = arrow::Table::Make(arrow::schema(std::move(fields)), std::move(data), rows->num_rows());
  }
  rows = while_running([&] { return fitted_texts(*entry, rows); });
  out.tag = fmt::format("COPY {}", rows->num_rows());
  append(*entry, rows, out.timings);
  return out;
}

}  // namespace espalier::engine
