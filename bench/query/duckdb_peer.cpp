// duckdb_peer.cpp - see duckdb_peer.hpp.
#include "bench/query/duckdb_peer.hpp"

#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/table.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/query/assets.hpp"
#include "engine/table/arrow_status.hpp"

namespace espalier::bench {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> python_above(fs::path folder) {
  std::error_code ignored;
  for (; !folder.empty(); folder = folder.parent_path()) {
    const fs::path python = folder / ".venv" / "bin" / "python3";
    if (fs::exists(python, ignored)) return python.string();
    if (folder == folder.root_path()) break;
  }
  return std::nullopt;
}

std::string default_python() {
  std::error_code ignored;
  for (const auto& folder : {fs::read_symlink("/proc/self/exe", ignored).parent_path(), fs::current_path(ignored)}) {
    if (auto python = python_above(folder)) return *python;
  }
  return "python3";
}

std::string driver_in(const scratch_folder& folder) {
  std::string path;
  for (const auto& file : assets()) {
    path = folder.file(std::string(file.path.substr(1)));
    std::ofstream(path) << file.bytes;
  }
  return path;
}

std::shared_ptr<arrow::Table> answer_in(const std::string& path) {
  const std::string what = "DuckDB's answer cannot be read";
  const auto file = engine::value_of(arrow::io::ReadableFile::Open(path), what);
  const auto reader = engine::value_of(arrow::ipc::RecordBatchFileReader::Open(file), what);
  return engine::value_of(reader->ToTable(), what);
}

}  // namespace

duckdb_peer::duckdb_peer(const std::string& python, const scratch_folder& folder, unsigned threads) : folder_(folder) {
  const std::string program = python.empty() ? default_python() : python;
  try {
    child_ = std::make_unique<child_process>(std::vector<std::string>{program, driver_in(folder)}, true);
  } catch (const error& e) {
    give_up(e.what());
    return;
  }
  const auto line = child_->ask(nlohmann::json{{"threads", threads}}.dump());
  const auto reply = nlohmann::json::parse(line.value_or(""), nullptr, false);
  if (reply.is_object() && reply.contains("version")) {
    version_ = reply["version"];
  } else {
    give_up(reply.is_object() && reply.contains("error")
                ? fmt::format("{} ({}; --duckdb-python names one that has duckdb and pyarrow).",
                              reply["error"].get<std::string>(), python.empty() ? "the Python at hand" : python)
                : fmt::format("'{}' does not run Python.", program));
  }
}

void duckdb_peer::give_up(const std::string& why) {
  child_.reset();
  why_not_ = why;
}

std::string duckdb_peer::about() const {
  return usable()
             ? fmt::format("DuckDB {} runs in a process of its own, with the same rows, as many threads and no index.",
                           version_)
             : fmt::format("DuckDB was not measured: {}", why_not_);
}

void duckdb_peer::run(const std::string& statement) {
  if (!usable()) return;
  const auto line = child_->ask(nlohmann::json{{"run", statement}}.dump());
  const auto reply = nlohmann::json::parse(line.value_or(""), nullptr, false);
  if (!reply.is_object()) return give_up(fmt::format("It ended during {}.", statement));
  if (reply.contains("error")) give_up(reply["error"]);
}

std::optional<peer_timing> duckdb_peer::ask(const std::vector<std::string>& statements, unsigned repeat) {
  if (!usable()) return std::nullopt;
  const scratch_file answer(folder_, "answer.arrow");
  const auto line =
      child_->ask(nlohmann::json{{"ask", statements}, {"repeat", repeat}, {"answer", answer.path()}}.dump());
  const auto reply = nlohmann::json::parse(line.value_or(""), nullptr, false);
  if (!reply.is_object() || reply.contains("error")) {
    give_up(reply.is_object() ? reply["error"].get<std::string>()
                              : fmt::format("It ended during {}.", statements.front()));
    return std::nullopt;
  }
  return peer_timing{reply["seconds"], answer_in(answer.path())};
}

std::optional<double> duckdb_peer::again(const std::string& statement) {
  if (!usable()) return std::nullopt;
  const auto line = child_->ask(nlohmann::json{{"again", statement}}.dump());
  const auto reply = nlohmann::json::parse(line.value_or(""), nullptr, false);
  if (!reply.is_object() || reply.contains("error")) {
    give_up(reply.is_object() ? reply["error"].get<std::string>() : fmt::format("It ended during {}.", statement));
    return std::nullopt;
  }
  return reply["seconds"].get<double>();
}

}  // namespace espalier::bench
