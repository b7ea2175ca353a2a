// join_groups.cpp - see join_groups.hpp.
//
// Strings get codes from a hash table of 24-byte slots that hold strings of at most 12 bytes in the form of Arrow's
// views (length and bytes in two words), so that the usual symbols are compared without a memory access. Of longer
// strings the second word is the hash, and the bytes are in an arena. Rows are found in parallel; strings that are new
// are added by one thread, after a first wave of few rows.
#include "join_groups.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>

namespace espalier::python {

namespace {

constexpr std::size_t group_piece = std::size_t{1} << 14;

/// A string as two words. `bytes` is used only if there are more than 12 of them.
struct text_key {
  std::uint64_t head = 0;  // length in the low half, the first 4 bytes above
  std::uint64_t tail = 0;  // the next 8 bytes, or the hash
  const char* bytes = nullptr;

  [[nodiscard]] std::size_t length() const { return head & 0xffffffffu; }
  [[nodiscard]] bool is_short() const { return length() <= 12; }
};

[[nodiscard]] std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

[[nodiscard]] std::uint64_t hash_of_bytes(const char* p, std::size_t length) {
  std::uint64_t h = length;
  for (; length >= 8; p += 8, length -= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    h = mix(h ^ word) + 0x9e3779b97f4a7c15u;
  }
  std::uint64_t word = 0;
  std::memcpy(&word, p, length);
  return mix(h ^ word);
}

/// `readable`: bytes that may be read from p.
[[nodiscard]] text_key key_of(const char* p, std::size_t length, std::size_t readable) {
  text_key key;
  if (length > 12) {
    if (length > 0xffffffffu) throw error("A `by` column has a string of 4 GiB or more; shorten it.");
    std::uint32_t first;
    std::memcpy(&first, p, 4);
    return {length | (std::uint64_t{first} << 32), hash_of_bytes(p, length), p};
  }
  if (readable >= 12) {
    std::uint32_t first;
    std::memcpy(&first, p, 4);
    std::memcpy(&key.tail, p + 4, 8);
    if (length < 4) first &= (std::uint32_t{1} << (8 * length)) - 1;
    key.tail = length <= 4 ? 0 : length == 12 ? key.tail : key.tail & ((std::uint64_t{1} << (8 * (length - 4))) - 1);
    key.head = length | (std::uint64_t{first} << 32);
    return key;
  }
  char copy[12] = {};
  if (length != 0) std::memcpy(copy, p, length);
  return key_of(copy, length, 12);
}

/// key(row) for each layout of strings.
template <class Body>
void with_text_reader(const join_column& column, Body&& body) {
  if (column.layout == column_layout::views) {
    const auto* views = static_cast<const char*>(column.data);
    body([&column, views](std::size_t i) {
      text_key key;
      std::memcpy(&key.head, views + i * 16, 8);
      std::memcpy(&key.tail, views + i * 16 + 8, 8);
      if (key.is_short()) return key;
      const auto index = static_cast<std::uint32_t>(key.tail), offset = static_cast<std::uint32_t>(key.tail >> 32);
      key.bytes = column.buffers[index] + offset;
      key.tail = hash_of_bytes(key.bytes, key.length());
      return key;
    });
    return;
  }
  const auto with_offsets = [&]<class Offset>(const Offset* offsets) {
    const auto* bytes = static_cast<const char*>(column.data);
    const auto end = static_cast<std::size_t>(offsets[column.size]);
    body([=](std::size_t i) {
      const auto first = static_cast<std::size_t>(offsets[i]);
      return key_of(bytes + first, static_cast<std::size_t>(offsets[i + 1]) - first, end - first);
    });
  };
  if (column.layout == column_layout::text_32) {
    with_offsets(static_cast<const std::int32_t*>(column.offsets));
  } else {
    with_offsets(static_cast<const std::int64_t*>(column.offsets));
  }
}

}  // namespace

class text_dictionary {
 public:
  [[nodiscard]] std::uint32_t find(const text_key& key) const { return slots_[slot_of(key)].code; }
  [[nodiscard]] std::uint32_t add(const text_key& key) {
    std::size_t at = slot_of(key);
    if (slots_[at].code != no_group) return slots_[at].code;
    const auto code = static_cast<std::uint32_t>(long_.size());
    if (code + 1 == no_group) throw error("There are more than 2^32 - 2 groups; split the rows.");
    if (2 * (long_.size() + 1) > slots_.size()) {
      grow();
      at = slot_of(key);
    }
    long_.push_back(key.is_short() ? std::string() : std::string(key.bytes, key.length()));
    slots_[at] = {key.head, key.tail, code};
    return code;
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(long_.size()); }

