// arrow.cpp - columns by the Arrow C data and stream interfaces, read without libarrow: fixed-width types, bool, dates,
// times, timestamps, durations, strings and binary (32-bit and 64-bit offsets, views), dictionaries, chunks.
//
// Numbers and strings of one chunk are shared with the producer; what owns them is released with the column. Several
// chunks, bits, views and dictionaries are copied.
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "columns.hpp"

// The C data interface, as its specification defines it.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace espalier::python {
namespace {

template <class T>
struct releaser {
  void operator()(T* p) const {
    if (p->release != nullptr) p->release(p);
    delete p;
  }
};
template <class T>
using owned = std::unique_ptr<T, releaser<T>>;

/// How the values of an Arrow array are stored.
enum class layout : std::uint8_t { fixed, bits, offsets32, offsets64, views };

struct arrow_type {
  data_type type;
  layout stored = layout::fixed;
  std::string timezone;
};

[[noreturn]] void refuse(const char* what, std::string_view format) {
  throw nb::type_error((std::string(what) + " has the Arrow format '" + std::string(format) +
                        "': espalier takes integers, float32, float64, bool, dates, times, timestamps, durations, "
                        "strings, binary and dictionaries of these.")
                           .c_str());
}

time_unit unit_of(char c) {
  switch (c) {
    case 's':
      return time_unit::second;
    case 'm':
      return time_unit::milli;
    case 'u':
      return time_unit::micro;
    default:
      return time_unit::nano;
  }
}

arrow_type parse_format(const char* what, std::string_view format) {
  const auto number = [](scalar_kind kind) { return arrow_type{{logical_type::number, kind}, layout::fixed, {}}; };
  const auto text = [](logical_type logical, layout stored) {
    return arrow_type{{logical, scalar_kind::opaque}, stored, {}};
  };
  if (format.size() == 1) {
    switch (format[0]) {
      case 'b':
        return {{logical_type::boolean, scalar_kind::u8}, layout::bits, {}};
      case 'c':
        return number(scalar_kind::i8);
      case 'C':
        return number(scalar_kind::u8);
      case 's':
        return number(scalar_kind::i16);
      case 'S':
        return number(scalar_kind::u16);
      case 'i':
        return number(scalar_kind::i32);
      case 'I':
        return number(scalar_kind::u32);
      case 'l':
        return number(scalar_kind::i64);
      case 'L':
        return number(scalar_kind::u64);
      case 'f':
        return number(scalar_kind::f32);
      case 'g':
        return number(scalar_kind::f64);
      case 'u':
        return text(logical_type::string, layout::offsets32);
      case 'U':
        return text(logical_type::string, layout::offsets64);
      case 'z':
        return text(logical_type::binary, layout::offsets32);
      case 'Z':
        return text(logical_type::binary, layout::offsets64);
      default:
        refuse(what, format);
    }
  }
  if (format == "vu") return text(logical_type::string, layout::views);
  if (format == "vz") return text(logical_type::binary, layout::views);
  if (format == "tdD") return {{logical_type::datetime, scalar_kind::i32, time_unit::day}, layout::fixed, {}};
  if (format == "tdm") return {{logical_type::datetime, scalar_kind::i64, time_unit::milli}, layout::fixed, {}};
  if (format.size() == 3 && format.starts_with("tt")) {
    const bool is_short = format[2] == 's' || format[2] == 'm';
    return {{logical_type::duration, is_short ? scalar_kind::i32 : scalar_kind::i64, unit_of(format[2])},
            layout::fixed,
            {}};
  }
  if (format.size() == 3 && format.starts_with("tD")) {
    return {{logical_type::duration, scalar_kind::i64, unit_of(format[2])}, layout::fixed, {}};
  }
  if (format.size() >= 4 && format.starts_with("ts") && format[3] == ':') {
    return {
        {logical_type::datetime, scalar_kind::i64, unit_of(format[2])}, layout::fixed, std::string(format.substr(4))};
  }
  refuse(what, format);
}

std::size_t length_of(const ArrowArray& a) { return static_cast<std::size_t>(a.length); }
const std::uint8_t* validity_of(const ArrowArray& a) {
  return a.null_count == 0 || a.n_buffers == 0 ? nullptr : static_cast<const std::uint8_t*>(a.buffers[0]);
}
bool bit(const std::uint8_t* bits, std::size_t i) { return (bits[i / 8] >> (i % 8) & 1u) != 0; }

std::size_t count_nulls(const ArrowArray& a) {
  const std::uint8_t* const bits = validity_of(a);
  if (bits == nullptr) return 0;
  if (a.null_count > 0) return static_cast<std::size_t>(a.null_count);
  std::size_t nulls = 0;
  for (std::size_t i = 0; i < length_of(a); ++i) nulls += bit(bits, static_cast<std::size_t>(a.offset) + i) ? 0 : 1;
  return nulls;
}

/// One chunk as a column that points into it.
column share(const arrow_type& type, owned<ArrowArray> chunk) {
  const ArrowArray& a = *chunk;
  const auto offset = static_cast<std::size_t>(a.offset);
  column result;
  result.type = type.type;
  result.timezone = type.timezone;
  result.size = length_of(a);
  result.nulls = count_nulls(a);
  if (result.nulls != 0) result.validity = {validity_of(a), offset};
  static constexpr std::int64_t no_offsets[1] = {0};
  switch (type.stored) {
    case layout::offsets32:
      result.offsets32 = static_cast<const std::int32_t*>(a.buffers[1]);
      if (result.offsets32 != nullptr) result.offsets32 += offset;
      break;
    case layout::offsets64:
      result.offsets64 = static_cast<const std::int64_t*>(a.buffers[1]);
      if (result.offsets64 != nullptr) result.offsets64 += offset;
      break;
    default:
      break;
  }
  if (type.stored == layout::fixed) {
    result.data = static_cast<const std::byte*>(a.buffers[1]) + offset * result.type.width();
  } else {
    result.data = a.buffers[2];
    if (result.offsets32 == nullptr && result.offsets64 == nullptr) result.offsets64 = no_offsets;  // of an empty array
  }
  result.shared = true;
  std::shared_ptr<ArrowArray> owner(chunk.release(), releaser<ArrowArray>());
  result.keep(std::shared_ptr<const void>(owner, owner.get()));
  return result;
}

/// Collects chunks in memory of its own.
class collector {
 public:
  collector(arrow_type type, const char* what) : type_(std::move(type)), what_(what) {}

