// saved_keys.cpp - sorted keys as sections of a file. The file is not trusted: whatever the sections contain, loading
// them results in ascending keys and distinct rows of the table, or throws damaged_file.
#include <algorithm>

#include "engine/index/live_bits.hpp"
#include "engine/index/ordered_keys.hpp"
#include "engine/store/sections.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {

namespace {

constexpr std::uint64_t keys_format = 1;

/// The header, in section "keys".
struct keys_header {
  std::uint64_t format = keys_format;
  std::uint64_t form = 0;
  std::uint64_t columns = 0;
  std::uint64_t rows = 0;  // with and without a key
  std::uint64_t null_rows = 0;
  std::uint64_t strings = 0;  // distinct byte keys
};

/// An entry of section "fields", which has one per column.
struct saved_field {
  std::uint64_t base = 0;
  std::uint32_t type = 0;
  std::int32_t precision = 0;
  std::int32_t scale = 0;
  std::uint32_t has_null = 0;
  std::uint32_t bits = 0;
  std::uint32_t shift = 0;
};

void add_numbers(section_writer& to, const char* name, const number_array& numbers) {
  numbers.visit([&](auto span) { to.add_array(name, span); });
}

class loader {
 public:
  loader(std::shared_ptr<const mapped_sections> from, const table_version& table, const row_counts& covers)
      : from_(std::move(from)), table_(table), covers_(covers) {}

  ordered_keys load(std::span<const std::size_t> columns) {
    const auto header = from_->get_array<keys_header>("keys", 1);
    header_ = header[0];
    require(header_.format == keys_format, "has keys of a format that this version does not know");
    require(covers_.rows <= table_.rows(), "has keys of another table");
    require(header_.form <= static_cast<std::uint64_t>(key_form::bytes) && header_.columns == columns.size() &&
                header_.rows == covers_.live && header_.null_rows <= header_.rows,
            "has keys of another table");
    keys_.encoder = encoder(columns);
    keys_.null_rows = header_.null_rows;
    keys_.rows = numbers("rows", header_.rows, has_wide_rows());
    check_rows();
    if (keys_.encoder->form() == key_form::bytes) {
      load_strings();
    } else {
      load_words();
    }
    check_ascending(keys_.keyed_rows(), header_.rows);
    return std::move(keys_);
  }

 private:
  void require(bool holds, const char* what) const {
    if (!holds) throw damaged_file(from_->path(), what);
  }

  std::shared_ptr<const key_encoder> encoder(std::span<const std::size_t> columns) const {
    const auto saved = from_->get_array<saved_field>("fields", columns.size());
    std::vector<key_field> fields;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const saved_field& s = saved[c];
      const column_type type{static_cast<type_id>(s.type), s.precision, s.scale};
      require(type == table_.columns()[columns[c]].type && s.has_null <= 1, "has keys of columns of other types");
      fields.push_back({type, s.has_null != 0, s.base, s.bits, s.shift});
    }
    try {
      return key_encoder::restore(static_cast<key_form>(header_.form), std::move(fields));
    } catch (const damaged_file&) {
      throw;
    } catch (const error&) {
      throw damaged_file(from_->path(), "has keys with fields that no index has");
    }
  }

  number_array numbers(const char* name, std::size_t n, bool wide) const {
    if (wide) return {from_->get_array<std::uint64_t>(name, n), from_};
    return {from_->get_array<std::uint32_t>(name, n), from_};
  }

  [[nodiscard]] bool has_wide_rows() const { return covers_.rows >= 0xffffffffu; }

