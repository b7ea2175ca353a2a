// byte_key.hpp - encodes strings and tuples of columns as byte strings that keep the order of the tuples.
//
// Byte keys are compared byte by byte as unsigned numbers, and a key that is a prefix of another is less: the order of
// std::string. Keys of the same column types have the order of the tuples:
//   fixed width        the sizeof(T) low bytes of its word (scalar.hpp), most significant first
//   string, last       as it is
//   string, not last   0x00 -> 01 01, 0x01 -> 01 02, any other byte as it is; then 00, the end
//
// Proof. A word fits into the sizeof(T) low bytes, so fixed-width columns keep their order and have one length. A
// string that is not last is a sequence of symbols terminated by `end`; with end < 0x00 < ... < 0xff, sequences have
// the order of strings, and none is a prefix of another. The codes of the symbols, 00, 01 01, 01 02, 02, ..., ff, are
// ascending and prefix-free. Two different strings therefore have a first symbol that differs, and its codes a first
// byte that differs, in the order of the strings, whatever follows. Columns before the first difference fill the same
// bytes of both keys, and the column with the difference decides. Nothing follows a last string, so it needs no code.
//
// The usual code, 00 -> 00 ff and 00 as the end, is wrong here: the next column may begin with ff. With 00 00 as the
// end it is correct, and one byte longer for every text without 00 and 01.
//
// Only a last string can make one key a prefix of another.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "espalier/core/error.hpp"
#include "espalier/core/scalar.hpp"

namespace espalier {

/// A column of a byte key: a fixed-width key or a string of any bytes.
template <class T>
concept KeyColumn = KeyType<T> || std::is_convertible_v<const T&, std::string_view>;

/// The type of a decoded column: strings own their bytes, because they may have been escaped.
template <class T>
concept DecodedColumn = KeyType<T> || std::is_same_v<T, std::string>;

namespace detail {

inline constexpr char string_end = 0x00;
inline constexpr char string_escape = 0x01;  // precedes byte + 1, for the two reserved bytes

template <KeyType T>
void append_fixed_width(std::string& out, T column) {
  const auto word = key_codec<T>::encode(column);
  char bytes[sizeof(T)];
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<char>(word >> (8 * (sizeof(T) - 1 - i)) & 0xff);
  out.append(bytes, sizeof(T));
}

inline void append_escaped(std::string& out, std::string_view text) {
  for (const char byte : text) {
    if (byte == string_end || byte == string_escape) {
      out.push_back(string_escape);
      out.push_back(static_cast<char>(byte + 1));
    } else {
      out.push_back(byte);
    }
  }
  out.push_back(string_end);
}

template <KeyColumn Column>
void append_last(std::string& out, const Column& column) {
  if constexpr (KeyType<Column>) {
    append_fixed_width(out, column);
  } else {
    out.append(std::string_view(column));
  }
}

/// Accepts exactly the bytes that byte_key() writes: encoding the decoded columns gives the same key.
class byte_key_reader {
 public:
  byte_key_reader(std::string_view key, std::size_t columns) : rest_(key), columns_(columns) {}

  template <DecodedColumn Column>
  [[nodiscard]] Column next() {
    ++column_;
    if constexpr (KeyType<Column>) {
      return fixed_width<Column>();
    } else {
      return column_ == columns_ ? std::string(take(rest_.size())) : escaped();
    }
  }

  void expect_end() const {
    if (!rest_.empty()) refuse("is followed by " + std::to_string(rest_.size()) + " more bytes");
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw error("byte_key_columns: column " + std::to_string(column_) + " of " + std::to_string(columns_) + " " + what +
                "; name the types that byte_key() was given, in their order.");
  }

  std::string_view take(std::size_t bytes) {
    if (rest_.size() < bytes) refuse("is cut short");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  template <KeyType Column>
  Column fixed_width() {
    using word_type = typename key_codec<Column>::word;
    constexpr scalar_kind kind = key_codec<Column>::kind;
    word_type word = 0;
    for (const char byte : take(sizeof(Column))) word = word << 8 | static_cast<unsigned char>(byte);
    // Rejects words of no key: NaNs other than the canonical one, and words of bool above 1.
    const bool written = encode_bits(kind, decode_bits(kind, word)) == word;
    if (!written || (std::is_same_v<Column, bool> && word > 1)) refuse("has bytes that no value of its type has");
    return key_codec<Column>::decode(word);
  }

  std::string escaped() {
    std::string text;
    for (char byte = take(1)[0]; byte != string_end; byte = take(1)[0]) {
      if (byte == string_escape) {
        byte = static_cast<char>(take(1)[0] - 1);
        if (byte != string_end && byte != string_escape) refuse("has a byte 01 that is not followed by 01 or 02");
      }
      text.push_back(byte);
    }
    return text;
  }

  std::string_view rest_;
  std::size_t columns_;
  std::size_t column_ = 0;  // the column being read, from 1
};

}  // namespace detail

/// Appends a column that is not the last one. Precondition: a string is not a view of `out`.
template <KeyColumn Column>
void append_key_bytes(std::string& out, const Column& column) {
  if constexpr (KeyType<Column>) {
    detail::append_fixed_width(out, column);
  } else {
    detail::append_escaped(out, column);
  }
}

/// Returns the key of these columns, the first of which is the most significant. A single string is its own key.
template <KeyColumn... Columns>
[[nodiscard]] std::string byte_key(const Columns&... columns) {
  std::string key;
  std::size_t left = sizeof...(columns);
  ((--left == 0 ? detail::append_last(key, columns) : append_key_bytes(key, columns)), ...);
  return key;
}

/// Decodes the columns of a key. Precondition: the types are those given to byte_key(), with std::string for every kind
/// of string. Throws `error` for bytes that byte_key() does not write.
template <DecodedColumn... Columns>
[[nodiscard]] std::tuple<Columns...> byte_key_columns(std::string_view key) {
  detail::byte_key_reader reader(key, sizeof...(Columns));
  std::tuple<Columns...> columns{reader.next<Columns>()...};  // braces: from left to right
  reader.expect_end();
  return columns;
}

/// Returns the least string greater than all strings with this prefix, or nothing if `prefix` is empty or all ff. The
/// range [prefix, result) contains the keys whose first columns append_key_bytes() wrote into `prefix`. Without the
/// last byte of a string column, its terminator, the range contains the keys in which the string begins with that text.
[[nodiscard]] inline std::optional<std::string> byte_key_after_prefix(std::string_view prefix) {
  const std::size_t last = prefix.find_last_not_of('\xff');
  if (last == std::string_view::npos) return std::nullopt;
  std::string after(prefix.substr(0, last + 1));
  after.back() = static_cast<char>(after.back() + 1);
  return after;
}

}  // namespace espalier
