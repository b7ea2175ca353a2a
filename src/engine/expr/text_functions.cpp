// text_functions.cpp - text functions that Arrow implements partly or not at all. Patterns, separators and counts are
// constants.
#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "engine/error.hpp"
#include "engine/expr/cast.hpp"
#include "engine/expr/kernels.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/memory_budget.hpp"
#include "engine/table/text_limit.hpp"

namespace espalier::engine {
namespace {

namespace compute = arrow::compute;

std::optional<std::string> constant_text(const expr& e, const std::vector<arrow::Datum>& args, std::size_t i) {
  if (!args[i].is_scalar())
    throw_sql_error(e.position, fmt::format("Argument {} of {} has to be a constant.", i + 1, e.name));
  if (!args[i].scalar()->is_valid) return std::nullopt;
  return args[i].scalar_as<arrow::StringScalar>().value->ToString();
}

std::optional<std::int64_t> constant_number(const expr& e, const std::vector<arrow::Datum>& args, std::size_t i) {
  if (!args[i].is_scalar())
    throw_sql_error(e.position, fmt::format("Argument {} of {} has to be a constant.", i + 1, e.name));
  if (!args[i].scalar()->is_valid) return std::nullopt;
  return args[i].scalar_as<arrow::Int32Scalar>().value;
}

arrow::Datum null_of(const expr& e) { return arrow::MakeNullScalar(arrow_type(e.type)); }

// Texts are built outside of Arrow's pool, so memory for a large one is claimed before it is built.
void require_text_memory(std::size_t bytes) {
  constexpr std::size_t large = std::size_t{1} << 16;
  if (bytes >= large) require_memory(bytes);
}

// The text is allocated from Arrow's pool, which accounts for it.
arrow::Datum text_scalar(const std::string& text) {
  const memory_claim claim(text.size());
  std::shared_ptr<arrow::Buffer> bytes = value_of(arrow::AllocateBuffer(std::ssize(text)));
  std::copy(text.begin(), text.end(), bytes->mutable_data());
  return arrow::Datum(std::make_shared<arrow::StringScalar>(std::move(bytes)));
}

// A builder's memory is from Arrow's pool, and a batch of growing texts may be much larger than its input.
void check_memory_of_rows(std::int64_t row) {
  constexpr std::int64_t rows_between_checks = 256;
  if (row % rows_between_checks == 0) require_memory(0);
}

// Maps each text by `change`; NULL is mapped to NULL.
template <class Change>
arrow::Datum each_text(const expr& e, const arrow::Datum& texts, const Change& change) {
  if (texts.is_scalar()) {
    if (!texts.scalar()->is_valid) return null_of(e);
    return text_scalar(std::string(change(texts.scalar_as<arrow::StringScalar>().view())));
  }
  const auto array = texts.make_array();
  const auto& strings = static_cast<const arrow::StringArray&>(*array);
  arrow::StringBuilder builder;
  for (std::int64_t i = 0; i < strings.length(); ++i) {
    check_memory_of_rows(i);
    check(strings.IsNull(i) ? builder.AppendNull() : builder.Append(change(strings.GetView(i))), e.position);
    require_text_fits(builder.value_data_length(), e.position);
  }
  return value_of(builder.Finish());
}

// Characters are counted by their first bytes.
bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

std::int64_t character_count(std::string_view text) {
  return std::count_if(text.begin(), text.end(), starts_character);
}

// Returns the byte offset of character `n`, counted from 0.
std::size_t character_start(std::string_view text, std::int64_t n) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (starts_character(text[at]) && n-- == 0) break;
  }
  return at;
}

// left(s, n): a negative n omits the last |n| characters. right(s, n) is the mirror image.
arrow::Datum one_end(const expr& e, const std::vector<arrow::Datum>& args) {
  const auto n = constant_number(e, args, 1);
  if (!n) return null_of(e);
  const bool left = e.name == "left";
  return each_text(e, args[0], [&](std::string_view text) {
    const auto all = character_count(text);
    const auto kept = std::clamp<std::int64_t>(*n < 0 ? all + *n : *n, 0, all);
    const auto cut = character_start(text, left ? kept : all - kept);
    return std::string(left ? text.substr(0, cut) : text.substr(cut));
  });
}

