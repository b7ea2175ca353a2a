#include "engine/store/catalog_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include "engine/json_tree.hpp"
#include "engine/store/checksum.hpp"
#include "engine/store/sections.hpp"

namespace espalier::engine {
namespace {

using json = nlohmann::json;

constexpr std::string_view catalog_magic = "espalier catalog";
constexpr int first_version = 1;
constexpr int last_version = 2;  // adds `covers`

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string hexadecimal(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::uint64_t from_hexadecimal(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (failure != std::errc{} || end != text.data() + text.size()) throw error("invalid checksum field");
  return value;
}

json to_json(const file_record& file) {
  json out = json::object();
  out["file"] = file.name;
  out["bytes"] = file.bytes;
  out["checksum"] = hexadecimal(file.checksum);
  out["rows"] = file.rows;
  return out;
}

json to_json(const column& c) {
  json described = json::object();
  described["name"] = c.name;
  described["type"] = sql_name({c.type.id});
  described["nullable"] = c.nullable;
  if (c.type.id == type_id::decimal) {
    described["type"] = "numeric";
    described["precision"] = c.type.precision;
    described["scale"] = c.type.scale;
  }
  return described;
}

json to_json(const table_record& table) {
  json described = json::object();
  described["name"] = table.name;
  described["about"] = table.about;
  described["live"] = nullptr;
  for (const char* const list : {"columns", "segments", "indexes"}) described[list] = json::array();
  for (const auto& c : table.columns) described["columns"].push_back(to_json(c));
  for (const auto& file : table.segments) described["segments"].push_back(to_json(file));
  if (table.live) described["live"] = to_json(*table.live);
  for (const auto& index : table.indexes) {
    auto& as_json = described["indexes"].emplace_back(json::object());
    as_json["name"] = index.name;
    as_json["spec"] = index.spec;
    as_json["file"] = index.file ? to_json(*index.file) : json(nullptr);
    if (!index.covers) continue;
    auto& covers = as_json["covers"] = json::object();
    covers["rows"] = index.covers->rows;
    covers["live"] = index.covers->live;
  }
  return described;
}

// Returns whether the store could have created this name. Such a name cannot refer to a path outside the folder.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

// JSON allows numbers that are out of range for a counter, which the library would convert silently.
std::uint64_t count_from(const json& number, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  if (!number.is_number_unsigned() || number.get<std::uint64_t>() > most)
    throw error("a numeric field is out of range");
  return number.get<std::uint64_t>();
}

file_record file_from(const json& described) {
  file_record file{described.at("file").get<std::string>(), count_from(described.at("bytes")),
                   from_hexadecimal(described.at("checksum").get<std::string>()), count_from(described.at("rows"))};
  if (!is_plain_name(file.name)) throw error("a file has an impossible name");
  return file;
}

std::optional<file_record> optional_file_from(const json& described) {
  if (described.is_null()) return std::nullopt;
  return file_from(described);
}

std::optional<row_counts> optional_covers_from(const json& index) {
  if (!index.contains("covers")) return std::nullopt;
  const auto& covers = index["covers"];
  return row_counts{count_from(covers.at("rows")), count_from(covers.at("live"))};
}

column column_from(const json& described) {
  const auto name = described.at("type").get<std::string>();
  std::vector<int> modifiers;
  if (name == "numeric") {
    constexpr std::uint64_t most_digits = 1000;
    modifiers = {static_cast<int>(count_from(described.at("precision"), most_digits)),
                 static_cast<int>(count_from(described.at("scale"), most_digits))};
  }
  const auto type = type_from_sql(name, modifiers);
  if (!type) throw error("a column has an unknown type");
  return {described.at("name").get<std::string>(), *type, described.at("nullable").get<bool>()};
}

table_record table_from(const json& described) {
  table_record table;
  table.name = described.at("name").get<std::string>();
  table.about = described.at("about").get<std::string>();
  for (const auto& c : described.at("columns")) table.columns.push_back(column_from(c));
  for (const auto& file : described.at("segments")) table.segments.push_back(file_from(file));
  table.live = optional_file_from(described.at("live"));
  for (const auto& index : described.at("indexes")) {
    table.indexes.push_back({index.at("name").get<std::string>(), index.at("spec").get<std::string>(),
                             optional_file_from(index.at("file")), optional_covers_from(index)});
  }
  return table;
}

// Returns the lowest version that a program has to support to read this catalog.
int version_of(const catalog_record& catalog) {
  const auto has_covers = [](const index_record& index) { return index.covers.has_value(); };
  const bool is_later = std::ranges::any_of(
      catalog.tables, [&](const table_record& table) { return std::ranges::any_of(table.indexes, has_covers); });
  return is_later ? last_version : first_version;
}

std::string header_text(const catalog_record& catalog, std::string_view body) {
  json_tree out(json::object());
  (*out)["magic"] = catalog_magic;
  (*out)["version"] = version_of(catalog);
  (*out)["bytes"] = body.size();
  (*out)["checksum"] = hexadecimal(checksum_of(bytes_of(body)));
  return out->dump();
}

void require_distinct(const catalog_record& catalog) {
  std::set<std::string> tables;
  for (const auto& table : catalog.tables) {
    if (!tables.insert(table.name).second) throw error("two tables have one name");
  }
}

}  // namespace

std::vector<file_record> files_of(const catalog_record& catalog) {
  std::vector<file_record> files;
  for (const auto& table : catalog.tables) {
    files.insert(files.end(), table.segments.begin(), table.segments.end());
    if (table.live) files.push_back(*table.live);
    for (const auto& index : table.indexes) {
      if (index.file) files.push_back(*index.file);
    }
  }
  return files;
}

std::string catalog_text(const catalog_record& catalog) {
  json_tree owned(json::object());
  auto& contents = *owned;
  contents["generation"] = catalog.generation;
  contents["next_file"] = catalog.next_file;
  contents["obsolete"] = catalog.obsolete;
  contents["tables"] = json::array();
  for (const auto& table : catalog.tables) contents["tables"].push_back(to_json(table));
  const std::string body = contents.dump() + "\n";
  return header_text(catalog, body) + "\n" + body;
}

catalog_record parse_catalog_contents(std::string_view text, const std::filesystem::path& path) {
  try {
    const json_tree owned(json::parse(text));
    const auto& contents = *owned;
    catalog_record catalog;
    catalog.generation = count_from(contents.at("generation"));
    catalog.next_file = count_from(contents.at("next_file"));
    for (const auto& table : contents.at("tables")) catalog.tables.push_back(table_from(table));
    if (contents.contains("obsolete")) catalog.obsolete = contents["obsolete"].get<std::vector<std::string>>();
    require_distinct(catalog);
    return catalog;
  } catch (const json::exception&) {
    throw damaged_file(path, "it is not the JSON of a catalog");
  } catch (const error& e) {
    throw damaged_file(path, e.what());
  }
}

catalog_record parse_catalog(std::string_view text, const std::filesystem::path& path) {
  const auto line_end = text.find('\n');
  if (line_end == std::string_view::npos) throw damaged_file(path, "truncated");
  const std::string_view body = text.substr(line_end + 1);
  const json_tree owned(json::parse(text.substr(0, line_end), nullptr, false));
  const auto& header = *owned;
  if (!header.is_object() || header.value("magic", json()) != catalog_magic) {
    throw damaged_file(path, "not a catalog of Espalier");
  }
  if (header.value("checksum", json()) != hexadecimal(checksum_of(bytes_of(body))) ||
      header.value("bytes", json()) != body.size()) {
    throw damaged_file(path, "truncated, or checksum mismatch");
  }
  const json version = header.value("version", json());
  if (version != first_version && version != last_version) {
    throw error(fmt::format(
        "'{}' has format version {}, and this program reads versions {} to {}: use the program that wrote it.",
        path.string(), version.dump(-1, ' ', true, json::error_handler_t::replace), first_version, last_version));
  }
  auto catalog = parse_catalog_contents(body, path);
  // The header has exactly one representation, so a modification that keeps its meaning is detected, too.
  if (text.substr(0, line_end) != header_text(catalog, body)) throw damaged_file(path, "its first line was changed");
  return catalog;
}

catalog_record read_catalog(const std::filesystem::path& folder) {
  const auto path = folder / catalog_file_name;
  const mapped_file file(path);
  return parse_catalog({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path);
}

std::string catalog_header(const std::filesystem::path& folder) {
  const auto path = folder / catalog_file_name;
  if (!std::filesystem::exists(path)) return {};
  const mapped_file file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  return std::string(text.substr(0, text.find('\n')));
}

std::string write_catalog(file_layer& layer, const std::filesystem::path& folder, const catalog_record& catalog) {
  const std::string text = catalog_text(catalog);
  std::string header = text.substr(0, text.find('\n'));
  output_file file(layer, folder / catalog_file_name);
  file.write(bytes_of(text));
  file.finish();  // nothing is allocated from here on: the state is committed
  return header;
}

}  // namespace espalier::engine