  void add(const ArrowArray& a) {
    const std::size_t n = length_of(a), offset = static_cast<std::size_t>(a.offset);
    const std::uint8_t* const validity = validity_of(a);
    for (std::size_t i = 0; i < n; ++i) is_null_.push_back(validity != nullptr && !bit(validity, offset + i) ? 1 : 0);
    switch (type_.stored) {
      case layout::fixed: {
        const auto* const from = static_cast<const char*>(a.buffers[1]) + offset * type_.type.width();
        if (n != 0) bytes_.append(from, n * type_.type.width());
        break;
      }
      case layout::bits: {
        const auto* const from = static_cast<const std::uint8_t*>(a.buffers[1]);
        for (std::size_t i = 0; i < n; ++i) bytes_.push_back(bit(from, offset + i) ? 1 : 0);
        break;
      }
      default:
        for (std::size_t i = 0; i < n; ++i) {
          if (is_null_[is_null_.size() - n + i] == 0) bytes_.append(text_at(a, offset + i));
          ends_.push_back(static_cast<std::int64_t>(bytes_.size()));
        }
    }
  }
  /// Adds the dictionary's value of each index.
  void add_indices(const ArrowArray& a, scalar_kind index_kind, const column& dictionary) {
    const std::size_t offset = static_cast<std::size_t>(a.offset);
    const std::uint8_t* const validity = validity_of(a);
    const unsigned width = type_.type.width();
    for (std::size_t i = 0; i < length_of(a); ++i) {
      bool is_valid = validity == nullptr || bit(validity, offset + i);
      std::size_t at = 0;
      if (is_valid) {
        at = static_cast<std::size_t>(load_bits<std::uint64_t>(index_kind, a.buffers[1], offset + i));
        if (at >= dictionary.size) {
          throw nb::value_error(
              (std::string(what_) + ": index " + std::to_string(i) + " is outside of the dictionary.").c_str());
        }
        is_valid = dictionary.is_valid(at);
      }
      is_null_.push_back(is_valid ? 0 : 1);
      if (dictionary.type.is_text()) {
        if (is_valid) bytes_.append(dictionary.string_at(at));
        ends_.push_back(static_cast<std::int64_t>(bytes_.size()));
      } else if (is_valid) {
        bytes_.append(static_cast<const char*>(dictionary.data) + at * width, width);
      } else {
        bytes_.append(width, '\0');
      }
    }
  }

