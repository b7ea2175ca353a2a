// sections.hpp - files made of named sections, each with a checksum, which are read by mapping them.
//
// Who saves something writes sections of plain bytes through `section_writer` and finds the same bytes, at addresses
// that are multiples of 64, through `mapped_sections`. Framing, checksums and file names are the store's
// (docs/file-format.md). A section is checked when it is first asked for, so that opening a large index reads what is
// used of it.
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

/// A stored file is not what was written: which one, and in which way.
class damaged_file : public engine_error {
 public:
  damaged_file(const std::filesystem::path& file, std::string_view what);
  /// Names the file and what is wrong with it, without a full stop and without advice.
  [[nodiscard]] const std::string& finding() const noexcept { return finding_; }

 private:
  std::string finding_;
};

/// Where sections go. Names are unique within a file.
class section_writer {
 public:
  virtual ~section_writer() = default;

  /// A section in pieces: begin, then any number of `write`s; it ends where the next begins.
  virtual void begin(std::string_view name) = 0;
  virtual void write(std::span<const std::byte> bytes) = 0;

  /// A whole section.
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

/// Sections of one file. Spans live as long as this does, so what is loaded without a copy keeps the shared_ptr.
class mapped_sections {
 public:
  /// Checks what frames the sections, not yet the sections. `kind` is the kind of file that is expected.
  [[nodiscard]] static std::shared_ptr<const mapped_sections> open(const std::filesystem::path& path,
                                                                   std::string_view kind);
  [[nodiscard]] static std::shared_ptr<const mapped_sections> open(std::shared_ptr<mapped_file> file,
                                                                   const std::filesystem::path& path,
                                                                   std::string_view kind);
  /// The same over bytes that live longer than the answer, aligned as a mapped file's; errors name `path`.
  [[nodiscard]] static std::shared_ptr<const mapped_sections> over(std::span<const std::byte> bytes,
                                                                   const std::filesystem::path& path,
                                                                   std::string_view kind);
  mapped_sections(const mapped_sections&) = delete;
  mapped_sections& operator=(const mapped_sections&) = delete;
  ~mapped_sections();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] bool has(std::string_view name) const noexcept;
  /// Of the file as a whole: what file_section_writer::finish answered.
  [[nodiscard]] std::uint64_t checksum() const noexcept { return checksum_; }

  /// The section's bytes; throws damaged_file where it is missing or its checksum is another.
  [[nodiscard]] std::span<const std::byte> get(std::string_view name) const;
  /// As values; throws damaged_file also where the size is no multiple of theirs.
  template <class T>
  [[nodiscard]] std::span<const T> get_array(std::string_view name) const {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= section_alignment);
    const auto bytes = get(name);
    if (bytes.size() % sizeof(T) != 0) throw damaged_file(path_, "a section has an impossible size");
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// As an array of exactly `count` values.
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

  /// Checks every section, whether it was asked for or not.
  void check_all() const;

 private:
  struct entry {
    std::string name;
    std::span<const std::byte> bytes;   // what was written
    std::span<const std::byte> padded;  // with the zeros that follow: what the checksum covers
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

/// Sections into an output file, in the order in which they are begun. `finish` is called before the file's own.
class file_section_writer final : public section_writer {
 public:
  file_section_writer(output_file& file, std::string_view kind);
  ~file_section_writer() override;

  void begin(std::string_view name) override;
  void write(std::span<const std::byte> bytes) override;
  /// Answers the checksum of the trailer, which covers those of all sections.
  std::uint64_t finish();

 private:
  struct state;
  void end();
  void put(std::span<const std::byte> bytes);

  output_file& file_;
  std::unique_ptr<state> state_;
};

}  // namespace espalier::engine
