#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/csv/api.h>
#include <arrow/io/file.h>
#include <arrow/io/memory.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/cancel.h>
#include <arrow/util/future.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/table/arrow_status.hpp"
#include "engine/table/read_formats.hpp"

namespace espalier::engine {
namespace {

// Blocks are large, since types are inferred from the first one and each becomes a chunk of the table.
constexpr std::int32_t csv_block_bytes = 8 << 20;
constexpr double seconds_between_reports = 0.1;

// An input stream that counts the bytes that were read.
class counted_stream final : public arrow::io::InputStream {
 public:
  explicit counted_stream(std::shared_ptr<arrow::io::ReadableFile> file) : file_(std::move(file)) {}

  std::uint64_t done() const { return static_cast<std::uint64_t>(done_.load(std::memory_order_relaxed)); }

  arrow::Status Close() override { return file_->Close(); }
  bool closed() const override { return file_->closed(); }
  arrow::Result<std::int64_t> Tell() const override { return file_->Tell(); }
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t read, file_->Read(bytes, out));
    done_.fetch_add(read, std::memory_order_relaxed);
    return read;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, file_->Read(bytes));
    done_.fetch_add(buffer->size(), std::memory_order_relaxed);
    return buffer;
  }

 private:
  std::shared_ptr<arrow::io::ReadableFile> file_;
  std::atomic<std::int64_t> done_{0};
};

bool has_generated_names(const csv_options& options) { return !options.header && options.names.empty(); }

arrow::csv::ReadOptions csv_read_options(const csv_options& options) {
  auto read = arrow::csv::ReadOptions::Defaults();
  read.block_size = csv_block_bytes;
  read.column_names = options.names;
  read.autogenerate_column_names = has_generated_names(options);
  read.skip_rows = options.header && !options.names.empty() ? 1 : 0;
  return read;
}

arrow::csv::ParseOptions csv_parse_options(const csv_options& options, bool quoted_line_breaks) {
  auto parse = arrow::csv::ParseOptions::Defaults();
  parse.delimiter = options.delimiter;
  parse.quote_char = options.quote;
  parse.newlines_in_values = quoted_line_breaks;
  return parse;
}

arrow::csv::ConvertOptions csv_convert_options(const csv_options& options, const csv_types& types) {
  auto convert = arrow::csv::ConvertOptions::Defaults();
  convert.null_values = {options.null_text};
  convert.strings_can_be_null = true;
  convert.quoted_strings_can_be_null = false;
  for (const auto& [name, type] : types) {
    // Without a header, Arrow's names f0, f1, ... are used until the file is read.
    const bool generated = has_generated_names(options) && name.starts_with("column");
    convert.column_types[generated ? fmt::format("f{}", name.substr(std::string_view("column").size())) : name] = type;
  }
  return convert;
}

// Replaces Arrow's names f0, f1, ... by column0, column1, ...
std::shared_ptr<arrow::Table> with_generated_names(const std::shared_ptr<arrow::Table>& rows,
                                                   const csv_options& options) {
  if (!has_generated_names(options)) return rows;
  std::vector<std::string> names;
  for (int i = 0; i < rows->num_columns(); ++i) names.push_back(fmt::format("column{}", i));
  return value_of(rows->RenameColumns(names), "Columns cannot be named");
}

// Waits for the reader's threads. `tell` is called on this thread; if it throws, they are stopped first.
std::shared_ptr<arrow::Table> wait_for(arrow::csv::TableReader& reader, arrow::StopSource& stop,
                                       const std::filesystem::path& path, const counted_stream& stream,
                                       std::uint64_t total, const progress& tell) {
  auto rows = reader.ReadAsync();
  try {
    while (!rows.Wait(seconds_between_reports)) {
      if (tell) tell("reading " + path.filename().string(), stream.done(), total);
    }
  } catch (...) {
    stop.RequestStop();
    rows.Wait();
    throw;
  }
  return value_of(rows.result(), fmt::format("'{}' cannot be read as CSV", path.string()));
}

