// suite.cpp - see suite.hpp.
#include "bench/harness/suite.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "bench/harness/machine.hpp"
#include "bench/harness/runner.hpp"

namespace espalier::bench {
namespace {

std::string part_file(const std::string& name) { return fmt::format("part-{}.md", name); }

}  // namespace

void check_suite(const suite_options& what, std::uint64_t least_keys, std::uint64_t most_keys) {
  if (what.most_keys < least_keys || what.most_keys > most_keys) {
    throw cli::bad_arguments(fmt::format("--max-keys is {}: give {} to {}.", size_text(what.most_keys),
                                         size_text(least_keys), size_text(most_keys)));
  }
  if (what.base.threads.size() != 1) throw cli::bad_arguments("--threads: a suite takes one number of threads.");
}

std::vector<std::string> chosen_parts(const suite_options& what, const std::vector<std::string>& all) {
  if (what.parts.empty()) return all;
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  std::string names;
  for (const auto& name : all) names += (names.empty() ? "" : ", ") + name;
  for (const auto& name : what.parts) {
    if (!has(all, name))
      throw cli::bad_arguments(fmt::format("--parts does not know '{}': choose from {}.", name, names));
  }
  std::vector<std::string> chosen = all;
  std::erase_if(chosen, [&](const std::string& name) { return !has(what.parts, name); });
  return chosen;
}

std::vector<device_choice> suite_devices(const options& base) {
  std::vector<device_choice> devices{device_choice::cpu};
  // A missing GPU is refused now and not after hours of CPU measurements.
  if (choose_device(base).kind() == device_kind::cuda) devices.push_back(device_choice::gpu);
  return devices;
}

void append_rows(const report& from, report& into) {
  std::vector<row> rows = std::move(into.rows);
  rows.insert(rows.end(), from.rows.begin(), from.rows.end());
  into = from;
  into.rows = std::move(rows);
}

suite_folder::suite_folder(std::string folder, std::string introduction, std::vector<std::string> parts,
                           std::ostream& out)
    : folder_(std::move(folder)), introduction_(std::move(introduction)), parts_(std::move(parts)), out_(out) {
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  try {
    write("tables.md", tables());
  } catch (const std::runtime_error&) {
    throw cli::bad_arguments(fmt::format("--out: the folder '{}' cannot be written to.", folder_));
  }
}

void suite_folder::write(const std::string& name, const std::string& text) const {
  std::ofstream file(std::filesystem::path(folder_) / name);
  file << text;
  if (!file.flush()) throw std::runtime_error(fmt::format("Writing '{}' into '{}' failed.", name, folder_));
}

void suite_folder::write_and_name(const std::string& name, const std::string& text) const {
  write(name, text);
  fmt::print(out_, "{}\n", (std::filesystem::path(folder_) / name).string());
}

void suite_folder::save_results(const std::string& name, device_choice dev, const suite_part& part) const {
  const std::string file = fmt::format("{}-{}.json", name, dev == device_choice::gpu ? "gpu" : "cpu");
  const auto measured = part.reports.find(dev);
  if (measured == part.reports.end()) {
    // Files of an earlier run would not match the tables.
    std::filesystem::remove(std::filesystem::path(folder_) / file);
    return;
  }
  std::ostringstream text;
  write_json(measured->second, text);
  write_and_name(file, text.str());
}

void suite_folder::save(const std::string& name, const suite_part& part) const {
  for (const auto dev : {device_choice::cpu, device_choice::gpu}) save_results(name, dev, part);
  for (const auto& [file, text] : part.plots) write_and_name(file, text);
  write_and_name(part_file(name), part.tables);
  write_and_name("tables.md", tables());
  out_.flush();  // shows partial results immediately
}

std::string suite_folder::tables() const {
  std::string text = introduction_;
  for (const auto& name : parts_) {
    const std::ifstream file(std::filesystem::path(folder_) / part_file(name));
    if (!file) continue;
    std::ostringstream part;
    part << file.rdbuf();
    text += part.str();
  }
  return text;
}

timed_log::timed_log(std::string what) : what_(std::move(what)) { std::fprintf(stderr, "%s ...\n", what_.c_str()); }
timed_log::~timed_log() { std::fprintf(stderr, "%s: %.1f s\n", what_.c_str(), watch_.seconds()); }

std::string markdown_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows) {
  std::string text = "|";
  for (const auto& cell : head) text += fmt::format(" {} |", cell);
  text += "\n|";
  for (std::size_t i = 0; i < head.size(); ++i) text += "---:|";
  text += '\n';
  for (const auto& cells : rows) {
    text += '|';
    for (const auto& cell : cells) text += cell.empty() ? " |" : fmt::format(" {} |", cell);
    text += '\n';
  }
  return text + '\n';
}

std::string markdown_image(const std::string& title, const std::string& file) {
  return fmt::format("![{}]({})\n\n", title, file);
}

std::string provenance(const options& base) {
  const machine m = describe_machine();
  const unsigned threads = device::cpu(static_cast<unsigned>(base.threads.front())).threads();
  return fmt::format("CPU: {}, {} threads, {}. GPU: {}. Commit {}, {}.\nCommand: `{}`.\n\n", m.cpu, threads, m.simd,
                     m.gpus.empty() ? "none" : m.gpus.front().name, m.commit, m.compiler, base.command);
}

}  // namespace espalier::bench
