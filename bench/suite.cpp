// suite.cpp - see suite.hpp.
#include "bench/suite.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "bench/machine.hpp"

namespace espalier::bench {

void check_suite(const suite_options& what, std::uint64_t least_keys, std::uint64_t most_keys) {
  if (what.most_keys < least_keys || what.most_keys > most_keys) {
    throw bad_arguments(fmt::format("--max-keys is {}: give {} to {}.", size_text(what.most_keys),
                                    size_text(least_keys), size_text(most_keys)));
  }
  if (what.base.threads.size() != 1) throw bad_arguments("--threads: a suite takes one number of threads.");
}

std::vector<device_choice> suite_devices(const options& base) {
  std::vector<device_choice> devices{device_choice::cpu};
  const bool has_gpu = base.where == device_choice::automatic && device::best().kind() == device_kind::cuda;
  if (base.where == device_choice::gpu || has_gpu) devices.push_back(device_choice::gpu);
  return devices;
}

suite_folder::suite_folder(std::string folder, std::ostream& out) : folder_(std::move(folder)), out_(out) {
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  if (failed || !open("tables.md")) {
    throw bad_arguments(fmt::format("--out: the folder '{}' cannot be written to.", folder_));
  }
}

std::ofstream suite_folder::open(const std::string& name) const {
  return std::ofstream(std::filesystem::path(folder_) / name);
}

void suite_folder::save(const std::string& name, const std::string& text) const {
  std::ofstream file = open(name);
  file << text;
  if (!file.flush()) throw std::runtime_error(fmt::format("Writing '{}' into '{}' failed.", name, folder_));
  fmt::print(out_, "{}\n", (std::filesystem::path(folder_) / name).string());
}

void suite_folder::keep(device_choice where, report part) {
  report& all = reports_[where];
  if (all.rows.empty()) {
    all = std::move(part);
  } else {
    std::move(part.rows.begin(), part.rows.end(), std::back_inserter(all.rows));
  }
  std::ofstream file = open(where == device_choice::gpu ? "results-gpu.json" : "results-cpu.json");
  write_json(all, file);
  if (!file.flush()) throw std::runtime_error(fmt::format("Writing into '{}' failed.", folder_));
}

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

std::string provenance(const options& base, unsigned threads) {
  const machine m = describe_machine();
  return fmt::format("CPU: {}, {} threads. GPU: {}. Commit {}, {}.\nCommand: `{}`.\n\n", m.cpu, threads,
                     m.gpus.empty() ? "none" : m.gpus.front().name, m.commit, m.compiler, base.command);
}

}  // namespace espalier::bench