// Returns part n of the text, counted from 1; a negative n counts from the end.
arrow::Datum split_part(const expr& e, const std::vector<arrow::Datum>& args) {
  const auto separator = constant_text(e, args, 1);
  const auto n = constant_number(e, args, 2);
  if (!separator || !n) return null_of(e);
  if (*n == 0)
    throw_sql_error(codes::invalid_parameter_value, e.position, "The number of a part of split_part cannot be 0.");
  return each_text(e, args[0], [&](std::string_view text) -> std::string {
    if (separator->empty()) return *n == 1 || *n == -1 ? std::string(text) : std::string();
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    for (auto end = text.find(*separator); end != std::string_view::npos; end = text.find(*separator, begin)) {
      parts.push_back(text.substr(begin, end - begin));
      begin = end + separator->size();
    }
    parts.push_back(text.substr(begin));
    const auto count = static_cast<std::int64_t>(parts.size());
    const auto place = *n > 0 ? *n - 1 : count + *n;
    return place < 0 || place >= count ? std::string() : std::string(parts[static_cast<std::size_t>(place)]);
  });
}

// lpad(s, n [, fill]) and rpad extend or truncate the text to n characters.
arrow::Datum padded(const expr& e, const std::vector<arrow::Datum>& args) {
  const auto n = constant_number(e, args, 1);
  const auto fill = args.size() == 3 ? constant_text(e, args, 2) : std::optional<std::string>(" ");
  if (!n || !fill) return null_of(e);
  constexpr std::int64_t most = 1 << 26;
  if (*n > most)
    throw_sql_error(codes::invalid_parameter_value, e.position,
                    fmt::format("{} takes at most {} characters.", e.name, most));
  const auto wanted = std::max<std::int64_t>(*n, 0);
  return each_text(e, args[0], [&](std::string_view text) {
    const auto have = character_count(text);
    if (have >= wanted || fill->empty()) return std::string(text.substr(0, character_start(text, wanted)));
    const auto missing = wanted - have;
    const auto of_fill = character_count(*fill);
    const auto whole = static_cast<std::size_t>(missing / of_fill);
    std::string out;
    require_text_memory(2 * (whole * fill->size() + text.size()));
    out.reserve((whole + 1) * fill->size());
    for (std::size_t i = 0; i < whole; ++i) out += *fill;
    out += fill->substr(0, character_start(*fill, missing % of_fill));
    return e.name == "lpad" ? out + std::string(text) : std::string(text) + out;
  });
}

arrow::Datum repeated(const expr& e, const std::vector<arrow::Datum>& args) {
  const auto n = constant_number(e, args, 1);
  if (!n) return null_of(e);
  const auto times = std::max<std::int64_t>(*n, 0);
  if (times > 0 && text_bytes(args[0], 1) > most_text_bytes() / times) throw text_overflow(e.position);
  return each_text(e, args[0], [&](std::string_view text) {
    std::string out;
    require_text_memory(text.size() * static_cast<std::size_t>(times));
    out.reserve(text.size() * static_cast<std::size_t>(times));
    for (std::int64_t i = 0; i < times && !text.empty(); ++i) out += text;
    return out;
  });
}

// Returns the position of the other text in characters from 1, or 0 if it does not occur.
arrow::Datum position_of(const expr& e, const std::vector<arrow::Datum>& args) {
  const auto wanted = constant_text(e, args, 1);
  if (!wanted) return null_of(e);
  const auto place = [&](std::string_view text) {
    const auto at = text.find(*wanted);
    return at == std::string_view::npos ? 0 : static_cast<std::int32_t>(character_count(text.substr(0, at)) + 1);
  };
  if (args[0].is_scalar()) {
    if (!args[0].scalar()->is_valid) return null_of(e);
    return arrow::Datum(std::make_shared<arrow::Int32Scalar>(place(args[0].scalar_as<arrow::StringScalar>().view())));
  }
  const auto array = args[0].make_array();
  const auto& strings = static_cast<const arrow::StringArray&>(*array);
  arrow::Int32Builder builder;
  for (std::int64_t i = 0; i < strings.length(); ++i) {
    check(strings.IsNull(i) ? builder.AppendNull() : builder.Append(place(strings.GetView(i))));
  }
  return value_of(builder.Finish());
}

// A text argument by row, without a value for NULL.
class text_argument {
 public:
  explicit text_argument(const arrow::Datum& value) {
    if (value.is_scalar()) {
      scalar_ = value.scalar();
    } else {
      array_ = value.make_array();
    }
  }
  [[nodiscard]] std::optional<std::string_view> at(std::int64_t row) const {
    if (scalar_) {
      if (!scalar_->is_valid) return std::nullopt;
      return static_cast<const arrow::StringScalar&>(*scalar_).view();
    }
    if (array_->IsNull(row)) return std::nullopt;
    return static_cast<const arrow::StringArray&>(*array_).GetView(row);
  }

