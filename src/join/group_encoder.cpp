// group_encoder.cpp - see group_encoder.hpp.
//
// Two dictionaries: `packed` for rows whose columns have at most 8 bytes together, which are one word; `bytes` for all
// others, which are serialised: fixed-width values as they are, strings with their length.
//
// Invariant: codes 0 .. groups() - 1 are all in the table, each once. A window of packed words that is small enough has
// a direct table as well (symbol numbers, enumerations): one load instead of a probe.
#include "espalier/join/group_encoder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "join/keys.hpp"

namespace espalier {

by_column::by_column(const column_view& scalars)
    : data_(scalars.data), size_(scalars.size), width_(bytes_of(scalars.kind)), validity_(scalars.validity) {
  if (width_ == 0) throw error("by_column takes scalars; use by_column::fixed() for other values of fixed width.");
  if (scalars.kind == scalar_kind::f32) type_ = type::f32;
  if (scalars.kind == scalar_kind::f64) type_ = type::f64;
}

by_column by_column::fixed(const fixed_width_view& values) {
  if (values.width > 16 || !std::has_single_bit(values.width)) {
    throw error("by_column::fixed() takes values of 1, 2, 4, 8 or 16 bytes; use by_column::strings() for others.");
  }
  by_column column;
  column.data_ = values.data;
  column.size_ = values.size;
  column.width_ = values.width;
  column.validity_ = values.validity;
  return column;
}

by_column by_column::strings(std::span<const std::int32_t> offsets, const void* data, bitmap_view validity) {
  by_column column;
  column.data_ = data;
  column.offsets_ = offsets.data();
  column.size_ = offsets.empty() ? 0 : offsets.size() - 1;
  column.type_ = type::strings_32;
  column.validity_ = validity;
  return column;
}

by_column by_column::strings(std::span<const std::int64_t> offsets, const void* data, bitmap_view validity) {
  by_column column;
  column.data_ = data;
  column.offsets_ = offsets.data();
  column.size_ = offsets.empty() ? 0 : offsets.size() - 1;
  column.type_ = type::strings_64;
  column.validity_ = validity;
  return column;
}

namespace join_detail {

using columns_in = std::span<const by_column>;

[[nodiscard]] inline std::uint64_t mix_bits(std::uint64_t x) {  // a bijection: different words have different hashes
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

[[nodiscard]] inline std::uint64_t hash_bytes(const char* data, std::size_t n) {
  std::uint64_t hash = n * 0x9e3779b97f4a7c15u;
  for (; n >= 8; data += 8, n -= 8) {
    std::uint64_t word;
    std::memcpy(&word, data, 8);
    hash = mix_bits(hash ^ word) + 0x9e3779b97f4a7c15u;
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, data, n);
  return mix_bits(hash ^ rest);
}

[[nodiscard]] inline bool is_valid_row(columns_in columns, std::size_t i) {
  return std::all_of(columns.begin(), columns.end(), [i](const by_column& c) { return c.validity()[i]; });
}

/// A float's bits with one NaN and one zero.
[[nodiscard]] inline std::uint64_t canonical_bits(by_column::type type, std::uint64_t raw) {
  if (type == by_column::type::f32) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(raw));
    return std::bit_cast<std::uint32_t>(x != x ? std::numeric_limits<float>::quiet_NaN() : x == 0 ? 0.0f : x);
  }
  if (type == by_column::type::f64) {
    const double x = std::bit_cast<double>(raw);
    return std::bit_cast<std::uint64_t>(x != x ? std::numeric_limits<double>::quiet_NaN() : x == 0 ? 0.0 : x);
  }
  return raw;
}

/// The columns of a row as one word.
class packed_reader {
 public:
  explicit packed_reader(columns_in columns) : columns_(columns) {}
  [[nodiscard]] std::uint64_t operator()(std::size_t i) const {
    std::uint64_t word = 0;
    unsigned shift = 0;
    for (const by_column& column : columns_) {
      std::uint64_t raw = 0;
      std::memcpy(&raw, static_cast<const char*>(column.data()) + i * column.width(), column.width());
      word |= canonical_bits(column.kind(), raw) << shift;
      shift += 8 * column.width();
    }
    return word;
  }

 private:
  columns_in columns_;
};
template <class Word>
class word_reader {
 public:
  explicit word_reader(const by_column& column) : data_(static_cast<const char*>(column.data())) {}
  [[nodiscard]] std::uint64_t operator()(std::size_t i) const {
    Word word;
    std::memcpy(&word, data_ + i * sizeof(Word), sizeof(Word));
    return word;
  }

