// key_ranges.cpp - encodes ranges of values as ranges of keys.
#include <arrow/array.h>

#include <algorithm>

#include "engine/index/key_encoder.hpp"
#include "engine/parallel.hpp"
#include "espalier/core/byte_key.hpp"
#include "espalier/core/error.hpp"

namespace espalier::engine {

namespace {

using mark = range_batch::mark;

/// The values of a query, one per range or a single one for all ranges.
struct operand {
  key_column column;
  bool single = false;
  bool given = false;

  [[nodiscard]] std::size_t at(std::size_t i) const { return single ? 0 : i; }
  [[nodiscard]] bool is_null(std::size_t i) const { return column.is_null(at(i)); }
  [[nodiscard]] std::uint64_t word(std::size_t i) const { return column.words[at(i)]; }
};

struct operands {
  std::vector<operand> equal;
  operand lo, hi;
  std::size_t ranges = 1;
};

operand read_operand(const std::shared_ptr<arrow::Array>& array, const column_type& type, std::size_t& ranges) {
  if (!array) return {};
  const auto n = static_cast<std::size_t>(array->length());
  if (n != 1) {
    if (ranges != 1 && ranges != n)
      throw error("index: ranges are given by arrays of " + std::to_string(ranges) + " and of " + std::to_string(n) +
                  " values; they have one for each range, or a single one.");
    ranges = n;
  }
  return {read_key_column(*array, type), n == 1, true};
}

operands read_operands(const key_ranges& shape, const std::vector<key_field>& fields) {
  const std::size_t limited = shape.equal.size() + (shape.condition == key_condition::anything ? 0 : 1);
  if (limited > fields.size())
    throw error("index: a question limits " + std::to_string(limited) + " columns of a key of " +
                std::to_string(fields.size()) + ".");
  operands out;
  for (std::size_t c = 0; c < shape.equal.size(); ++c)
    out.equal.push_back(read_operand(shape.equal[c], fields[c].type, out.ranges));
  const bool ends = shape.condition == key_condition::between || shape.condition == key_condition::prefix;
  if (!ends) return out;
  const column_type& type = fields[shape.equal.size()].type;
  if (shape.condition == key_condition::prefix && (type.id != type_id::varchar || !shape.lo))
    throw error("index: a prefix is asked for with strings, in a varchar column.");
  out.lo = read_operand(shape.lo, type, out.ranges);
  if (shape.condition == key_condition::between) out.hi = read_operand(shape.hi, type, out.ranges);
  return out;
}

bool null_among(const std::vector<operand>& values, std::size_t i) {
  return std::any_of(values.begin(), values.end(), [i](const operand& v) { return v.is_null(i); });
}

// ---- words ---------------------------------------------------------------------------------------------------------

class word_ranges {
 public:
  word_ranges(const std::vector<key_field>& fields, const key_ranges& shape, const operands& values, range_batch& out)
      : fields_(fields), shape_(shape), values_(values), out_(out) {}

  void run() {
    out_.lo_words.resize(values_.ranges);
    out_.hi_words.resize(values_.ranges);
    parallel_pieces(values_.ranges, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        out_.lo_words[i] = 1;  // empty range by default
        out_.hi_words[i] = 0;
        std::uint64_t prefix = 0;
        if (equal(i, prefix)) limit(i, prefix);
      }
    });
  }

 private:
  bool equal(std::size_t i, std::uint64_t& prefix) const {
    for (std::size_t c = 0; c < values_.equal.size(); ++c) {
      const key_field& f = fields_[c];
      const std::uint64_t word = values_.equal[c].word(i);
      if (values_.equal[c].is_null(i) || word < f.base || word - f.base > f.last_code()) return false;
      prefix |= (word - f.base) << f.shift;
    }
    return true;
  }

  void limit(std::size_t i, std::uint64_t prefix) {
    if (shape_.condition == key_condition::anything) return set(i, prefix, prefix, fields_[values_.equal.size() - 1]);
    const key_field& f = fields_[values_.equal.size()];
    if (shape_.condition == key_condition::is_null) {
      if (f.has_null) emit(i, prefix, f, f.null_code(), f.null_code());
      return;
    }
    std::uint64_t lo = 0;
    std::uint64_t hi = f.last_code();
    if (lower(i, f, lo) && upper(i, f, hi) && lo <= hi) emit(i, prefix, f, lo, hi);
  }