 private:
  std::shared_ptr<arrow::Scalar> scalar_;
  std::shared_ptr<arrow::Array> array_;
};

// concat treats NULLs as empty. concat_ws omits them and is NULL if its separator is.
std::optional<std::string> concatenated_row(const std::vector<text_argument>& parts, bool separated, std::int64_t row,
                                            int position) {
  const auto separator = separated ? parts[0].at(row) : std::optional<std::string_view>("");
  if (!separator) return std::nullopt;
  std::string out;
  bool first = true;
  for (std::size_t i = separated ? 1 : 0; i < parts.size(); ++i) {
    const auto text = parts[i].at(row);
    if (!text) continue;
    require_text_memory(2 * (out.size() + text->size()));
    require_text_fits(
        std::ssize(out) + std::ssize(*separator) + std::ssize(*text) - (first ? std::ssize(*separator) : 0), position);
    if (!first) out += *separator;
    out += *text;
    first = false;
  }
  return out;
}

arrow::Datum concatenated(const expr& e, const std::vector<arrow::Datum>& args) {
  const bool separated = e.name == "concat_ws";
  std::vector<text_argument> parts;
  std::optional<std::int64_t> rows;
  for (const auto& arg : args) {
    parts.emplace_back(arg);
    if (!arg.is_scalar()) rows = arg.length();
  }
  if (!rows) {
    const auto text = concatenated_row(parts, separated, 0, e.position);
    return text ? text_scalar(*text) : null_of(e);
  }
  arrow::StringBuilder builder;
  for (std::int64_t row = 0; row < *rows; ++row) {
    check_memory_of_rows(row);
    const auto text = concatenated_row(parts, separated, row, e.position);
    check(text ? builder.Append(*text) : builder.AppendNull(), e.position);
    require_text_fits(builder.value_data_length(), e.position);
  }
  return value_of(builder.Finish());
}

arrow::Datum trimmed(const expr& e, const std::vector<arrow::Datum>& args) {
  const auto characters = args.size() == 2 ? constant_text(e, args, 1) : std::optional<std::string>(" ");
  if (!characters) return null_of(e);
  const compute::TrimOptions options(*characters);
  const char* const kernel = e.name == "btrim" ? "utf8_trim" : e.name == "ltrim" ? "utf8_ltrim" : "utf8_rtrim";
  return call_kernel(kernel, {args[0]}, e.position, &options);
}

arrow::Datum regex_match(const expr& e, const std::vector<arrow::Datum>& args) {
  const auto pattern = constant_text(e, args, 1);
  if (!pattern) return null_of(e);
  const compute::MatchSubstringOptions options(*pattern, e.name == "regexp_like_ignoring_case");
  return call_kernel("match_substring_regex", {args[0]}, e.position, &options);
}

// PostgreSQL's \& is RE2's \0; \1 to \9 and \\ are the same.
std::string re2_rewrite(std::string_view replacement) {
  std::string out;
  for (std::size_t i = 0; i < replacement.size(); ++i) {
    const bool escape = replacement[i] == '\\' && i + 1 < replacement.size();
    out += replacement[i];
    if (escape) out += replacement[++i] == '&' ? '0' : replacement[i];
  }
  return out;
}

