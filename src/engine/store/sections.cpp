// sections.cpp - the framing of sections. Invariant: every byte of a file is covered by exactly one checksum.
//
//   header | section, zeros up to 64 | ... | table of sections | trailer
//
// Header, trailer and each entry of the table have 64 bytes. Sections are contiguous.
#include "engine/store/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "engine/store/checksum.hpp"
#include "engine/store/files.hpp"

namespace espalier::engine {

// This namespace is named, since a class in the header has members of these types and several files may be compiled as
// one.
namespace detail {

struct section_entry {
  std::array<char, max_section_name + 1> name{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
  std::array<std::uint64_t, 2> reserved{};
};

}  // namespace detail

namespace {

using detail::section_entry;

static_assert(std::endian::native == std::endian::little, "files are written as memory holds them");

constexpr std::array<char, 8> sections_magic = {'E', 'S', 'P', 'A', 'L', 'I', 'E', 'R'};
constexpr std::array<char, 8> trailer_magic = {'S', 'E', 'C', 'T', 'I', 'O', 'N', 'S'};
constexpr std::uint32_t sections_version = 1;

struct file_header {
  std::array<char, 8> magic = sections_magic;
  std::uint32_t version = sections_version;
  std::uint32_t zero = 0;
  std::array<char, 16> kind{};
  std::array<std::uint64_t, 3> reserved{};
  std::uint64_t checksum = 0;
};

struct file_trailer {
  std::array<char, 8> magic = trailer_magic;
  std::uint64_t table_offset = 0;
  std::uint64_t sections = 0;
  std::uint64_t table_checksum = 0;
  std::array<std::uint64_t, 3> reserved{};
  std::uint64_t checksum = 0;
};

static_assert(sizeof(file_header) == 64 && sizeof(section_entry) == 64 && sizeof(file_trailer) == 64);

template <class Block>
std::uint64_t block_checksum(const Block& block) {
  return checksum_of(std::as_bytes(std::span(&block, 1)).first(sizeof(Block) - sizeof(std::uint64_t)));
}

template <class Block>
Block read_block(std::span<const std::byte> bytes, std::size_t offset) {
  Block block;
  std::memcpy(&block, bytes.data() + offset, sizeof(Block));
  return block;
}

template <std::size_t N>
std::string_view text_of(const std::array<char, N>& characters) {
  return {characters.data(), static_cast<std::size_t>(std::ranges::find(characters, '\0') - characters.begin())};
}

template <std::size_t N>
void set_text(std::array<char, N>& characters, std::string_view text) {
  if (text.empty() || text.size() >= N) throw error(fmt::format("A section cannot be called '{}'.", text));
  std::ranges::copy(text, characters.begin());
}

constexpr std::uint64_t padding_after(std::uint64_t bytes) { return (0 - bytes) % section_alignment; }

}  // namespace

damaged_file::damaged_file(const std::filesystem::path& file, std::string_view what)
    : engine_error(
          fmt::format("'{}' is damaged ({}): restore it from a copy, or load what it held into a new database.",
                      file.string(), what),
          codes::data_corrupted),
      finding_(fmt::format("'{}' is damaged ({})", file.string(), what)) {}

mapped_sections::mapped_sections(std::span<const std::byte> bytes, const std::filesystem::path& path,
                                 std::string_view kind)
    : path_(path) {
  read_table(bytes, kind);
}

mapped_sections::~mapped_sections() = default;

std::shared_ptr<const mapped_sections> mapped_sections::over(std::span<const std::byte> bytes,
                                                             const std::filesystem::path& path, std::string_view kind) {
  return std::shared_ptr<const mapped_sections>(new mapped_sections(bytes, path, kind));
}

std::shared_ptr<const mapped_sections> mapped_sections::open(const std::filesystem::path& path, std::string_view kind) {
  return open(std::make_shared<mapped_file>(path), path, kind);
}

std::shared_ptr<const mapped_sections> mapped_sections::open(std::shared_ptr<mapped_file> file,
                                                             const std::filesystem::path& path, std::string_view kind) {
  file->require_whole();
  auto sections = std::shared_ptr<mapped_sections>(new mapped_sections(file->bytes(), path, kind));
  sections->file_ = std::move(file);
  return sections;
}

void mapped_sections::read_table(std::span<const std::byte> bytes, std::string_view kind) {
  if (bytes.size() < sizeof(file_header) + sizeof(file_trailer)) throw damaged_file(path_, "truncated");
  const auto header = read_block<file_header>(bytes, 0);
  if (header.magic != sections_magic) throw damaged_file(path_, "not a file of Espalier");
  if (header.version != sections_version && header.checksum == block_checksum(header)) {
    throw error(
        fmt::format("'{}' has format version {}, and this program reads version {}: use the program that wrote it.",
                    path_.string(), header.version, sections_version));
  }
  if (header.checksum != block_checksum(header)) throw damaged_file(path_, "checksum mismatch of its header");
  if (text_of(header.kind) != kind) throw damaged_file(path_, fmt::format("it is not of the kind '{}'", kind));
  const std::uint64_t before_trailer = bytes.size() - sizeof(file_trailer);
  const auto trailer = read_block<file_trailer>(bytes, before_trailer);
  if (trailer.magic != trailer_magic || trailer.checksum != block_checksum(trailer)) {
    throw damaged_file(path_, "truncated, or checksum mismatch of its trailer");
  }
  if (trailer.table_offset < sizeof(file_header) || trailer.table_offset > before_trailer ||
      (before_trailer - trailer.table_offset) / sizeof(section_entry) != trailer.sections ||
      (before_trailer - trailer.table_offset) % sizeof(section_entry) != 0) {
    throw damaged_file(path_, "its table of sections has an impossible size");
  }
  if (checksum_of(bytes.subspan(trailer.table_offset, before_trailer - trailer.table_offset)) !=
      trailer.table_checksum) {
    throw damaged_file(path_, "checksum mismatch of its table of sections");
  }
  checksum_ = trailer.checksum;
  std::uint64_t expected = sizeof(file_header);
  for (std::uint64_t i = 0; i < trailer.sections; ++i) {
    const auto section = read_block<section_entry>(bytes, trailer.table_offset + i * sizeof(section_entry));
    const std::uint64_t room = trailer.table_offset - expected;
    if (section.offset != expected || section.bytes > room || section.bytes + padding_after(section.bytes) > room) {
      throw damaged_file(path_, "its table of sections contradicts itself");
    }
    const std::uint64_t padded = section.bytes + padding_after(section.bytes);
    entries_.push_back({std::string(text_of(section.name)), bytes.subspan(section.offset, section.bytes),
                        bytes.subspan(section.offset, padded), section.checksum});
    expected += padded;
  }
  if (expected != trailer.table_offset) throw damaged_file(path_, "its table of sections contradicts itself");
  checked_ = std::make_unique<std::atomic<bool>[]>(entries_.size());
}

const mapped_sections::entry* mapped_sections::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(entries_, name, &entry::name);
  return found == entries_.end() ? nullptr : &*found;
}

bool mapped_sections::has(std::string_view name) const noexcept { return find(name) != nullptr; }

void mapped_sections::check(const entry& section) const {
  auto& done = checked_[static_cast<std::size_t>(&section - entries_.data())];
  if (done.load(std::memory_order_acquire)) return;
  if (file_) file_->require_whole();
  if (checksum_of(section.padded) != section.checksum) {
    throw damaged_file(path_, fmt::format("checksum mismatch of section '{}'", section.name));
  }
  done.store(true, std::memory_order_release);
}

std::span<const std::byte> mapped_sections::get(std::string_view name) const {
  const entry* const section = find(name);
  if (section == nullptr) throw damaged_file(path_, fmt::format("section '{}' is missing", name));
  check(*section);
  return section->bytes;
}

void mapped_sections::check_all() const {
  for (const auto& section : entries_) check(section);
}

struct file_section_writer::state {
  std::vector<section_entry> table;
  running_checksum checksum;
  bool open = false;
};

file_section_writer::file_section_writer(output_file& file, std::string_view kind)
    : file_(file), state_(std::make_unique<state>()) {
  file_header header;
  set_text(header.kind, kind);
  header.checksum = block_checksum(header);
  put(std::as_bytes(std::span(&header, 1)));
}

file_section_writer::~file_section_writer() = default;

void file_section_writer::put(std::span<const std::byte> bytes) { file_.write(bytes); }

void file_section_writer::begin(std::string_view name) {
  end();
  section_entry next;
  set_text(next.name, name);
  for (const auto& other : state_->table) {
    if (text_of(other.name) == name) throw error(fmt::format("A file cannot have two sections '{}'.", name));
  }
  next.offset = file_.position();
  state_->table.push_back(next);
  state_->checksum.restart();
  state_->open = true;
}

void file_section_writer::write(std::span<const std::byte> bytes) {
  if (!state_->open) throw error("A section has to be begun before it is written.");
  state_->checksum.add(bytes);
  put(bytes);
}

void file_section_writer::end() {
  if (!std::exchange(state_->open, false)) return;
  auto& section = state_->table.back();
  section.bytes = file_.position() - section.offset;
  constexpr std::array<std::byte, section_alignment> zeros{};
  const auto padding = std::span(zeros).first(padding_after(section.bytes));
  state_->checksum.add(padding);
  put(padding);
  section.checksum = state_->checksum.value();
}

std::uint64_t file_section_writer::finish() {
  end();
  file_trailer trailer;
  trailer.table_offset = file_.position();
  trailer.sections = state_->table.size();
  const auto table = std::as_bytes(std::span(state_->table));
  trailer.table_checksum = checksum_of(table);
  put(table);
  trailer.checksum = block_checksum(trailer);
  put(std::as_bytes(std::span(&trailer, 1)));
  return trailer.checksum;
}

}  // namespace espalier::engine