// Returns the first line that is not empty, including line breaks inside quotes.
std::string first_record(const std::filesystem::path& path, char quote) {
  std::ifstream file(path, std::ios::binary);
  std::string record;
  bool quoted = false;
  for (char c = 0; file.get(c);) {
    if (c == quote) quoted = !quoted;
    const bool ends = !quoted && (c == '\n' || c == '\r');
    if (ends && !record.empty()) break;
    if (!ends) record += c;
  }
  return record + '\n';
}

}  // namespace

std::vector<std::string> csv_file_names(const std::filesystem::path& path, const csv_options& options) {
  const std::string what = fmt::format("'{}' cannot be read as CSV", path.string());
  auto names = options;
  names.names.clear();
  names.header = true;
  auto input = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(first_record(path, options.quote)));
  auto reader =
      value_of(arrow::csv::TableReader::Make(arrow::io::default_io_context(), std::move(input), csv_read_options(names),
                                             csv_parse_options(names, true), csv_convert_options(names, {})),
               what);
  return value_of(reader->Read(), what)->ColumnNames();
}

namespace {

// In a file with one column, an empty line is a row whose value is NULL or empty.
bool has_one_column(const std::filesystem::path& path, const csv_options& options) {
  return (options.names.empty() ? csv_file_names(path, options) : options.names).size() == 1;
}

std::shared_ptr<arrow::Table> read_rows(const std::filesystem::path& path, const csv_options& options,
                                        const csv_types& types, const progress& tell) {
  const std::string what = fmt::format("'{}' cannot be read as CSV", path.string());
  auto file = value_of(arrow::io::ReadableFile::Open(path.string()), what);
  const auto total = static_cast<std::uint64_t>(value_of(file->GetSize(), what));
  auto stream = std::make_shared<counted_stream>(std::move(file));
  arrow::StopSource stop;
  const arrow::io::IOContext context(stop.token());
  auto parse = csv_parse_options(options, has_quoted_line_breaks(path, options.quote));
  parse.ignore_empty_lines = !has_one_column(path, options);
  auto reader = value_of(arrow::csv::TableReader::Make(context, stream, csv_read_options(options), parse,
                                                       csv_convert_options(options, types)),
                         what);
  return with_generated_names(wait_for(*reader, stop, path, *stream, total, tell), options);
}

bool is_hexadecimal(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0]))) text.remove_prefix(1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.starts_with("0x") || text.starts_with("0X");
}

std::optional<std::string> hexadecimal_in(const arrow::ChunkedArray& texts) {
  for (const auto& chunk : texts.chunks()) {
    const auto& strings = static_cast<const arrow::StringArray&>(*chunk);
    for (std::int64_t i = 0; i < strings.length(); ++i) {
      if (strings.IsValid(i) && is_hexadecimal(strings.GetView(i))) return strings.GetString(i);
    }
  }
  return std::nullopt;
}

// Finds integer columns in which Arrow has read hexadecimal numbers, which SQL does not accept. Columns with inferred
// types are set to text in `types`. Returns whether there are any.
bool found_hexadecimals(const std::filesystem::path& path, const csv_options& options, const arrow::Table& rows,
                        csv_types& types, const progress& tell) {
  csv_types as_text = types;
  std::vector<std::string> integers;
  for (const auto& field : rows.schema()->fields()) {
    if (!arrow::is_integer(field->type()->id())) continue;
    integers.push_back(field->name());
    as_text[field->name()] = arrow::utf8();
  }
  if (integers.empty() || !may_have_hexadecimals(path)) return false;
  const auto texts = read_rows(path, options, as_text, tell);
  bool found = false;
  for (const auto& name : integers) {
    const auto number = hexadecimal_in(*texts->GetColumnByName(name));
    if (!number) continue;
    if (types.contains(name)) {
      throw error(fmt::format("'{}' cannot be read as CSV: column '{}': '{}' is not a whole number.", path.string(),
                              name, *number));
    }
    types[name] = arrow::utf8();
    found = true;
  }
  return found;
}

}  // namespace

std::shared_ptr<arrow::Table> read_csv_file(const std::filesystem::path& path, const csv_options& options,
                                            const csv_types& given, const progress& tell) {
  const auto rows = read_rows(path, options, given, tell);
  csv_types types = given;
  return found_hexadecimals(path, options, *rows, types, tell) ? read_rows(path, options, types, tell) : rows;
}

}  // namespace espalier::engine
