// load_any_file.hpp - the readers of stored files on any bytes: they answer or throw `error`, whatever the bytes are.
// One function for the fuzzer (tests/fuzz) and for the tests that run without one.
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

/// Which reader gets the bytes: what the first of them, modulo four, says.
enum class stored_bytes : std::uint8_t { catalog, catalog_contents, sections, segment };

inline std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

inline void put_word(std::span<std::byte> bytes, std::size_t offset, std::uint64_t word) {
  std::memcpy(bytes.data() + offset, &word, sizeof word);
}

/// Makes the checksums of header, table and trailer right, so that mutations reach what is behind them.
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

/// Anything but `error` is a fault.
inline void load_any_file(stored_bytes kind, std::span<const std::uint8_t> input) {
  // Mapped files are aligned; so are Arrow's allocations.
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