  [[nodiscard]] column finish() {
    column result;
    const std::size_t n = is_null_.size();
    result.type = type_.type;
    result.timezone = type_.timezone;
    result.size = n;
    if (result.type.is_text()) {
      auto* const offsets = result.allocate<std::int64_t>(n + 1);
      offsets[0] = 0;
      if (n != 0) std::memcpy(offsets + 1, ends_.data(), n * sizeof(std::int64_t));
      result.offsets64 = offsets;
    }
    auto* const bits = result.allocate<std::uint8_t>((n + 7) / 8);
    std::memset(bits, 0xff, (n + 7) / 8);
    for (std::size_t i = 0; i < n; ++i) {
      if (is_null_[i] != 0) {
        bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] & ~(1u << (i % 8)));
        ++result.nulls;
      }
    }
    if (result.nulls != 0) result.validity = {bits, 0};
    // 8-byte aligned, as the values need it.
    const std::size_t words = bytes_.size() / 8 + 1;
    auto* const values = result.allocate<std::uint64_t>(words);
    std::memcpy(values, bytes_.data(), bytes_.size());
    result.data = values;
    return result;
  }

 private:
  [[nodiscard]] std::string_view text_at(const ArrowArray& a, std::size_t i) const {
    if (type_.stored == layout::offsets32) return text_between(a, static_cast<const std::int32_t*>(a.buffers[1]) + i);
    if (type_.stored == layout::offsets64) return text_between(a, static_cast<const std::int64_t*>(a.buffers[1]) + i);
    // A view: 4 bytes of length; then 12 bytes of text, or 4 of prefix, 4 of buffer number, 4 of offset.
    const auto* const view = static_cast<const char*>(a.buffers[1]) + 16 * i;
    std::int32_t words[4];
    std::memcpy(words, view, 16);
    const auto length = static_cast<std::size_t>(words[0]);
    if (length <= 12) return {view + 4, length};
    return {static_cast<const char*>(a.buffers[2 + words[2]]) + words[3], length};
  }
  template <class Offset>
  [[nodiscard]] static std::string_view text_between(const ArrowArray& a, const Offset* offsets) {
    return {static_cast<const char*>(a.buffers[2]) + offsets[0], static_cast<std::size_t>(offsets[1] - offsets[0])};
  }

  arrow_type type_;
  const char* what_;
  std::string bytes_;
  std::vector<std::int64_t> ends_;
  std::vector<std::uint8_t> is_null_;
};

bool can_share(const arrow_type& type, const ArrowArray& a) {
  if (type.stored == layout::bits || type.stored == layout::views) return false;
  if (type.stored != layout::fixed) return true;
  const auto address = reinterpret_cast<std::uintptr_t>(a.buffers[1]);
  return address % type.type.width() == 0;
}

column import_chunks(const ArrowSchema& schema, std::vector<owned<ArrowArray>> chunks, const char* what) {
  if (schema.dictionary != nullptr) {
    const arrow_type indices = parse_format(what, schema.format);
    const arrow_type values = parse_format(what, schema.dictionary->format);
    collector all(values, what);
    for (const auto& chunk : chunks) {
      collector dictionary(values, what);
      dictionary.add(*chunk->dictionary);
      all.add_indices(*chunk, indices.type.kind, dictionary.finish());
    }
    return all.finish();
  }
  if (std::string_view(schema.format) == "+s") {
    throw nb::type_error((std::string(what) + " is a table or a struct: pass one of its columns.").c_str());
  }
  const arrow_type type = parse_format(what, schema.format);
  std::erase_if(chunks, [](const owned<ArrowArray>& chunk) { return chunk->length == 0; });
  if (chunks.size() == 1 && can_share(type, *chunks[0])) return share(type, std::move(chunks[0]));
  collector all(type, what);
  for (const auto& chunk : chunks) all.add(*chunk);
  return all.finish();
}

template <class T>
T* from_capsule(nb::handle capsule, const char* name, const char* what) {
  auto* const p = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (p == nullptr) throw nb::python_error();
  if (p->release == nullptr) {
    throw nb::value_error(
        (std::string(what) + " is an Arrow capsule that was already used: ask for a new one.").c_str());
  }
  return p;
}
/// Takes the structure out of its capsule, whose destructor then finds it released.
template <class T>
owned<T> take(T* from) {
  owned<T> result(new T(*from));
  from->release = nullptr;
  return result;
}

}  // namespace

namespace detail {

column import_arrow_stream(nb::handle capsule, const char* what) {
  const auto stream = take(from_capsule<ArrowArrayStream>(capsule, "arrow_array_stream", what));
  const auto check = [&](int code) {
    if (code == 0) return;
    const char* const message = stream->get_last_error(stream.get());
    throw nb::value_error(
        (std::string(what) + ": the Arrow stream failed: " + (message == nullptr ? "without a message" : message))
            .c_str());
  };
  owned<ArrowSchema> schema(new ArrowSchema{});
  check(stream->get_schema(stream.get(), schema.get()));
  std::vector<owned<ArrowArray>> chunks;
  while (true) {
    owned<ArrowArray> chunk(new ArrowArray{});
    check(stream->get_next(stream.get(), chunk.get()));
    if (chunk->release == nullptr) break;
    chunks.push_back(std::move(chunk));
  }
  return import_chunks(*schema, std::move(chunks), what);
}

column import_arrow_array(nb::handle schema_capsule, nb::handle array_capsule, const char* what) {
  const auto schema = take(from_capsule<ArrowSchema>(schema_capsule, "arrow_schema", what));
  std::vector<owned<ArrowArray>> chunks;
  chunks.push_back(take(from_capsule<ArrowArray>(array_capsule, "arrow_array", what)));
  return import_chunks(*schema, std::move(chunks), what);
}

}  // namespace detail

}  // namespace espalier::python