  void check_rows() const {
    std::vector<bool> seen(covers_.rows, false);
    std::uint64_t live = 0;
    const live_bits_view now(table_);
    keys_.rows.visit([&](auto rows) {
      for (const std::uint64_t row : rows) {
        require(row < covers_.rows && !seen[row], "names rows that the table does not have");
        seen[row] = true;
        live += now.is_live(row) ? 1 : 0;
      }
    });
    require(live == table_.live_rows_below(covers_.rows), "names rows that the table does not have");
  }
  void check_ascending(std::size_t from, std::size_t to) const {
    for (std::size_t i = from + 1; i < to; ++i)
      require(keys_.rows[i - 1] < keys_.rows[i], "has rows of one key that do not ascend");
  }

  void load_words() {
    const bool wide = keys_.encoder->form() == key_form::word64;
    keys_.words = numbers("words", keys_.keyed_rows(), wide);
    keys_.words.visit([&](auto words) {
      for (std::size_t i = 1; i < words.size(); ++i) {
        require(words[i - 1] <= words[i], "has keys that do not ascend");
        require(words[i - 1] != words[i] || keys_.rows[i - 1] < keys_.rows[i],
                "has rows of one key that do not ascend");
      }
    });
  }

  void load_strings() {
    require(header_.strings <= keys_.keyed_rows(), "has more keys than rows");
    const auto bytes = from_->get("bytes");
    const auto offsets = from_->get_array<std::uint64_t>("offsets", header_.strings + 1);
    require(offsets.front() == 0 && offsets.back() == bytes.size() && std::is_sorted(offsets.begin(), offsets.end()),
            "has byte keys whose places do not ascend");
    keys_.strings = {{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, offsets, from_};
    for (std::size_t i = 1; i < header_.strings; ++i)
      require(keys_.strings[i - 1] < keys_.strings[i], "has keys that do not ascend");
    if (header_.strings == keys_.keyed_rows()) return;
    keys_.starts = numbers("starts", header_.strings + 1, has_wide_rows());
    require(keys_.starts[0] == 0 && keys_.starts[header_.strings] == keys_.keyed_rows(), "has keys without rows");
    for (std::size_t i = 0; i < header_.strings; ++i)
      require(keys_.starts[i] < keys_.starts[i + 1], "has keys without rows");
    for (std::size_t i = 0; i < header_.strings; ++i) check_ascending(keys_.starts[i], keys_.starts[i + 1]);
  }

  std::shared_ptr<const mapped_sections> from_;
  const table_version& table_;
  row_counts covers_;
  keys_header header_;
  ordered_keys keys_;
};

}  // namespace

bool has_duplicates(const ordered_keys& keys) {
  if (keys.encoder->is_composite()) return false;
  if (!keys.starts.empty()) return true;
  for (std::size_t i = 1; i < keys.words.size(); ++i) {
    if (keys.words[i - 1] == keys.words[i]) return true;
  }
  return false;
}

void save_keys(const ordered_keys& keys, section_writer& to) {
  const auto& fields = keys.encoder->fields();
  const keys_header header{keys_format,    static_cast<std::uint64_t>(keys.encoder->form()),
                           fields.size(),  keys.rows.size(),
                           keys.null_rows, keys.strings.size()};
  to.add_array("keys", std::span<const keys_header>(&header, 1));
  std::vector<saved_field> saved;
  for (const key_field& f : fields) {
    saved.push_back({f.base, static_cast<std::uint32_t>(f.type.id), f.type.precision, f.type.scale,
                     f.has_null ? 1u : 0u, f.bits, f.shift});
  }
  to.add_array("fields", std::span<const saved_field>(saved));
  add_numbers(to, "rows", keys.rows);
  if (keys.encoder->form() != key_form::bytes) return add_numbers(to, "words", keys.words);
  to.add_text("bytes", keys.strings.bytes);
  to.add_array("offsets", keys.strings.offsets);
  if (!keys.starts.empty()) add_numbers(to, "starts", keys.starts);
}

ordered_keys load_keys(const std::shared_ptr<const mapped_sections>& from, const table_version& table,
                       const row_counts& covers, std::span<const std::size_t> columns) {
  return loader(from, table, covers).load(columns);
}

}  // namespace espalier::engine