 private:
  const char* data_;
};

/// Slot numbers of an open-addressing table with linear probing.
[[nodiscard]] inline std::size_t table_capacity(std::size_t groups) {
  return std::bit_ceil(std::max<std::size_t>(64, 4 * groups));
}

class packed_dictionary {
 public:
  /// Finds the code of a word, or no_group.
  [[nodiscard]] std::uint32_t find(std::uint64_t word) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = mix_bits(word) & mask;; at = (at + 1) & mask) {
      if (slots_[at].code == no_group || slots_[at].word == word) return slots_[at].code;
    }
  }
  [[nodiscard]] std::uint32_t add(std::uint64_t word) {
    const std::uint32_t found = find(word);
    if (found != no_group) return found;
    if (2 * (std::size_t{groups_} + 1) > slots_.size()) grow();
    if (groups_ + 1 == no_group) throw error("group_encoder: there are more than 2^32 - 2 groups; split the rows.");
    place({word, groups_});
    if (word - direct_base_ < direct_.size()) direct_[word - direct_base_] = groups_;
    return groups_++;
  }
  [[nodiscard]] std::uint32_t size() const { return groups_; }

  /// Directs words of [least, most] to the direct table, if that is small. Returns whether they are.
  bool direct(std::uint64_t least, std::uint64_t most) {
    if (covers(least, most)) return true;
    if (!direct_.empty() || most - least >= direct_size) return false;
    direct_.assign(direct_size, no_group);
    direct_base_ = least;
    for (const slot& s : slots_) {
      if (s.code != no_group && s.word - direct_base_ < direct_size) direct_[s.word - direct_base_] = s.code;
    }
    return true;
  }
  [[nodiscard]] bool covers(std::uint64_t least, std::uint64_t most) const {
    return !direct_.empty() && least >= direct_base_ && most - direct_base_ < direct_.size();
  }
  [[nodiscard]] std::uint32_t find_direct(std::uint64_t word) const { return direct_[word - direct_base_]; }

 private:
  static constexpr std::size_t direct_size = std::size_t{1} << 16;  // 256 KiB: a part of the L2 cache
  struct slot {
    std::uint64_t word = 0;
    std::uint32_t code = no_group;
  };
  void place(slot s) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = mix_bits(s.word) & mask;
    while (slots_[at].code != no_group) at = (at + 1) & mask;
    slots_[at] = s;
  }
  void grow() {
    std::vector<slot> old(table_capacity(groups_ + std::size_t{1}));
    old.swap(slots_);
    for (const slot& s : old) {
      if (s.code != no_group) place(s);
    }
  }
  std::vector<slot> slots_ = std::vector<slot>(64);
  std::vector<std::uint32_t> direct_;
  std::uint64_t direct_base_ = 0;
  std::uint32_t groups_ = 0;
};

class bytes_dictionary {
 public:
  [[nodiscard]] std::uint32_t find(const std::string& key) const { return slots_[slot_of(key, hash(key))].code; }
  [[nodiscard]] std::uint32_t add(const std::string& key) {
    const std::uint64_t h = hash(key);
    std::size_t at = slot_of(key, h);
    if (slots_[at].code != no_group) return slots_[at].code;
    const auto code = static_cast<std::uint32_t>(ends_.size());
    if (code + 1 == no_group) throw error("group_encoder: there are more than 2^32 - 2 groups; split the rows.");
    if (2 * (ends_.size() + 1) > slots_.size()) {
      grow();
      at = slot_of(key, h);
    }
    ends_.reserve(ends_.size() + 1);
    arena_.insert(arena_.end(), key.begin(), key.end());
    ends_.push_back(arena_.size());
    slots_[at] = {h, code};
    return code;
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size()); }

 private:
  struct slot {
    std::uint64_t hash = 0;
    std::uint32_t code = no_group;
  };
  [[nodiscard]] static std::uint64_t hash(const std::string& key) { return hash_bytes(key.data(), key.size()); }
  [[nodiscard]] bool equals(std::uint32_t code, const std::string& key) const {
    const std::size_t first = code == 0 ? 0 : ends_[code - 1];
    return ends_[code] - first == key.size() && std::memcmp(arena_.data() + first, key.data(), key.size()) == 0;
  }
  [[nodiscard]] std::size_t slot_of(const std::string& key, std::uint64_t h) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = h & mask;
    while (slots_[at].code != no_group && !(slots_[at].hash == h && equals(slots_[at].code, key))) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<slot> old(table_capacity(ends_.size() + 1));
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const slot& s : old) {
      if (s.code == no_group) continue;
      std::size_t at = s.hash & mask;
      while (slots_[at].code != no_group) at = (at + 1) & mask;
      slots_[at] = s;
    }
  }
  std::vector<slot> slots_ = std::vector<slot>(64);
  std::vector<char> arena_;
  std::vector<std::size_t> ends_;
};