arrow::Datum regex_replaced(const expr& e, const std::vector<arrow::Datum>& args) {
  auto pattern = constant_text(e, args, 1);
  const auto replacement = constant_text(e, args, 2);
  const auto flags = args.size() == 4 ? constant_text(e, args, 3) : std::optional<std::string>("");
  if (!pattern || !replacement || !flags) return null_of(e);
  std::int64_t most_replaced = 1;
  for (const char flag : *flags) {
    if (flag == 'g') {
      most_replaced = -1;
    } else if (flag == 'i') {
      pattern = "(?i)" + *pattern;
    } else {
      throw_sql_error(codes::invalid_parameter_value, e.position,
                      fmt::format("The flag '{}' of regexp_replace is not supported; g and i are.", flag));
    }
  }
  // Arrow's kernel does not check whether its 32-bit offsets overflow.
  const compute::MatchSubstringOptions wanted(*pattern);
  const auto found =
      call_kernel("sum", {call_kernel("count_substring_regex", {args[0]}, e.position, &wanted)}, e.position);
  const auto references = std::count(replacement->begin(), replacement->end(), '\\');
  const auto matches = found.scalar()->is_valid ? found.scalar_as<arrow::Int64Scalar>().value : 0;
  const auto most = most_text_bytes(), bytes = text_bytes(args[0], 1);
  if (bytes > most / (references + 1) ||
      matches > (most - bytes * (references + 1)) / std::max<std::int64_t>(std::ssize(*replacement), 1)) {
    throw text_overflow(e.position);
  }
  if (references == 0 && most_replaced < 0) {
    require_memory(static_cast<std::size_t>(matches) * replacement->size());
  }
  const compute::ReplaceSubstringOptions options(*pattern, re2_rewrite(*replacement), most_replaced);
  return call_kernel("replace_substring_regex", {args[0]}, e.position, &options);
}

// Truncates to n characters, as a CAST to varchar(n) does. char(n) has no trailing spaces here.
arrow::Datum cut(const expr& e, const std::vector<arrow::Datum>& args) {
  const bool blanks = e.name == "cut_char";
  return each_text(e, args[0], [&](std::string_view text) {
    auto out = text.substr(0, character_start(text, e.number));
    if (blanks) out = out.substr(0, out.find_last_not_of(' ') + 1);
    return std::string(out);
  });
}

// INSERT and UPDATE refuse longer texts unless all excess characters are spaces.
arrow::Datum fitted(const expr& e, const std::vector<arrow::Datum>& args) {
  const bool blanks = e.name == "fit_char";
  return each_text(e, args[0], [&](std::string_view text) {
    const auto end = character_start(text, e.number);
    if (text.find_first_not_of(' ', end) != std::string_view::npos) {
      throw_sql_error(codes::string_too_long, e.position,
                      fmt::format("A text of {} characters is too long for the type {}({}).", character_count(text),
                                  blanks ? "char" : "varchar", e.number));
    }
    auto out = text.substr(0, end);
    if (blanks) out = out.substr(0, out.find_last_not_of(' ') + 1);
    return std::string(out);
  });
}

// A column of type numeric without a precision refuses values that its type would round.
arrow::Datum exact_numeric(const expr& e, const std::vector<arrow::Datum>& args) {
  const auto& from = e.args[0]->type;
  const auto out = cast(args[0], from, e.type, e.position);
  const auto same = compare(op::equal, cast(out, e.type, from, e.position), args[0], from, e.position);
  const auto all = same.is_scalar() ? same : call_kernel("all", {same}, e.position);  // NULL if there are no values
  const auto& answer = all.scalar_as<arrow::BooleanScalar>();
  if (answer.is_valid && !answer.value) {
    throw_sql_error(
        codes::numeric_value_out_of_range, e.position,
        fmt::format("A value has more than {} digits behind the point, which a column of type numeric keeps; declare "
                    "the column as numeric(p,s).",
                    e.type.scale));
  }
  return out;
}

using implementation = arrow::Datum (*)(const expr&, const std::vector<arrow::Datum>&);

struct text_kernel {
  std::string_view name;
  implementation call;
};

constexpr text_kernel kernels[] = {
    {"left", one_end},
    {"right", one_end},
    {"split_part", split_part},
    {"lpad", padded},
    {"rpad", padded},
    {"repeat", repeated},
    {"strpos", position_of},
    {"position", position_of},
    {"concat", concatenated},
    {"concat_ws", concatenated},
    {"btrim", trimmed},
    {"ltrim", trimmed},
    {"rtrim", trimmed},
    {"regexp_like", regex_match},
    {"regexp_like_ignoring_case", regex_match},
    {"regexp_replace", regex_replaced},
    {"cut_varchar", cut},
    {"cut_char", cut},
    {"fit_varchar", fitted},
    {"fit_char", fitted},
    {"exact_numeric", exact_numeric},
};

const text_kernel* find(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kernels), std::end(kernels),
                                         [&](const text_kernel& kernel) { return kernel.name == name; });
  return found == std::end(kernels) ? nullptr : found;
}

}  // namespace

bool is_text_kernel(std::string_view name) { return find(name) != nullptr; }

arrow::Datum text_kernel_values(const expr& e, const std::vector<arrow::Datum>& args) {
  return find(e.name)->call(e, args);
}

}  // namespace espalier::engine
