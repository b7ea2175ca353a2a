#include "cli/query/statement_runner.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "cli/query/progress_line.hpp"
#include "cli/query/query_options.hpp"

namespace espalier::cli {
namespace {

std::string timing_text(const engine::query_timings& spent) {
  std::string text = fmt::format("Time: {:.3f} ms (parse {:.3f}, plan {:.3f}, run {:.3f}", spent.total(), spent.parse,
                                 spent.plan, spent.run);
  if (spent.save > 0) text += fmt::format(", save {:.3f}", spent.save);
  return text + ")";
}

engine::query_result executed(engine::database& db, std::string_view text) {
  progress_line line;
  return db.execute(text, line.reporter(), line.stop());
}

}  // namespace

void statement_runner::run(std::string_view script, std::size_t begin, std::size_t end) {
  left_ = 0;
  held_.clear();
  const auto statements = engine::split_script(script.substr(begin, end - begin));
  engine::commit_group together(db_);
  try {
    for (left_ = statements.size(); left_ != 0;) {
      const auto& statement = statements[statements.size() - left_--];
      run_one(statement, script, begin);
      show_durable(together);
    }
  } catch (...) {
    if (together.undone() == 0) write_and_show(together);
    throw;
  }
  write_and_show(together);
}

void statement_runner::run_one(const engine::script_statement& statement, std::string_view script, std::size_t begin) {
  try {
    held_.push_back(executed(db_, statement.text));
    warnings_printed_ = print_warnings(db_, warnings_printed_);
  } catch (const engine::sql_error& e) {
    warnings_printed_ = print_warnings(db_, warnings_printed_);
    if (!e.position()) throw;
    throw engine::sql_error(e.sentence(), script, begin + statement.offset + *e.position(), e.code());
  }
}

void statement_runner::write_and_show(engine::commit_group& together) {
  if (together.unwritten() != 0) {
    const double spent = together.write();
    held_.back().timings.save += spent;
  }
  show_durable(together);
}

void statement_runner::show_durable(const engine::commit_group& together) {
  if (together.unwritten() != 0) return;
  const auto durable = std::exchange(held_, {});
  for (const auto& result : durable) show(result);
}

void statement_runner::show(const engine::query_result& result) {
  if (result.rows) {
    out_.rows(result.rows);
  } else {
    out_.remark(result.tag);
  }
  for (const auto& notice : result.notices) fmt::print(stderr, "espalier: warning: {}\n", notice);
  if (timing) out_.note(timing_text(result.timings));
}

}  // namespace espalier::cli