/// Appends the columns of a row to `key`.
inline void serialize(columns_in columns, std::size_t i, std::string& key) {
  key.clear();
  for (const by_column& column : columns) {
    const auto* data = static_cast<const char*>(column.data());
    if (column.width() != 0) {
      std::uint64_t raw = 0;
      if (column.kind() == by_column::type::bytes) {
        key.append(data + i * column.width(), column.width());
        continue;
      }
      std::memcpy(&raw, data + i * column.width(), column.width());
      raw = canonical_bits(column.kind(), raw);
      key.append(reinterpret_cast<const char*>(&raw), column.width());
      continue;
    }
    std::int64_t first, last;
    if (column.kind() == by_column::type::strings_32) {
      first = static_cast<const std::int32_t*>(column.offsets())[i];
      last = static_cast<const std::int32_t*>(column.offsets())[i + 1];
    } else {
      first = static_cast<const std::int64_t*>(column.offsets())[i];
      last = static_cast<const std::int64_t*>(column.offsets())[i + 1];
    }
    const auto length = static_cast<std::uint64_t>(last - first);
    if (columns.size() != 1) key.append(reinterpret_cast<const char*>(&length), sizeof(length));
    key.append(data + first, length);
  }
}

constexpr std::size_t encode_piece = std::size_t{1} << 14;

}  // namespace join_detail

using namespace join_detail;

class group_encoder::dictionary {
 public:
  explicit dictionary(const device& d) : dev(d) { join_detail::require_cpu("group_encoder", d); }

  /// Throws unless the columns fit together and to those of earlier calls.
  void check(columns_in columns, std::size_t rows) const {
    if (columns.empty()) throw error("group_encoder takes at least one column; leave `by` empty for a join without.");
    for (const by_column& column : columns) {
      join_detail::require_rows("group_encoder", "a `by` column", rows, column.size());
    }
    if (layout.empty()) return;
    if (layout.size() != columns.size() ||
        !std::equal(columns.begin(), columns.end(), layout.begin(), is_same_layout)) {
      throw error(
          "group_encoder: the columns have other types than in the first call; convert them to the same types.");
    }
  }
  void remember(columns_in columns) {
    if (!layout.empty()) return;
    std::size_t width = 0;
    for (const by_column& column : columns) {
      is_packed = is_packed && column.width() != 0;
      width += column.width();
      layout.push_back({column.width(), column.kind()});
    }
    is_packed = is_packed && width <= 8;
  }

  template <bool Adds, class Self>
  static void run(Self& self, columns_in columns, std::span<std::uint32_t> codes) {
    if (!self.is_packed) return self.template run_bytes<Adds>(columns, codes);
    const bool is_plain = columns.size() == 1 && columns[0].kind() == by_column::type::bytes;
    if (is_plain && columns[0].width() == 4) {
      self.template run_packed<Adds>(columns, word_reader<std::uint32_t>(columns[0]), codes);
    } else if (is_plain && columns[0].width() == 8) {
      self.template run_packed<Adds>(columns, word_reader<std::uint64_t>(columns[0]), codes);
    } else {
      self.template run_packed<Adds>(columns, packed_reader(columns), codes);
    }
  }

  template <bool Adds, class Reader>
  void run_packed(columns_in columns, const Reader& read, std::span<std::uint32_t> codes) {
    const auto [least, most] = range(read, codes.size());
    const bool is_direct = !codes.empty() && packed.direct(least, most);
    waves(
        columns, codes, [&](std::size_t i) { return is_direct ? packed.find_direct(read(i)) : packed.find(read(i)); },
        [&](std::size_t i) { return packed.add(read(i)); });
  }
  template <bool Adds, class Reader>
  void run_packed(columns_in columns, const Reader& read, std::span<std::uint32_t> codes) const requires(!Adds) {
    const auto [least, most] = range(read, codes.size());
    if (!codes.empty() && packed.covers(least, most)) {
      find_all(
          columns, codes, 0, codes.size(), [&](std::size_t i) { return packed.find_direct(read(i)); }, nullptr);
    } else {
      find_all(
          columns, codes, 0, codes.size(), [&](std::size_t i) { return packed.find(read(i)); }, nullptr);
    }
  }
  template <bool Adds>
  void run_bytes(columns_in columns, std::span<std::uint32_t> codes) {
    std::string one;
    waves(columns, codes, find_bytes(columns), [&](std::size_t i) {
      serialize(columns, i, one);
      return bytes.add(one);
    });
  }
  template <bool Adds>
  void run_bytes(columns_in columns, std::span<std::uint32_t> codes) const requires(!Adds) {
    find_all(columns, codes, 0, codes.size(), find_bytes(columns), nullptr);
  }

