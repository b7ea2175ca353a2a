// files.cpp - POSIX calls behind files.hpp. Each failure becomes one sentence with the path and the system's reason.
#include "engine/store/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/file_error_code.hpp"
#include "engine/store/sections.hpp"
#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {
namespace {

constexpr std::size_t write_buffer_bytes = std::size_t{1} << 20;

[[noreturn]] void fail_with_errno(std::string_view what, const std::filesystem::path& path) {
  const int reason = errno;
  throw engine_error(
      fmt::format("'{}' cannot be {}: {}.", path.string(), what, std::generic_category().message(reason)),
      file_error_code(reason));
}

int open_retrying(const std::filesystem::path& path, int flags, mode_t mode = 0) {
  int handle = -1;
  do {
    handle = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (handle < 0 && errno == EINTR);
  return handle;
}

}  // namespace

std::size_t file_layer::before(file_operation, const std::filesystem::path&, std::size_t bytes) { return bytes; }

file_layer& plain_files() {
  static file_layer layer;
  return layer;
}

void file_layer::make_folder(const std::filesystem::path& folder) {
  before(file_operation::make_folder, folder, 0);
  std::error_code failure, ignored;
  std::vector<std::filesystem::path> made;
  for (auto path = std::filesystem::absolute(folder).lexically_normal(); !std::filesystem::exists(path, ignored);) {
    if (path.has_filename()) made.push_back(path);
    path = path.parent_path();
  }
  std::filesystem::create_directories(folder, failure);
  if (failure) throw error(fmt::format("Folder '{}' cannot be made: {}.", folder.string(), failure.message()));
  for (const auto& path : made) sync_folder(path.parent_path());  // a name is durable once its parent folder is synced
}

void file_layer::make_empty_file(const std::filesystem::path& file) {
  before(file_operation::create, file, 0);
  const int handle = open_retrying(file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (handle < 0) fail_with_errno("created", file);
  ::close(handle);
}

void file_layer::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  before(file_operation::rename, to, 0);
  if (::rename(from.c_str(), to.c_str()) != 0) fail_with_errno("put in its place", to);
}

void file_layer::sync_folder(const std::filesystem::path& folder) {
  before(file_operation::sync_folder, folder, 0);
  const int handle = open_retrying(folder, O_RDONLY | O_DIRECTORY);
  if (handle < 0) fail_with_errno("opened", folder);
  const int result = ::fsync(handle);
  const int reason = errno;
  ::close(handle);
  errno = reason;
  if (result != 0) fail_with_errno("synced", folder);
}

void file_layer::remove(const std::filesystem::path& file) {
  before(file_operation::remove, file, 0);
  if (::unlink(file.c_str()) != 0 && errno != ENOENT) fail_with_errno("removed", file);
}

output_file::output_file(file_layer& layer, std::filesystem::path path)
    : layer_(layer), path_(std::move(path)), temporary_(path_), buffer_(new std::byte[write_buffer_bytes]) {
  temporary_ += temporary_ending;
  layer_.before(file_operation::create, path_, 0);
  // Whatever a killed process left under this name is unlinked; it is neither followed nor written to.
  if (::unlink(temporary_.c_str()) != 0 && errno != ENOENT) fail_with_errno("created", temporary_);
  handle_ = open_retrying(temporary_, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (handle_ < 0) fail_with_errno("created", temporary_);
}

output_file::~output_file() {
  if (handle_ < 0) return;
  ::close(handle_);
  ::unlink(temporary_.c_str());
}

void output_file::write(std::span<const std::byte> bytes) {
  position_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t fits = std::min(bytes.size(), write_buffer_bytes - buffered_);
    std::memcpy(buffer_.get() + buffered_, bytes.data(), fits);
    buffered_ += fits;
    bytes = bytes.subspan(fits);
    if (buffered_ == write_buffer_bytes) flush();
  }
}

void output_file::flush() {
  std::size_t done = 0;
  while (done < buffered_) {
    const std::size_t wanted = layer_.before(file_operation::write, path_, buffered_ - done);
    const ssize_t written = ::write(handle_, buffer_.get() + done, std::min(wanted, buffered_ - done));
    if (written < 0 && errno != EINTR) fail_with_errno("written", temporary_);
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  buffered_ = 0;
}

void output_file::finish() {
  flush();
  layer_.before(file_operation::sync, path_, 0);
  if (::fsync(handle_) != 0) fail_with_errno("synced", temporary_);
  layer_.before(file_operation::close, path_, 0);
  const int handle = std::exchange(handle_, -1);
  if (::close(handle) != 0) {
    ::unlink(temporary_.c_str());
    fail_with_errno("closed", temporary_);
  }
  try {
    layer_.rename(temporary_, path_);
  } catch (...) {
    ::unlink(temporary_.c_str());
    throw;
  }
}

mapped_file::mapped_file(const std::filesystem::path& path) : path_(path) {
  const int handle = open_retrying(path, O_RDONLY | O_NONBLOCK);  // opening a pipe would block
  if (handle < 0) fail_with_errno("opened", path);
  struct stat about {};
  void* address = nullptr;
  const bool known = ::fstat(handle, &about) == 0;
  const bool regular = known && S_ISREG(about.st_mode);
  if (regular && about.st_size > 0) {
    address = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_SHARED, handle, 0);
  }
  const int reason = errno;
  ::close(handle);
  errno = reason;
  if (known && !regular) {
    throw engine_error(fmt::format("'{}' is not a regular file.", path.string()), codes::data_corrupted);
  }
  if (!known || address == MAP_FAILED) fail_with_errno("mapped into memory", path);
  data_ = static_cast<const std::byte*>(address);
  size_ = static_cast<std::size_t>(about.st_size);
  device_ = about.st_dev;
  inode_ = about.st_ino;
  if (data_ != nullptr) guard_.emplace(data_, size_);
}

// stat() of the path, and not fstat(): a descriptor per file of a database could exceed the limit of a process.
void mapped_file::require_whole() const {
  struct stat now {};
  const bool exists = ::stat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
  if (exists && static_cast<std::size_t>(now.st_size) < size_) {
    throw damaged_file(
        path_, fmt::format("it was truncated from {} to {} bytes while the database was open", size_, now.st_size));
  }
  if (guard_ && guard_->has_lost_pages()) throw damaged_file(path_, "it was truncated while the database was open");
}

mapped_file::~mapped_file() {
  guard_.reset();  // before the addresses can belong to another mapping
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

folder_lock::folder_lock(file_layer& layer, const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) layer.make_folder(folder);
  handle_ = open_retrying(folder, O_RDONLY | O_DIRECTORY);
  if (handle_ < 0) fail_with_errno("opened", folder);
  if (::flock(handle_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(std::exchange(handle_, -1));
  errno = reason;
  if (reason != EWOULDBLOCK) fail_with_errno("locked", folder);
  throw engine_error(
      fmt::format("Database '{}' is open in another process: close it there, wait until it has ended, or open it "
                  "read-only.",
                  folder.string()),
      codes::object_in_use);
}

folder_lock::~folder_lock() {
  if (handle_ >= 0) ::close(handle_);
}

}  // namespace espalier::engine
