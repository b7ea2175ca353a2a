#include "engine/store/mapped_files.hpp"

#include <utility>

#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {

bool mapped_files::add(const file_record& file) {
  try {
    auto mapped = std::make_unique<mapped_file>(path_of(file));
    if (mapped->bytes().size() != file.bytes) return false;
    mapped_.emplace(file.name, std::move(mapped));
    return true;
  } catch (const engine_error&) {
    return false;  // take() says why, where the file is needed
  }
}

std::unique_ptr<mapped_file> mapped_files::take(const file_record& file) {
  const auto found = mapped_.find(file.name);
  if (found == mapped_.end()) return std::make_unique<mapped_file>(path_of(file));
  auto mapped = std::move(found->second);
  mapped_.erase(found);
  return mapped;
}

bool mapped_files::has(const file_record& file) const {
  return mapped_.contains(file.name) || std::filesystem::exists(path_of(file));
}

}  // namespace espalier::engine