 private:
  struct slot {
    std::uint64_t head = 0, tail = 0;
    std::uint32_t code = no_group;
  };
  [[nodiscard]] static std::uint64_t hash(std::uint64_t head, std::uint64_t tail) {
    return mix(head * 0x9e3779b97f4a7c15u ^ tail);
  }
  [[nodiscard]] std::size_t slot_of(const text_key& key) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash(key.head, key.tail) & mask;; at = (at + 1) & mask) {
      const slot& s = slots_[at];
      if (s.code == no_group) return at;
      if (s.head == key.head && s.tail == key.tail &&
          (key.is_short() || std::memcmp(long_[s.code].data(), key.bytes, key.length()) == 0)) {
        return at;
      }
    }
  }
  void grow() {
    std::vector<slot> old(2 * slots_.size());
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const slot& s : old) {
      if (s.code == no_group) continue;
      std::size_t at = hash(s.head, s.tail) & mask;
      while (slots_[at].code != no_group) at = (at + 1) & mask;
      slots_[at] = s;
    }
  }
  std::vector<slot> slots_ = std::vector<slot>(256);
  std::vector<std::string> long_;  // by code; empty for short strings
};

namespace {

/// Codes of a text column that is not behind a dictionary.
void codes_of_plain_text(const join_column& column, text_dictionary& dictionary, std::span<std::uint32_t> codes,
                         bool adds) {
  if (column.size == 0) return;
  const cpu_backend backend(join_device());
  with_text_reader(column, [&](const auto& key_at) {
    std::vector<std::vector<std::size_t>> missing;
    std::size_t length = adds ? group_piece / 4 : codes.size();
    for (std::size_t first = 0; first < codes.size();) {
      const std::size_t last = codes.size() - first > length ? first + length : codes.size();
      const std::size_t pieces = (last - first + group_piece - 1) / group_piece;
      if (adds) missing.assign(pieces, {});
      backend.for_each(
          pieces,
          [&](std::size_t p) {
            const std::size_t to = std::min(last, first + (p + 1) * group_piece);
            for (std::size_t i = first + p * group_piece; i < to; ++i) {
              if (!column.validity[i]) {
                codes[i] = no_group;
                continue;
              }
              codes[i] = dictionary.find(key_at(i));
              if (adds && codes[i] == no_group) missing[p].push_back(i);
            }
          },
          1);
      if (adds) {
        for (const auto& rows : missing) {
          for (const std::size_t i : rows) codes[i] = dictionary.add(key_at(i));
        }
      }
      first = last;
      length *= 8;
    }
  });
}

}  // namespace

join_groups::join_groups() : encoder_(join_device()) {}
join_groups::~join_groups() = default;

void join_groups::codes_of_text(const join_column& column, std::size_t position, std::span<std::uint32_t> codes,
                                bool adds) {
  text_dictionary& dictionary = *texts_[position];
  if (column.layout != column_layout::dictionary) {
    codes_of_plain_text(column, dictionary, codes, adds);
    return;
  }
  std::vector<std::uint32_t> of_values(column.dictionary->size);
  codes_of_plain_text(*column.dictionary, dictionary, of_values, adds);
  with_dictionary_indices(column, [&](const auto* indices) {
    cpu_backend(join_device()).for_each_chunk(codes.size(), group_piece, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const auto index = static_cast<std::uint64_t>(indices[i]);
        codes[i] = column.validity[i] && index < of_values.size() ? of_values[index] : no_group;
      }
    });
  });
}

