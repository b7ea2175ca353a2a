// files.hpp - every change that the store makes to the file system, and memory-mapped files.
//
// A file is written under a temporary name, synced and renamed, and its folder is synced: it is invisible until the
// rename and durable after the sync. Tests derive from `file_layer` to fail or exit before any operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "engine/store/sigbus_handler.hpp"

namespace espalier::engine {

enum class file_operation : std::uint8_t { make_folder, create, write, sync, close, rename, sync_folder, remove };

class file_layer {
 public:
  file_layer() = default;
  file_layer(const file_layer&) = delete;
  file_layer& operator=(const file_layer&) = delete;
  virtual ~file_layer() = default;

  void make_folder(const std::filesystem::path& folder);
  /// Creates an empty file under its final name, without a sync. It is not an error if the file exists.
  void make_empty_file(const std::filesystem::path& file);
  void rename(const std::filesystem::path& from, const std::filesystem::path& to);
  void sync_folder(const std::filesystem::path& folder);
  /// It is not an error if the file does not exist.
  void remove(const std::filesystem::path& file);

 protected:
  friend class output_file;
  /// Called before each operation; throws to make it fail. For a write, `bytes` is the number of bytes to be written,
  /// and the return value how many of them are written before the next call.
  virtual std::size_t before(file_operation operation, const std::filesystem::path& path, std::size_t bytes);
};

/// Returns the file layer that programs use.
[[nodiscard]] file_layer& plain_files();

/// A new file, written sequentially. Destruction before `finish` leaves at most its temporary name, which is removed if
/// possible.
class output_file {
 public:
  output_file(file_layer& layer, std::filesystem::path path);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file();

  void write(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  /// Syncs the file, closes it and renames it to its final name. The caller syncs the folder once for all files of a
  /// commit.
  void finish();

 private:
  void flush();

  file_layer& layer_;
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t buffered_ = 0;
  std::uint64_t position_ = 0;
  int handle_ = -1;
};

/// The suffix of files that are being written or that a killed process left.
inline constexpr std::string_view temporary_ending = ".part";

/// The bytes of a file, mapped read-only for the lifetime of this object. An empty file has no bytes and is not an
/// error; anything but a regular file is refused. If another program truncates the file meanwhile, the lost bytes are
/// zeros, and reading a lost page kills the process unless the SIGBUS handler is installed.
class mapped_file {
 public:
  explicit mapped_file(const std::filesystem::path& path);
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  /// Throws `damaged_file` if the file has been truncated since it was mapped. A file that was removed or replaced by
  /// another one is not truncated: the mapping keeps it.
  void require_whole() const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t device_ = 0;  // device and inode identify the file
  std::uint64_t inode_ = 0;
  std::optional<guarded_range> guard_;
};

/// An exclusive lock on a folder for the lifetime of this object; the folder is created if necessary. Throws if another
/// process holds the lock. The folder itself is locked (`flock`), so no lock file has to exist or can be lost.
class folder_lock {
 public:
  folder_lock(file_layer& layer, const std::filesystem::path& folder);
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;
  ~folder_lock();

 private:
  int handle_ = -1;
};

}  // namespace espalier::engine
