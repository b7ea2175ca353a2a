#include "cli/query/demo_sql.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "cli/text_table.hpp"
#include "engine/table/write.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::cli {
namespace {

constexpr int order_count = 200'000;
constexpr int customer_count = 5'000;
constexpr int rate_count = 4'000;
constexpr std::int64_t minutes_of_year = 366 * 24 * 60;

struct sample_orders {
  std::vector<std::int32_t> id, customer;
  std::vector<std::int64_t> minute, cents;      // columns of orders
  std::vector<std::int64_t> rate_minute, rate;  // columns of rates, sorted
};

sample_orders make_orders() {
  std::mt19937 random(7);
  sample_orders out;
  for (int i = 0; i < order_count; ++i) {
    out.id.push_back(i);
    out.customer.push_back(static_cast<std::int32_t>(random() % customer_count));
    out.minute.push_back(static_cast<std::int64_t>(random() % minutes_of_year));
    out.cents.push_back(static_cast<std::int64_t>(random() % 50'000));
  }
  for (int i = 0; i < rate_count; ++i) out.rate_minute.push_back(static_cast<std::int64_t>(random() % minutes_of_year));
  std::sort(out.rate_minute.begin(), out.rate_minute.end());
  out.rate_minute.erase(std::unique(out.rate_minute.begin(), out.rate_minute.end()), out.rate_minute.end());
  for (std::size_t i = 0; i < out.rate_minute.size(); ++i)
    out.rate.push_back(static_cast<std::int64_t>(900 + random() % 200));
  return out;
}

template <class Builder, class T>
std::shared_ptr<arrow::Array> array_of(const std::vector<T>& values) {
  Builder builder;
  if (!builder.AppendValues(values).ok()) throw error("Memory ran out while the demo made its orders.");
  return *builder.Finish();
}

// A temporary folder for the sample files.
class sample_folder {
 public:
  sample_folder() : path_(std::filesystem::temp_directory_path() / fmt::format("espalier_demo_{}", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~sample_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  sample_folder(const sample_folder&) = delete;
  sample_folder& operator=(const sample_folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void write_samples(const sample_orders& orders, const sample_folder& folder) {
  using arrow::field;
  const auto order_table =
      arrow::Table::Make(arrow::schema({field("id", arrow::int32()), field("customer", arrow::int32()),
                                        field("minute", arrow::int64()), field("cents", arrow::int64())}),
                         {array_of<arrow::Int32Builder>(orders.id), array_of<arrow::Int32Builder>(orders.customer),
                          array_of<arrow::Int64Builder>(orders.minute), array_of<arrow::Int64Builder>(orders.cents)});
  const auto rate_table = arrow::Table::Make(
      arrow::schema({field("minute", arrow::int64()), field("rate", arrow::int64())}),
      {array_of<arrow::Int64Builder>(orders.rate_minute), array_of<arrow::Int64Builder>(orders.rate)});
  engine::write_table(order_table, folder.file("orders.parquet"), engine::file_format::parquet);
  engine::write_table(rate_table, folder.file("rates.parquet"), engine::file_format::parquet);
}

struct sql_question {
  std::string what, sql;
  std::int64_t expected;
};

std::vector<sql_question> questions_about(const sample_orders& orders) {
  constexpr std::int64_t from = 100'000, until = 150'000;
  std::int64_t count = 0, sum = 0, joined = 0, as_of = 0;
  for (std::size_t i = 0; i < orders.id.size(); ++i) {
    if (orders.minute[i] >= from && orders.minute[i] <= until) {
      ++count;
      sum += orders.cents[i];
    }
    if (orders.customer[i] < 10 && orders.cents[i] > 40'000) ++joined;
    const auto later = std::upper_bound(orders.rate_minute.begin(), orders.rate_minute.end(), orders.minute[i]);
    if (later != orders.rate_minute.begin())
      as_of += orders.rate[static_cast<std::size_t>(later - orders.rate_minute.begin()) - 1];
  }
  const auto range = fmt::format("WHERE minute BETWEEN {} AND {}", from, until);
  return {
      {"rows of a range",
       fmt::format(
           "SELECT count(*) FROM (SELECT * FROM orders WHERE minute BETWEEN {} AND {} ORDER BY minute LIMIT 1000) o",
           from, until),
       std::min<std::int64_t>(count, 1000)},
      {"count of a range", "SELECT count(*) FROM orders " + range, count},
      {"sum over a range", "SELECT sum(cents) FROM orders " + range, sum},
      {"join with ten customers",
       "SELECT count(*) FROM (SELECT DISTINCT customer FROM orders WHERE customer < 10) c JOIN orders o ON o.customer "
       "= "
       "c.customer WHERE o.cents > 40000",
       joined},
      {"rate at each order (as of)",
       "SELECT sum(r.rate) FROM orders o LEFT JOIN LATERAL (SELECT rate FROM rates r WHERE r.minute <= o.minute ORDER "
       "BY "
       "r.minute DESC LIMIT 1) r ON true",
       as_of}};
}

double milliseconds_of(engine::database& db, const sql_question& question) {
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const auto answer = db.execute(question.sql);
    const auto value = *answer.rows->column(0)->GetScalar(0);
    if (value->ToString() != std::to_string(question.expected)) {
      throw error(fmt::format("The demo's question '{}' was answered {}, not {}; please report it.", question.what,
                              value->ToString(), question.expected));
    }
    best = i == 0 ? answer.timings.total() : std::min(best, answer.timings.total());
  }
  return best;
}

}  // namespace

void run_sql_demo(std::ostream& out) {
  const auto orders = make_orders();
  const sample_folder folder;
  write_samples(orders, folder);
  engine::database db;
  db.execute(fmt::format("CREATE TABLE orders AS SELECT * FROM read_parquet('{}')", folder.file("orders.parquet")));
  db.execute(fmt::format("CREATE TABLE rates AS SELECT * FROM read_parquet('{}')", folder.file("rates.parquet")));
  fmt::print(out, "\nSQL over a table of {} orders, by scans and then with three indexes.\n\n", order_count);
  const auto questions = questions_about(orders);
  std::vector<double> scans;
  for (const auto& question : questions) scans.push_back(milliseconds_of(db, question));
  db.run_script(
      "CREATE INDEX by_minute ON orders (minute) INCLUDE (cents); CREATE INDEX by_customer ON orders (customer);"
      "CREATE INDEX rates_by_minute ON rates (minute)");
  text_table table({"", "answer", "scan", "index", "faster"});
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const double indexed = milliseconds_of(db, questions[i]);
    table.add_row({questions[i].what, std::to_string(questions[i].expected), fmt::format("{:.2f} ms", scans[i]),
                   fmt::format("{:.2f} ms", indexed), fmt::format("{:.0f}x", scans[i] / indexed)});
  }
  fmt::print(out, "{}\nEvery answer was compared with a loop over the rows.\n", table.text());
}

}  // namespace espalier::cli