namespace {

/// Whether the dictionaries of two columns have the same text at the same index, without repetitions and NULLs, so that
/// their indices are codes of both.
bool have_same_dictionary(const join_column& left, const join_column& right) {
  text_dictionary known;
  for (const join_column* values : {right.dictionary.get(), left.dictionary.get()}) {
    std::vector<std::uint32_t> codes(values->size);
    codes_of_plain_text(*values, known, codes, true);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] != i) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<dense_groups> dense_groups_of_columns(const join_column& left, const join_column& right) {
  if (left.layout == column_layout::fixed && right.layout == column_layout::fixed) {
    return dense_groups_of(left.view(), right.view(), join_device());
  }
  const auto is_dictionary = [](const join_column& c) {
    return c.layout == column_layout::dictionary && c.width == 4 && c.dictionary->is_text() &&
           c.dictionary->size <= most_dense_groups;
  };
  if (!is_dictionary(left) || !is_dictionary(right) || !have_same_dictionary(left, right)) return {};
  const auto indices = [](const join_column& c) { return column_view(scalar_kind::u32, c.data, c.size, c.validity); };
  auto groups = dense_groups_of(indices(left), indices(right), join_device());
  // Indices beyond the dictionary, in data that are not valid Arrow, match nothing: the other path finds them.
  if (groups && groups->groups > std::max(left.dictionary->size, right.dictionary->size)) return {};
  return groups;
}

void join_groups::encode(std::span<const column_ptr> columns, std::span<std::uint32_t> codes, bool adds) {
  std::unique_lock exclusive(latch_, std::defer_lock);
  std::shared_lock shared(latch_, std::defer_lock);
  if (adds) {
    exclusive.lock();
  } else {
    shared.lock();
  }
  const auto is_text = [](const column_ptr& c) {
    return c->layout == column_layout::dictionary ? c->dictionary->is_text() : c->is_text();
  };
  if (texts_.empty() && adds) {
    for (const column_ptr& c : columns) texts_.push_back(is_text(c) ? std::make_unique<text_dictionary>() : nullptr);
    is_one_text_ = columns.size() == 1 && is_text(columns[0]);
  }
  if (texts_.empty()) {
    std::fill(codes.begin(), codes.end(), no_group);
    return;
  }
  if (columns.size() != texts_.size()) throw error("The number of `by` columns differs from the first call.");
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (is_text(columns[c]) != (texts_[c] != nullptr)) {
      throw error("A `by` column has strings on one side and other values on the other; convert one of them.");
    }
  }
  if (is_one_text_) {
    codes_of_text(*columns[0], 0, codes, adds);
    return;
  }
  std::vector<by_column> keys;
  std::vector<buffer<std::uint32_t>> text_codes;
  std::vector<std::vector<std::uint8_t>> bitmaps;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const column_ptr& column = columns[c];
    if (texts_[c] != nullptr) {
      text_codes.emplace_back(join_device(), codes.size());
      codes_of_text(*column, c, text_codes.back().span(), adds);
      std::vector<std::uint8_t> valid((codes.size() + 7) / 8);
      bool has_nulls = false;
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const bool is_valid = text_codes.back().data()[i] != no_group;
        has_nulls |= !is_valid;
        valid[i / 8] |= static_cast<std::uint8_t>(is_valid ? 1u << (i % 8) : 0);
      }
      bitmaps.push_back(std::move(valid));
      keys.push_back(by_column(column_view(scalar_kind::u32, text_codes.back().data(), codes.size(),
                                           has_nulls ? bitmap_view{bitmaps.back().data(), 0} : bitmap_view{})));
      continue;
    }
    if (column->layout != column_layout::fixed) throw error("A `by` column has a type that cannot be compared.");
    keys.push_back(column->scalar == scalar_kind::opaque
                       ? by_column::fixed({column->data, column->size, column->width, column->validity})
                       : by_column(column->view()));
  }
  if (adds) {
    encoder_.encode(keys, codes);
  } else {
    encoder_.lookup(keys, codes);
  }
}

std::uint32_t join_groups::size() const {
  const std::shared_lock shared(latch_);
  return is_one_text_ ? texts_[0]->size() : encoder_.groups();
}

}  // namespace espalier::python
