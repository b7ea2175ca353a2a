#include "engine/table/replaced_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "engine/file_error_code.hpp"

namespace espalier::engine {
namespace {

// A name has at most 255 bytes; the rest is for the suffix.
constexpr std::size_t most_bytes_of_name = 200;
constexpr int most_names_tried = 100;
constexpr int most_links = 40;  // as in Linux

[[noreturn]] void refuse_writing(const std::filesystem::path& path) {
  const int reason = errno;
  throw engine_error(fmt::format("'{}' cannot be written: {}.", path.string(), std::generic_category().message(reason)),
                     file_error_code(reason));
}

std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  const auto name = path.filename().string().substr(0, most_bytes_of_name);
  return path.parent_path() / fmt::format("{}.{:016x}.part", name, random());
}

// Returns true for pipes, devices and open descriptors: /dev/stdout is a name that a rename cannot replace.
bool is_written_in_place(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto there = std::filesystem::status(path, ignored);
  const auto text = path.lexically_normal().string();
  return std::filesystem::exists(there) &&
         (!std::filesystem::is_regular_file(there) || text.starts_with("/dev/") || text.starts_with("/proc/"));
}

void sync_folder_of(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;
  ::fsync(handle);  // the file itself is durable; not every file system can sync folders
  ::close(handle);
}

}  // namespace

std::filesystem::path followed_links(std::filesystem::path path) {
  std::error_code failure;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(path, failure); ++i) {
    const auto target = std::filesystem::read_symlink(path, failure);
    if (failure) break;
    path = path.parent_path() / target;  // an absolute target replaces the folder
  }
  return path;
}

replaced_file::replaced_file(const std::filesystem::path& path) : path_(path) {
  if (is_written_in_place(path_)) {
    handle_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (handle_ < 0) refuse_writing(path_);
    return;
  }
  path_ = followed_links(path_);
  for (int i = 0; i < most_names_tried && handle_ < 0; ++i) {
    temporary_ = temporary_beside(path_);
    handle_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (handle_ < 0 && errno != EEXIST && errno != EINTR) break;
  }
  if (handle_ < 0) refuse_writing(path_);
}

replaced_file::~replaced_file() {
  if (handle_ < 0) return;
  ::close(handle_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

int replaced_file::duplicate_handle() const {
  const int handle = ::fcntl(handle_, F_DUPFD_CLOEXEC, 0);
  if (handle < 0) refuse_writing(path_);
  return handle;
}

void replaced_file::finish() {
  if (!temporary_.empty()) {
    if (::fsync(handle_) != 0) refuse_writing(path_);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) refuse_writing(path_);
    temporary_.clear();
    sync_folder_of(path_);
  }
  if (::close(std::exchange(handle_, -1)) != 0) refuse_writing(path_);
}

}  // namespace espalier::engine
