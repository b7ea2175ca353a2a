// sql_under_test.hpp - our engine as a program uses it: statements in, Arrow tables out.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/harness/options.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::bench {

class sql_under_test {
 public:
  /// Indexes are on the device.
  sql_under_test(device_choice where, unsigned threads);

  void run(const std::string& statement) { static_cast<void>(db_.execute(statement)); }
  [[nodiscard]] std::shared_ptr<arrow::Table> ask(const std::string& statement) { return db_.execute(statement).rows; }
  /// Returns the seconds of one statement, from its text to an Arrow table. At least the first one was run before.
  [[nodiscard]] double seconds(const std::vector<std::string>& statements, unsigned repeat);

  [[nodiscard]] engine::prepared prepare(const std::string& statement) { return db_.prepare(statement); }
  [[nodiscard]] const device& get_device() const { return db_.get_device(); }

  /// Loads a table from a Parquet file.
  void load(const std::string& table, const std::string& file);

 private:
  engine::database db_;
};

[[nodiscard]] device device_of(device_choice where, unsigned threads);
[[nodiscard]] const char* processor_name(device_choice where);

}  // namespace espalier::bench