  void emit(std::size_t i, std::uint64_t prefix, const key_field& f, std::uint64_t lo, std::uint64_t hi) {
    set(i, prefix | lo << f.shift, prefix | hi << f.shift, f);
  }
  /// Sets the range to all values of the fields below `f`.
  void set(std::size_t i, std::uint64_t lo, std::uint64_t hi, const key_field& f) {
    out_.lo_words[i] = lo;
    out_.hi_words[i] = hi | ((std::uint64_t{1} << f.shift) - 1);
  }

  [[nodiscard]] bool lower(std::size_t i, const key_field& f, std::uint64_t& lo) const {
    if (!values_.lo.given) return true;
    if (values_.lo.is_null(i)) return false;
    const std::uint64_t word = values_.lo.word(i);
    if (word < f.base) return true;
    lo = word - f.base;
    if (lo > f.last_code()) return false;
    return shape_.lo_inclusive || lo++ != f.last_code();
  }
  [[nodiscard]] bool upper(std::size_t i, const key_field& f, std::uint64_t& hi) const {
    if (!values_.hi.given) return true;
    if (values_.hi.is_null(i)) return false;
    const std::uint64_t word = values_.hi.word(i);
    if (word < f.base) return false;
    if (word - f.base > f.last_code()) return true;
    hi = word - f.base;
    return shape_.hi_inclusive || hi-- != 0;
  }

  const std::vector<key_field>& fields_;
  const key_ranges& shape_;
  const operands& values_;
  range_batch& out_;
};

// ---- bytes ---------------------------------------------------------------------------------------------------------

class byte_ranges {
 public:
  byte_ranges(const std::vector<key_field>& fields, const key_ranges& shape, const operands& values, range_batch& out)
      : fields_(fields), shape_(shape), values_(values), out_(out) {}

  void run() {
    out_.marks.assign(values_.ranges, mark::ends);
    for (std::size_t i = 0; i < values_.ranges; ++i) {
      lo_.clear();
      hi_.clear();
      out_.marks[i] = mark::ends;
      if (null_among(values_.equal, i) || !limit(i)) out_.marks[i] = mark::empty;
      out_.lo_bytes.add(lo_);
      out_.hi_bytes.add(hi_);
    }
    const auto plain = [](mark m) { return m == mark::ends; };
    if (std::all_of(out_.marks.begin(), out_.marks.end(), plain)) out_.marks.clear();
  }

 private:
  bool limit(std::size_t i) {
    std::string prefix;
    for (std::size_t c = 0; c < values_.equal.size(); ++c)
      append_key_column(prefix, fields_[c], values_.equal[c].column, values_.equal[c].at(i), is_last(c));
    if (shape_.condition == key_condition::anything) {
      lo_ = prefix;
      return values_.equal.size() == fields_.size() ? before_next(i, prefix) : up_to_end_of(i, prefix);
    }
    const key_field& f = fields_[values_.equal.size()];
    if (shape_.condition == key_condition::is_null) {
      if (!f.has_null) return false;
      lo_ = prefix + '\x01';
      return up_to_end_of(i, lo_);
    }
    if (f.has_null) prefix.push_back('\x00');
    return shape_.condition == key_condition::prefix ? beginning(i, prefix) : between(i, prefix);
  }

  bool between(std::size_t i, const std::string& prefix) {
    lo_ = prefix;
    if (values_.lo.given) {
      if (values_.lo.is_null(i)) return false;
      append(lo_, values_.lo, i);
      if (!shape_.lo_inclusive && !step_over(lo_)) return false;
    }
    if (!values_.hi.given) return up_to_end_of(i, prefix);
    if (values_.hi.is_null(i)) return false;
    hi_ = prefix;
    append(hi_, values_.hi, i);
    if (shape_.hi_inclusive && !step_over(hi_)) out_.marks[i] = mark::from_lo;
    return true;
  }

  bool beginning(std::size_t i, const std::string& prefix) {
    if (values_.lo.is_null(i)) return false;
    lo_ = prefix;
    append(lo_, values_.lo, i);
    if (!is_last(values_.equal.size())) lo_.pop_back();  // removes the terminator of the string
    return up_to_end_of(i, lo_);
  }

