// load_any_file.hpp - runs the readers of stored files on arbitrary bytes: they return or throw `error`, whatever the
// bytes are. The fuzzer (tests/fuzz) and the tests that run without it share this function.
#pragma once

#include <arrow/buffer.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "engine/store/catalog_file.hpp"
#include "engine/store/checksum.hpp"
#include "engine/store/row_files.hpp"
#include "engine/store/sections.hpp"
#include "espalier/core/error.hpp"

namespace espalier::test {

/// The reader that gets the bytes: the first byte modulo four selects it.
enum class stored_bytes : std::uint8_t { catalog, catalog_contents, sections, segment };

inline std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

inline void put_word(std::span<std::byte> bytes, std::size_t offset, std::uint64_t word) {
  std::memcpy(bytes.data() + offset, &word, sizeof word);
}

/// Corrects the checksums of header, table and trailer, so that mutations reach the code after the checks.
inline void sign_sections(std::span<std::byte> bytes) {
  constexpr std::size_t block = 64;
  if (bytes.size() < 2 * block) return;
  put_word(bytes, block - 8, engine::checksum_of(bytes.first(block - 8)));
  const std::size_t trailer = bytes.size() - block;
  const std::uint64_t table = word_at(bytes, trailer + 8);
  if (table <= trailer) put_word(bytes, trailer + 24, engine::checksum_of(bytes.subspan(table, trailer - table)));
  put_word(bytes, bytes.size() - 8, engine::checksum_of(bytes.subspan(trailer, block - 8)));
}

inline void look_at_sections(std::span<const std::byte> bytes) {
  const auto sections = engine::mapped_sections::over(bytes, "sections", "index");
  (void)sections->get_array<std::uint64_t>("numbers");
  (void)sections->get_text("about");
  sections->check_all();
}

/// Any exception except `error` is a defect.
inline void load_any_file(stored_bytes kind, std::span<const std::uint8_t> input) {
  // Mapped files are aligned, and so are Arrow's allocations.
  auto buffer = arrow::AllocateBuffer(static_cast<std::int64_t>(input.size())).ValueOrDie();
  if (!input.empty()) std::memcpy(buffer->mutable_data(), input.data(), input.size());
  const std::span bytes(reinterpret_cast<std::byte*>(buffer->mutable_data()), input.size());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    switch (kind) {
      case stored_bytes::catalog:
        (void)engine::parse_catalog(text, "catalog");
        break;
      case stored_bytes::catalog_contents:
        (void)engine::parse_catalog_contents(text, "catalog");
        break;
      case stored_bytes::sections:
        sign_sections(bytes);
        look_at_sections(bytes);
        break;
      case stored_bytes::segment:
        (void)engine::parse_segment(std::move(buffer), "segment", engine::row_check::full);
        break;
    }
  } catch (const error&) {
  }
}

}  // namespace espalier::test
