#include "engine/store/table_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/store/files.hpp"
#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {
namespace {

thread_local file_use_scope* files_of_this_thread = nullptr;

}  // namespace

void table_files::add(const std::shared_ptr<const mapped_file>& file) {
  const std::scoped_lock lock(changing_);
  files_.push_back(file);
}

void table_files::require_whole() const {
  const std::scoped_lock lock(changing_);
  for (const auto& mapped : files_) {
    const auto file = mapped.lock();
    if (!file) continue;
    try {
      file->require_whole();
    } catch (const engine_error& e) {
      throw engine_error(fmt::format("Table '{}' cannot be read: {}", table_, e.what()), e.code());
    }
  }
}

file_use_scope::file_use_scope() noexcept : before_(files_of_this_thread) { files_of_this_thread = this; }

file_use_scope::~file_use_scope() { files_of_this_thread = before_; }

void file_use_scope::add(const std::shared_ptr<const table_files>& files) {
  if (!files_of_this_thread || !files) return;
  auto& used = files_of_this_thread->used_;
  if (std::ranges::find(used, files) == used.end()) used.push_back(files);
}

std::vector<std::shared_ptr<const table_files>> file_use_scope::current() {
  if (!files_of_this_thread) return {};
  return files_of_this_thread->used_;
}

void file_use_scope::require_whole() {
  if (!files_of_this_thread) return;
  for (const auto& files : files_of_this_thread->used_) files->require_whole();
}

}  // namespace espalier::engine
