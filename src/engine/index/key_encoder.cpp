#include "engine/index/key_encoder.hpp"

#include <arrow/chunked_array.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/stop.hpp"
#include "espalier/core/byte_key.hpp"

namespace espalier::engine {

namespace {

constexpr char value_mark = 0x00;
constexpr char null_mark = 0x01;

/// The least and the greatest word of a column.
struct frame {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

frame frame_of(const key_column& column) {
  frame f{std::numeric_limits<std::uint64_t>::max(), 0};
  for (std::size_t i = 0; i < column.words.size(); ++i) {
    if (column.is_null(i)) continue;
    f.low = std::min(f.low, column.words[i]);
    f.high = std::max(f.high, column.words[i]);
  }
  return f.low <= f.high ? f : frame{};
}

/// Widens fields until the word is full, so that later rows fit as well. Half of the added range is below the values.
void share_out(std::vector<key_field>& fields, unsigned spare) {
  for (bool any = true; spare != 0 && any;) {
    any = false;
    for (std::size_t i = fields.size(); i-- != 0 && spare != 0;) {
      if (fields[i].bits >= 8 * key_bytes(fields[i].type) + 1) continue;  // one bit more than the type, for NULL
      ++fields[i].bits;
      --spare;
      any = true;
    }
  }
}

std::optional<std::vector<key_field>> packed_fields(const std::vector<column_type>& types,
                                                    const key_encoder::columns_of_rows& rows) {
  std::vector<key_field> fields;
  std::vector<frame> frames;
  unsigned total = 0;
  for (std::size_t c = 0; c < types.size(); ++c) {
    const bool has_null = rows[c]->null_count() != 0;
    const frame f = frame_of(read_key_column(*rows[c], types[c]));
    const std::uint64_t span = f.high - f.low;
    if (span >= std::numeric_limits<std::uint64_t>::max() - 1) return std::nullopt;
    const auto bits = std::max(1u, static_cast<unsigned>(std::bit_width(span + (has_null ? 1 : 0))));
    fields.push_back({types[c], has_null, f.low, bits, 0});
    frames.push_back(f);
    total += bits;
  }
  if (total > 64) return std::nullopt;
  share_out(fields, (total <= 32 ? 32 : 64) - total);
  unsigned shift = 0;
  for (std::size_t c = fields.size(); c-- != 0;) {
    const std::uint64_t room = fields[c].last_code() - (frames[c].high - frames[c].low);
    fields[c].base = frames[c].low - std::min(frames[c].low, room / 2);
    fields[c].shift = shift;
    shift += fields[c].bits;
  }
  return fields;
}

unsigned total_bits(const std::vector<key_field>& fields) {
  unsigned total = 0;
  for (const key_field& f : fields) total += f.bits;
  return total;
}

/// Returns a field for each column of a byte key.
std::vector<key_field> byte_fields(const std::vector<column_type>& types, const key_encoder::columns_of_rows& rows) {
  std::vector<key_field> fields;
  for (std::size_t c = 0; c < types.size(); ++c)
    fields.push_back({types[c], types.size() > 1 && rows[c]->null_count() != 0, 0, 0, 0});
  return fields;
}

void append_big_endian(std::string& out, std::uint64_t word, unsigned bytes) {
  for (unsigned b = bytes; b-- != 0;) out.push_back(static_cast<char>(word >> (8 * b) & 0xff));
}

void append_value(std::string& out, const key_field& field, const key_column& column, std::size_t i, bool last) {
  if (field.type.id == type_id::varchar) {
    if (last) {
      out += column.text[i];
    } else {
      append_key_bytes(out, column.text[i]);
    }
    return;
  }
  if (!column.high.empty()) append_big_endian(out, column.high[i], 8);
  append_big_endian(out, column.words[i], std::min(8u, key_bytes(field.type)));
}

std::vector<std::uint8_t> any_nulls(const std::vector<key_column>& columns, std::size_t n) {
  std::vector<std::uint8_t> any;
  for (const key_column& column : columns) {
    if (column.nulls.empty()) continue;
    any.resize(n, 0);
    for (std::size_t i = 0; i < n; ++i) any[i] |= column.nulls[i];
  }
  return any;
}

}  // namespace

void append_key_column(std::string& out, const key_field& field, const key_column& column, std::size_t i, bool last) {
  if (field.has_null) {
    out.push_back(column.is_null(i) ? null_mark : value_mark);
    if (column.is_null(i)) return;
  }
  append_value(out, field, column, i, last);
}

std::shared_ptr<const key_encoder> key_encoder::plan(const std::vector<column_type>& types, const columns_of_rows& rows,
                                                     bool want_words) {
  if (!want_words) return std::make_shared<key_encoder>(key_form::bytes, byte_fields(types, rows));
  if (!std::all_of(types.begin(), types.end(), has_word)) return nullptr;
  if (types.size() == 1) {
    const bool narrow = key_bytes(types[0]) <= 4;
    return std::make_shared<key_encoder>(narrow ? key_form::word32 : key_form::word64,
                                         std::vector<key_field>{{types[0], false, 0, narrow ? 32u : 64u, 0}});
  }
  auto fields = packed_fields(types, rows);
  if (!fields) return nullptr;
  const key_form form = total_bits(*fields) <= 32 ? key_form::word32 : key_form::word64;
  return std::make_shared<key_encoder>(form, std::move(*fields));
}

std::shared_ptr<const key_encoder> key_encoder::restore(key_form form, std::vector<key_field> fields) {
  unsigned below = 0;
  for (std::size_t c = fields.size(); c-- != 0;) {
    const key_field& f = fields[c];
    const bool words = form != key_form::bytes;
    const bool fits = !words || (has_word(f.type) && f.bits >= 1 && f.bits <= 64 && f.shift == below);
    if (!fits || (fields.size() == 1 && f.has_null))
      throw error("index: the saved keys have fields that no index has.");
    below += words ? f.bits : 0;
  }
  if (fields.empty() || below > (form == key_form::word32 ? 32u : 64u))
    throw error("index: the saved keys have more bits than a word.");
  return std::make_shared<key_encoder>(form, std::move(fields));
}

std::optional<encoded_keys> key_encoder::encode(const columns_of_rows& rows) const {
  std::vector<key_column> columns;
  for (std::size_t c = 0; c < fields_.size(); ++c) columns.push_back(read_key_column(*rows[c], fields_[c].type));
  const auto n = static_cast<std::size_t>(rows[0]->length());
  return form_ == key_form::bytes ? encode_bytes(columns, n) : encode_words(columns, n);
}

std::optional<encoded_keys> key_encoder::encode_words(const std::vector<key_column>& columns, std::size_t n) const {
  encoded_keys keys{n, {}, {}, any_nulls(columns, n)};
  if (!is_composite()) {
    keys.words = columns[0].words;
    return keys;
  }
  keys.words.assign(n, 0);
  for (std::size_t c = 0; c < fields_.size(); ++c) {
    const key_field& f = fields_[c];
    for (std::size_t i = 0; i < n; ++i) {
      if (i % rows_between_checks == 0) check_cancelled();
      const bool null = columns[c].is_null(i);
      const std::uint64_t word = columns[c].words[i];
      if (null ? !f.has_null : word < f.base || word - f.base > f.last_code()) return std::nullopt;
      keys.words[i] |= (null ? f.null_code() : word - f.base) << f.shift;
    }
  }
  return keys;
}

std::optional<encoded_keys> key_encoder::encode_bytes(const std::vector<key_column>& columns, std::size_t n) const {
  encoded_keys keys{n, {}, {}, any_nulls(columns, n)};
  for (std::size_t c = 0; is_composite() && c < fields_.size(); ++c) {
    if (!columns[c].nulls.empty() && !fields_[c].has_null) return std::nullopt;
  }
  keys.bytes.offsets.reserve(n + 1);
  for_each_row(n, [&](std::size_t i) {
    for (std::size_t c = 0; c < fields_.size(); ++c) {
      if (!is_composite() && columns[c].is_null(i)) continue;
      append_key_column(keys.bytes.bytes, fields_[c], columns[c], i, c + 1 == fields_.size());
    }
    keys.bytes.offsets.push_back(keys.bytes.bytes.size());
  });
  return keys;
}

}  // namespace espalier::engine
