// run_script.cpp - runs the statements of a file and writes what each answered, one JSON object a line: for comparing
// answers with another engine's. usage: engine_sql_runner SCRIPT OUTPUT [--no-indexes | --prefer-indexes] [--db DIR]
// [--device auto|cpu|gpu] [--threads N]
#include <arrow/array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/thread_pool.h>
#include <tbb/global_control.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "espalier/engine/database.hpp"

namespace {

using nlohmann::json;
using namespace espalier::engine;

json value_json(const arrow::Scalar& value) {
  if (!value.is_valid) return nullptr;
  switch (value.type->id()) {
    case arrow::Type::BOOL:
      return static_cast<const arrow::BooleanScalar&>(value).value;
    case arrow::Type::INT8:
      return static_cast<const arrow::Int8Scalar&>(value).value;
    case arrow::Type::INT16:
      return static_cast<const arrow::Int16Scalar&>(value).value;
    case arrow::Type::INT32:
      return static_cast<const arrow::Int32Scalar&>(value).value;
    case arrow::Type::INT64:
      return static_cast<const arrow::Int64Scalar&>(value).value;
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE: {
      const double number = value.type->id() == arrow::Type::FLOAT
                                ? static_cast<const arrow::FloatScalar&>(value).value
                                : static_cast<const arrow::DoubleScalar&>(value).value;
      return json{{"double", std::isfinite(number) ? json(number) : json(value.ToString())}};
    }
    case arrow::Type::STRING:
      return json{{"text", static_cast<const arrow::StringScalar&>(value).value->ToString()}};
    default:
      return json{{value.type->name(), value.ToString()}};  // decimal128, date32, timestamp
  }
}

json rows_json(const arrow::Table& table) {
  json rows = json::array();
  for (std::int64_t row = 0; row < table.num_rows(); ++row) {
    json values = json::array();
    for (int column = 0; column < table.num_columns(); ++column) {
      values.push_back(value_json(**table.column(column)->GetScalar(row)));
    }
    rows.push_back(std::move(values));
  }
  return rows;
}

json columns_json(const arrow::Schema& schema) {
  json columns = json::array();
  for (const auto& field : schema.fields()) columns.push_back({field->name(), field->type()->ToString()});
  return columns;
}

json answer(database& db, const std::string& statement) {
  try {
    const auto result = db.execute(statement);
    json out{{"tag", result.tag}};
    if (result.rows) {
      out["columns"] = columns_json(*result.rows->schema());
      out["rows"] = rows_json(*result.rows);
    }
    return out;
  } catch (const sql_error& problem) {
    json out{{"error", problem.what()}, {"sqlstate", problem.sqlstate()}};
    if (problem.position()) out["position"] = *problem.position();
    return out;
  } catch (const espalier::error& problem) {
    return {{"error", problem.what()}};
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs(
        "usage: engine_sql_runner SCRIPT OUTPUT [--no-indexes | --prefer-indexes] [--db DIR] [--device auto|cpu|gpu] "
        "[--threads N]\n",
        stderr);
    return 2;
  }
  database_options options;
  unsigned threads = 0;
  for (int i = 3; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) == "--threads") threads = static_cast<unsigned>(std::stoul(argv[i + 1]));
  }
  // More threads than cores are worth a test as well: pieces of work end in another order.
  std::optional<tbb::global_control> limit;
  if (threads != 0) {
    limit.emplace(tbb::global_control::max_allowed_parallelism, threads);
    if (!arrow::SetCpuThreadPoolCapacity(static_cast<int>(threads)).ok()) return 2;
  }
  options.device = espalier::device::cpu(threads);
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--no-indexes") options.use_indexes = false;
    if (argument == "--prefer-indexes") options.prefer_indexes = true;
    if (argument == "--db" && i + 1 < argc) options.path = argv[++i];
    if (argument == "--device" && i + 1 < argc) {
      const std::string wanted = argv[++i];
      if (wanted == "gpu") options.device = espalier::device::cuda();
      if (wanted == "auto") options.device.reset();
    }
  }
  std::ifstream script(argv[1]);
  std::ofstream output(argv[2]);
  // One statement a line, as a JSON string: statements may hold anything.
  database db(options);
  for (std::string line; std::getline(script, line);) {
    if (!line.empty()) output << answer(db, json::parse(line).get<std::string>()).dump() << std::endl;
  }
  return output.good() ? 0 : 1;
}
