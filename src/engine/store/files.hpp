// files.hpp - every change that the store makes to the file system, and files mapped into memory.
//
// A file is written under a temporary name, synced, renamed, and its folder synced: until the rename nobody sees it,
// and after the sync nobody loses it. Tests derive from `file_layer` to fail or die before any operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace espalier::engine {

enum class file_operation : std::uint8_t { make_folder, create, write, sync, close, rename, sync_folder, remove };

class file_layer {
 public:
  file_layer() = default;
  file_layer(const file_layer&) = delete;
  file_layer& operator=(const file_layer&) = delete;
  virtual ~file_layer() = default;

  void make_folder(const std::filesystem::path& folder);
  /// An empty file under its final name, not synced. One that is there already is no error.
  void make_empty_file(const std::filesystem::path& file);
  void rename(const std::filesystem::path& from, const std::filesystem::path& to);
  void sync_folder(const std::filesystem::path& folder);
  /// A file that is not there is no error.
  void remove(const std::filesystem::path& file);

 protected:
  friend class output_file;
  /// Called before each operation; throws to make it fail. For writes `bytes` is what is about to be written, and the
  /// answer how much of it will be before the layer calls again for the rest.
  virtual std::size_t before(file_operation operation, const std::filesystem::path& path, std::size_t bytes);
};

/// The file layer that programs use.
[[nodiscard]] file_layer& plain_files();

/// A new file, written from start to end. Destroyed before `finish`, it leaves only its temporary name, removed where
/// that is still possible.
class output_file {
 public:
  output_file(file_layer& layer, std::filesystem::path path);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file();

  void write(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  /// Synced, closed and renamed to its own name. The caller syncs the folder, once for all files of a commit.
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

/// Of files that are being written, or that a killed process left.
inline constexpr std::string_view temporary_ending = ".part";

/// A file's bytes, read-only, for as long as this lives. Empty files have no bytes and are no error; what is not a
/// regular file is refused. A file that another program cuts short meanwhile ends the process (SIGBUS).
class mapped_file {
 public:
  explicit mapped_file(const std::filesystem::path& path);
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// An exclusive lock on a folder, which is made where there is none; held while this lives. Throws a sentence where
/// another process has it. The folder itself is locked (`flock`), so that no file has to exist for it or can be lost.
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