  /// Limits the range to the key lo_.
  bool before_next(std::size_t, const std::string& key) {
    hi_ = key + '\0';
    return true;
  }

  /// Limits the range to keys that begin with `prefix`.
  bool up_to_end_of(std::size_t i, const std::string& prefix) {
    if (const auto after = byte_key_after_prefix(prefix)) {
      hi_ = *after;
    } else {
      out_.marks[i] = mark::from_lo;
    }
    return true;
  }

  /// Advances `end` beyond all keys with this value in the range column. Returns false if there is no such key.
  bool step_over(std::string& end) const {
    if (is_last(values_.equal.size())) {
      end.push_back('\0');
      return true;
    }
    const auto after = byte_key_after_prefix(end);
    if (after) end = *after;
    return after.has_value();
  }

  void append(std::string& out, const operand& value, std::size_t i) const {
    key_field f = fields_[values_.equal.size()];
    f.has_null = false;  // the NULL mark was already appended
    append_key_column(out, f, value.column, value.at(i), is_last(values_.equal.size()));
  }
  [[nodiscard]] bool is_last(std::size_t column) const { return column + 1 == fields_.size(); }

  const std::vector<key_field>& fields_;
  const key_ranges& shape_;
  const operands& values_;
  range_batch& out_;
  std::string lo_, hi_;
};

}  // namespace

namespace {

/// Returns whether the bounds can be used as words directly: one column, both bounds per range, inclusive and not NULL.
/// Batches of parameters have this form.
bool are_words(const key_ranges& shape, const operands& values, const key_encoder& encoder) {
  const auto plain = [&values](const operand& end) {
    return end.given && end.column.nulls.empty() && end.column.words.size() == values.ranges;
  };
  return !encoder.is_composite() && encoder.form() != key_form::bytes && shape.equal.empty() &&
         shape.condition == key_condition::between && shape.lo_inclusive && shape.hi_inclusive && plain(values.lo) &&
         plain(values.hi);
}

}  // namespace

range_batch key_encoder::ranges(const key_ranges& shape) const {
  operands values = read_operands(shape, fields_);
  range_batch out;
  out.n = values.ranges;
  out.encoder = shared_from_this();
  const bool aside = !is_composite();
  if (aside && shape.equal.empty() && shape.condition == key_condition::is_null) {
    out.marks.assign(values.ranges, mark::null_rows);
  } else if (shape.equal.empty() && shape.condition == key_condition::anything) {
    out.marks.assign(values.ranges, mark::every_row);
  }
  if (!out.marks.empty()) {
    out.lo_words.assign(values.ranges, 1);
    out.hi_words.assign(values.ranges, 0);
    out.lo_bytes.offsets.assign(values.ranges + 1, 0);
    out.hi_bytes.offsets.assign(values.ranges + 1, 0);
  } else if (are_words(shape, values, *this)) {
    out.lo_words = std::move(values.lo.column.words);
    out.hi_words = std::move(values.hi.column.words);
  } else if (form_ == key_form::bytes) {
    byte_ranges(fields_, shape, values, out).run();
  } else {
    word_ranges(fields_, shape, values, out).run();
  }
  return out;
}

void range_batch::byte_ends::add(std::string_view end) {
  bytes += end;
  offsets.push_back(bytes.size());
}

void range_batch::append(const range_batch& more) {
  if (n == 0) {
    *this = more;
    return;
  }
  if (more.n == 0) return;
  if (more.encoder != encoder) throw error("index: ranges of different indexes cannot be asked together.");
  if (!marks.empty() || !more.marks.empty()) {
    marks.resize(n, mark::ends);
    for (std::size_t i = 0; i < more.n; ++i) marks.push_back(more.mark_of(i));
  }
  lo_words.insert(lo_words.end(), more.lo_words.begin(), more.lo_words.end());
  hi_words.insert(hi_words.end(), more.hi_words.begin(), more.hi_words.end());
  const auto join = [](byte_ends& to, const byte_ends& from) {
    const std::uint64_t base = to.bytes.size();
    to.bytes += from.bytes;
    for (std::size_t i = 1; i < from.offsets.size(); ++i) to.offsets.push_back(base + from.offsets[i]);
  };
  join(lo_bytes, more.lo_bytes);
  join(hi_bytes, more.hi_bytes);
  n += more.n;
}

}  // namespace espalier::engine
