// sections.hpp - files of named sections, each with a checksum, which are memory-mapped for reading.
//
// A client writes sections of bytes through `section_writer` and reads the same bytes, at addresses that are multiples
// of 64, through `mapped_sections`. The store defines framing, checksums and file names (docs/file-format.md). A
// section is verified when it is first requested, so that opening a large index reads only what is used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {

class mapped_file;
class output_file;

inline constexpr std::size_t section_alignment = 64;
inline constexpr std::size_t max_section_name = 23;

/// A stored file differs from what was written. The message has the file and the difference.
class damaged_file : public engine_error {
 public:
  damaged_file(const std::filesystem::path& file, std::string_view what);
  /// Returns the file and what is wrong with it, without a full stop and without advice.
  [[nodiscard]] const std::string& finding() const noexcept { return finding_; }

 private:
  std::string finding_;
};

/// The destination of sections. Names are unique within a file.
class section_writer {
 public:
  virtual ~section_writer() = default;

  /// Starts a section, which any number of `write` calls extend until the next one starts.
  virtual void begin(std::string_view name) = 0;
  virtual void write(std::span<const std::byte> bytes) = 0;

  /// Writes a whole section.
  void add(std::string_view name, std::span<const std::byte> bytes) {
    begin(name);
    write(bytes);
  }
  template <class T>
  void add_array(std::string_view name, std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    add(name, std::as_bytes(values));
  }
  void add_text(std::string_view name, std::string_view text) {
    add(name, std::as_bytes(std::span(text.data(), text.size())));
  }
};

/// The sections of one file. Spans are valid for the lifetime of this object, so zero-copy users keep the shared_ptr.
class mapped_sections {
 public:
  /// Verifies the framing, but not the sections. `kind` is the expected kind of file.
  [[nodiscard]] static std::shared_ptr<const mapped_sections> open(const std::filesystem::path& path,
                                                                   std::string_view kind);
  [[nodiscard]] static std::shared_ptr<const mapped_sections> open(std::shared_ptr<mapped_file> file,
                                                                   const std::filesystem::path& path,
                                                                   std::string_view kind);
  /// The same for bytes that outlive the result, aligned like a mapped file; errors refer to `path`.
  [[nodiscard]] static std::shared_ptr<const mapped_sections> over(std::span<const std::byte> bytes,
                                                                   const std::filesystem::path& path,
                                                                   std::string_view kind);
  mapped_sections(const mapped_sections&) = delete;
  mapped_sections& operator=(const mapped_sections&) = delete;
  ~mapped_sections();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const std::shared_ptr<mapped_file>& file() const noexcept { return file_; }  ///< null after over()
  [[nodiscard]] bool has(std::string_view name) const noexcept;
  /// Returns the checksum of the file, as returned by file_section_writer::finish.
  [[nodiscard]] std::uint64_t checksum() const noexcept { return checksum_; }

  /// Returns the bytes of the section. Throws damaged_file if it is missing or its checksum does not match.
  [[nodiscard]] std::span<const std::byte> get(std::string_view name) const;
  /// Returns the section as values. Throws damaged_file also if its size is not a multiple of sizeof(T).
  template <class T>
  [[nodiscard]] std::span<const T> get_array(std::string_view name) const {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= section_alignment);
    const auto bytes = get(name);
    if (bytes.size() % sizeof(T) != 0) throw damaged_file(path_, "a section has an impossible size");
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// Returns the section as an array of exactly `count` values.
  template <class T>
  [[nodiscard]] std::span<const T> get_array(std::string_view name, std::size_t count) const {
    const auto values = get_array<T>(name);
    if (values.size() != count) throw damaged_file(path_, "a section has an unexpected size");
    return values;
  }
  [[nodiscard]] std::string_view get_text(std::string_view name) const {
    const auto bytes = get(name);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  /// Verifies every section, requested or not.
  void check_all() const;

 private:
  struct entry {
    std::string name;
    std::span<const std::byte> bytes;   // as written
    std::span<const std::byte> padded;  // including the zeros that follow, which the checksum covers
    std::uint64_t checksum = 0;
  };
  mapped_sections(std::span<const std::byte> bytes, const std::filesystem::path& path, std::string_view kind);
  void read_table(std::span<const std::byte> bytes, std::string_view kind);
  const entry* find(std::string_view name) const noexcept;
  void check(const entry& section) const;

  std::shared_ptr<mapped_file> file_;
  std::filesystem::path path_;
  std::uint64_t checksum_ = 0;
  std::vector<entry> entries_;
  mutable std::unique_ptr<std::atomic<bool>[]> checked_;
};

/// Writes sections to an output file in the order in which they are started. Its `finish` is called before the file's.
class file_section_writer final : public section_writer {
 public:
  file_section_writer(output_file& file, std::string_view kind);
  ~file_section_writer() override;

  void begin(std::string_view name) override;
  void write(std::span<const std::byte> bytes) override;
  /// Returns the checksum of the trailer, which covers those of all sections.
  std::uint64_t finish();

 private:
  struct state;
  void end();
  void put(std::span<const std::byte> bytes);

  output_file& file_;
  std::unique_ptr<state> state_;
};

}  // namespace espalier::engine