  struct column_layout {
    unsigned width;
    by_column::type type;
  };
  static bool is_same_layout(const by_column& column, const column_layout& other) {
    const auto is_text = [](by_column::type t) {
      return t == by_column::type::strings_32 || t == by_column::type::strings_64;
    };
    return column.width() == other.width &&
           (column.kind() == other.type || (is_text(column.kind()) && is_text(other.type)));
  }

  device dev;
  std::vector<column_layout> layout;
  bool is_packed = true;
  packed_dictionary packed;
  bytes_dictionary bytes;

 private:
  [[nodiscard]] auto find_bytes(columns_in columns) const {
    return [this, columns](std::size_t i) {
      thread_local std::string key;
      serialize(columns, i, key);
      return bytes.find(key);
    };
  }

  template <class Reader>
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> range(const Reader& read, std::size_t n) const {
    const cpu_backend backend(dev);
    const std::size_t pieces = (n + encode_piece - 1) / encode_piece;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found(pieces, {~std::uint64_t{0}, 0});
    backend.for_each(
        pieces,
        [&](std::size_t p) {
          std::uint64_t least = ~std::uint64_t{0}, most = 0;
          for (std::size_t i = p * encode_piece; i < std::min(n, (p + 1) * encode_piece); ++i) {
            const std::uint64_t word = read(i);
            least = std::min(least, word);
            most = std::max(most, word);
          }
          found[p] = {least, most};
        },
        1);
    std::pair<std::uint64_t, std::uint64_t> all{~std::uint64_t{0}, 0};
    for (const auto& [least, most] : found) all = {std::min(all.first, least), std::max(all.second, most)};
    return all;
  }

  /// Codes of rows [first, last) that are in the table. Others get no_group, and their numbers go to `missing`.
  template <class Find>
  void find_all(columns_in columns, std::span<std::uint32_t> codes, std::size_t first, std::size_t last,
                const Find& find, std::vector<std::vector<std::size_t>>* missing) const {
    const cpu_backend backend(dev);
    const std::size_t pieces = (last - first + encode_piece - 1) / encode_piece;
    if (missing != nullptr) missing->assign(pieces, {});
    const bool has_nulls =
        std::any_of(columns.begin(), columns.end(), [](const by_column& c) { return static_cast<bool>(c.validity()); });
    backend.for_each(
        pieces,
        [&](std::size_t p) {
          const std::size_t to = std::min(last, first + (p + 1) * encode_piece);
          for (std::size_t i = first + p * encode_piece; i < to; ++i) {
            if (has_nulls && !is_valid_row(columns, i)) {
              codes[i] = no_group;
              continue;
            }
            codes[i] = find(i);
            if (missing != nullptr && codes[i] == no_group) (*missing)[p].push_back(i);
          }
        },
        1);
  }

  template <class Find, class Add>
  void waves(columns_in columns, std::span<std::uint32_t> codes, const Find& find, const Add& add) {
    std::vector<std::vector<std::size_t>> missing;
    std::size_t length = encode_piece / 4;
    for (std::size_t first = 0; first < codes.size();) {
      const std::size_t last = codes.size() - first > length ? first + length : codes.size();
      find_all(columns, codes, first, last, find, &missing);
      for (const auto& rows : missing) {
        for (const std::size_t i : rows) codes[i] = add(i);
      }
      first = last;
      length *= 8;
    }
  }
};

group_encoder::group_encoder(const device& dev) : dictionary_(std::make_unique<dictionary>(dev)) {}
group_encoder::group_encoder(group_encoder&&) noexcept = default;
group_encoder& group_encoder::operator=(group_encoder&&) noexcept = default;
group_encoder::~group_encoder() = default;

void group_encoder::encode(std::span<const by_column> columns, std::span<std::uint32_t> codes, const stream& s) {
  dictionary_->check(columns, codes.size());
  const device& dev = dictionary_->dev;
  dev.invoke_in_order(dev.resolve(s), [&] {
    dictionary_->remember(columns);
    dictionary::run<true>(*dictionary_, columns, codes);
  });
}

void group_encoder::lookup(std::span<const by_column> columns, std::span<std::uint32_t> codes, const stream& s) const {
  dictionary_->check(columns, codes.size());
  const device& dev = dictionary_->dev;
  dev.invoke_in_order(dev.resolve(s), [&] {
    if (dictionary_->layout.empty()) {
      std::fill(codes.begin(), codes.end(), no_group);
    } else {
      dictionary::run<false>(static_cast<const dictionary&>(*dictionary_), columns, codes);
    }
  });
}

std::uint32_t group_encoder::groups() const noexcept {
  return dictionary_->is_packed ? dictionary_->packed.size() : dictionary_->bytes.size();
}

}  // namespace espalier
