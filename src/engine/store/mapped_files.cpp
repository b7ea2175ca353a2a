#include "engine/store/mapped_files.hpp"

#include <utility>

#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {

bool mapped_files::add(const file_record& file) {
  try {
    auto mapped = std::make_shared<mapped_file>(path_of(file));
    if (mapped->bytes().size() != file.bytes) return false;
    mapped_.emplace(file.name, std::move(mapped));
    return true;
  } catch (const engine_error&) {
    return false;  // take() reports the reason when the file is needed
  }
}

std::shared_ptr<mapped_file> mapped_files::take(const file_record& file) {
  const auto found = mapped_.find(file.name);
  return found == mapped_.end() ? std::make_shared<mapped_file>(path_of(file)) : found->second;
}

void mapped_files::forget(const file_record& file) noexcept {
  const auto found = mapped_.find(file.name);
  if (found != mapped_.end()) mapped_.erase(found);
}

bool mapped_files::has(const file_record& file) const {
  return mapped_.contains(file.name) || std::filesystem::exists(path_of(file));
}

}  // namespace espalier::engine
