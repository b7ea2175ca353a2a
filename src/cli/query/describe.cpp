#include "cli/query/describe.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <vector>

#include "engine/catalog.hpp"
#include "engine/sql/hints.hpp"
#include "espalier/core/error.hpp"

namespace espalier::cli {
namespace {

// Builds a small result row by row, with columns of text and numbers.
class listing {
 public:
  explicit listing(const std::vector<std::shared_ptr<arrow::Field>>& fields) : schema_(arrow::schema(fields)) {
    for (const auto& field : fields) builders_.push_back(arrow::MakeBuilder(field->type()).ValueOrDie());
  }
  listing& add(const std::string& text) {
    require(static_cast<arrow::StringBuilder&>(next()).Append(text));
    return *this;
  }
  listing& add(std::uint64_t number) {
    require(static_cast<arrow::Int64Builder&>(next()).Append(static_cast<std::int64_t>(number)));
    return *this;
  }
  std::shared_ptr<arrow::Table> finish() {
    arrow::ArrayVector columns;
    for (auto& builder : builders_) columns.push_back(builder->Finish().ValueOrDie());
    return arrow::Table::Make(schema_, columns);
  }

 private:
  static void require(const arrow::Status& status) {
    if (!status.ok()) throw error(status.ToString());
  }
  arrow::ArrayBuilder& next() { return *builders_[added_++ % builders_.size()]; }

  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
  std::size_t added_ = 0;
};

std::shared_ptr<arrow::Field> text_field(const std::string& name) { return arrow::field(name, arrow::utf8()); }
std::shared_ptr<arrow::Field> number_field(const std::string& name) { return arrow::field(name, arrow::int64()); }

std::shared_ptr<const engine::table_entry> table_called(const engine::database& db, const std::string& name) {
  auto entry = db.tables().find(name);
  if (!entry) throw error(engine::no_such_table(name, db.tables()));
  return entry;
}

std::string column_names(const engine::table_version& table, const std::vector<std::size_t>& columns) {
  std::vector<std::string> names;
  for (const std::size_t column : columns) names.push_back(table.columns()[column].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::shared_ptr<arrow::Table> described_tables(const engine::database& db) {
  listing list({text_field("table"), number_field("rows"), number_field("columns"), number_field("bytes"),
                text_field("indexes")});
  for (const auto& entry : db.tables().all()) {
    std::vector<std::string> indexes;
    for (const auto& index : entry->indexes) indexes.push_back(index->spec().name);
    list.add(entry->name)
        .add(entry->version->live_rows())
        .add(entry->version->columns().size())
        .add(entry->version->bytes())
        .add(fmt::format("{}", fmt::join(indexes, ", ")));
  }
  return list.finish();
}

std::shared_ptr<arrow::Table> described_columns(const engine::database& db, const std::string& table) {
  listing list({text_field("column"), text_field("type"), text_field("nullable")});
  const auto entry = table_called(db, table);
  const auto& columns = entry->version->columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    list.add(columns[i].name)
        .add(engine::sql_name(engine::declared_type_of(*entry, i)))
        .add(std::string(columns[i].nullable ? "yes" : "no"));
  }
  return list.finish();
}

std::shared_ptr<arrow::Table> described_indexes(const engine::database& db, const std::string& table) {
  listing list({text_field("index"), text_field("columns"), text_field("unique"), text_field("kind"),
                text_field("device"), number_field("bytes")});
  const auto entry = table_called(db, table);
  for (const auto& index : entry->indexes) {
    list.add(index->spec().name)
        .add(column_names(*entry->version, index->spec().columns))
        .add(std::string(index->is_unique() ? "yes" : "no"))
        .add(engine::to_string(index->kind()))
        .add(index->get_device().name())
        .add(index->bytes());
  }
  return list.finish();
}

}  // namespace espalier::cli
