// tpch_tables.cpp - see tpch_tables.hpp. Numbers in parentheses are sections of the specification.
#include "bench/query/tpch_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "bench/data/random.hpp"
#include "bench/query/columns.hpp"
#include "bench/query/tpch_words.hpp"

namespace espalier::bench {
namespace {

using std::uint64_t;

constexpr std::int32_t day_number(int year, unsigned month, unsigned day) {
  using namespace std::chrono;
  return static_cast<std::int32_t>(
      sys_days{std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day)}.time_since_epoch().count());
}
constexpr std::int32_t first_day = day_number(1992, 1, 1);
constexpr std::int32_t last_day = day_number(1998, 12, 31);
constexpr std::int32_t current_day = day_number(1995, 6, 17);
constexpr uint64_t most_lines = 7;
constexpr uint64_t suppliers_of_part = 4;

/// Random numbers of the columns are identified by stream and row.
enum random_stream : uint64_t {
  lines_of_order,
  order_customer,
  order_date,
  order_priority,
  order_clerk,
  order_comment,
  line_part,
  line_supplier,
  line_quantity,
  line_discount,
  line_tax,
  line_ship,
  line_commit,
  line_receipt,
  line_return,
  line_instruction,
  line_mode,
  line_comment,
  customer_nation,
  customer_phone,
  customer_balance,
  customer_segment,
  customer_address,
  customer_comment,
  supplier_nation,
  supplier_phone,
  supplier_balance,
  supplier_address,
  supplier_comment,
  part_name,
  part_maker,
  part_type,
  part_size,
  part_container,
  part_comment,
  offer_quantity,
  offer_cost,
  offer_comment,
  place_comment
};

/// The sizes of all tables, and the order of each row of lineitem.
class tpch_shape {
 public:
  tpch_shape(uint64_t lineitem_rows, uint64_t seed)
      : suppliers(std::max<uint64_t>(lineitem_rows / 600, 10)),
        parts(std::max<uint64_t>(lineitem_rows / 30, 20)),
        customers(std::max<uint64_t>(lineitem_rows / 40, 10)),
        seed_(seed) {
    for (uint64_t order = 0; order_of_line.size() < lineitem_rows; ++order) {
      first_line.push_back(order_of_line.size());
      const uint64_t lines =
          std::min(1 + draw(lines_of_order, order, most_lines), lineitem_rows - order_of_line.size());
      order_of_line.insert(order_of_line.end(), lines, static_cast<std::uint32_t>(order));
    }
    first_line.push_back(order_of_line.size());
  }

  [[nodiscard]] uint64_t orders() const { return first_line.size() - 1; }

  /// Returns a number in [0, n).
  [[nodiscard]] uint64_t draw(random_stream of, uint64_t row, uint64_t n) const { return below(bits(of, row), n); }
  template <class Words>
  [[nodiscard]] std::string pick(random_stream of, uint64_t row, const Words& words) const {
    return std::string(words[draw(of, row, words.size())]);
  }
  /// Returns the words of a comment, of `least` to `most` characters.
  [[nodiscard]] std::string comment(random_stream of, uint64_t row, uint64_t least, uint64_t most) const {
    const uint64_t start = bits(of, row);
    const uint64_t length = least + below(start, most - least + 1);
    std::string text;
    for (uint64_t i = 1; text.size() < length; ++i) {
      if (i > 1) text += ' ';
      text += tpch_words::comment_words[below(random_bits(start, i), tpch_words::comment_words.size())];
    }
    text.resize(length);
    return text;
  }
  /// Returns 10 to 40 random characters.
  [[nodiscard]] std::string address(random_stream of, uint64_t row) const {
    static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,";
    const uint64_t start = bits(of, row);
    std::string text(10 + below(start, 31), ' ');
    for (uint64_t i = 0; i < text.size(); ++i) text[i] = letters[below(random_bits(start, i), letters.size())];
    return text;
  }
  /// The country code is 10 plus the nation's key (4.2.2.9).
  [[nodiscard]] std::string phone(random_stream of, uint64_t row, uint64_t nation) const {
    const uint64_t start = bits(of, row);
    return fmt::format("{}-{:03}-{:03}-{:04}", 10 + nation, 100 + below(random_bits(start, 1), 900),
                       100 + below(random_bits(start, 2), 900), 1000 + below(random_bits(start, 3), 9000));
  }
  /// Returns -999.99 to 9999.99, in hundredths.
  [[nodiscard]] std::int64_t balance(random_stream of, uint64_t row) const {
    return static_cast<std::int64_t>(draw(of, row, 1'099'999)) - 99'999;
  }

  /// Returns the i-th of the four distinct suppliers of a part (4.2.3, with a step that also suits few suppliers).
  [[nodiscard]] uint64_t supplier_of(uint64_t part_key, uint64_t i) const {
    const uint64_t step = suppliers / 4 + (part_key - 1) / suppliers % (suppliers / 16 + 1);
    return (part_key + i * step) % suppliers + 1;
  }
  /// Returns hundredths (4.2.3).
  [[nodiscard]] static std::int64_t retail_price(uint64_t part_key) {
    return static_cast<std::int64_t>(90'000 + part_key / 10 % 20'001 + 100 * (part_key % 1'000));
  }

  const uint64_t suppliers;
  const uint64_t parts;
  const uint64_t customers;
  std::vector<std::uint32_t> order_of_line;
  std::vector<uint64_t> first_line;  ///< first line of each order, and the total number of lines

 private:
  [[nodiscard]] uint64_t bits(random_stream of, uint64_t row) const { return random_bits(mix(seed_) + of, row); }

  uint64_t seed_;
};

using shape_ptr = std::shared_ptr<const tpch_shape>;

// ---- orders and their lines -------------------------------------------------------------------------------------

/// Eight of 32 keys are used (4.2.3).
uint64_t order_key(uint64_t order) { return order / 8 * 32 + order % 8 + 1; }

/// A third of the customers has no orders (4.2.3): those whose keys are multiples of three.
uint64_t customer_of(const tpch_shape& s, uint64_t order) {
  const uint64_t key = 1 + s.draw(order_customer, order, s.customers);
  return key % 3 != 0 ? key : key - 1;
}

std::int32_t date_of_order(const tpch_shape& s, uint64_t order) {
  return first_day + static_cast<std::int32_t>(s.draw(order_date, order, last_day - 151 - first_day + 1));
}
std::int32_t ship_date(const tpch_shape& s, uint64_t line) {
  return date_of_order(s, s.order_of_line[line]) + 1 + static_cast<std::int32_t>(s.draw(line_ship, line, 121));
}
std::int32_t commit_date(const tpch_shape& s, uint64_t line) {
  return date_of_order(s, s.order_of_line[line]) + 30 + static_cast<std::int32_t>(s.draw(line_commit, line, 61));
}
std::int32_t receipt_date(const tpch_shape& s, uint64_t line) {
  return ship_date(s, line) + 1 + static_cast<std::int32_t>(s.draw(line_receipt, line, 30));
}
bool is_open(const tpch_shape& s, uint64_t line) { return ship_date(s, line) > current_day; }

uint64_t part_of_line(const tpch_shape& s, uint64_t line) { return 1 + s.draw(line_part, line, s.parts); }
std::int64_t quantity_of(const tpch_shape& s, uint64_t line) {
  return 1 + static_cast<std::int64_t>(s.draw(line_quantity, line, 50));
}
std::int64_t extended_price(const tpch_shape& s, uint64_t line) {
  return quantity_of(s, line) * tpch_shape::retail_price(part_of_line(s, line));
}
std::int64_t discount_of(const tpch_shape& s, uint64_t line) {
  return static_cast<std::int64_t>(s.draw(line_discount, line, 11));
}
std::int64_t tax_of(const tpch_shape& s, uint64_t line) { return static_cast<std::int64_t>(s.draw(line_tax, line, 9)); }

/// Returns the sum over its lines of price * (1 + tax) * (1 - discount), each rounded.
std::int64_t total_price(const tpch_shape& s, uint64_t order) {
  std::int64_t total = 0;
  for (uint64_t line = s.first_line[order]; line < s.first_line[order + 1]; ++line) {
    total += extended_price(s, line) * (100 + tax_of(s, line)) * (100 - discount_of(s, line)) / 10'000;
  }
  return total;
}

std::string order_status(const tpch_shape& s, uint64_t order) {
  uint64_t open = 0;
  for (uint64_t line = s.first_line[order]; line < s.first_line[order + 1]; ++line) open += is_open(s, line) ? 1 : 0;
  return open == 0 ? "F" : open == s.first_line[order + 1] - s.first_line[order] ? "O" : "P";
}

row_source orders_source(const shape_ptr& held) {
  return [held](uint64_t first, uint64_t n) {
    const tpch_shape& s = *held;
    return table_of(
        {{"o_orderkey", number_column<arrow::Int64Type>(first, n, order_key)},
         {"o_custkey", number_column<arrow::Int64Type>(first, n, [&](uint64_t i) { return customer_of(s, i); })},
         {"o_orderstatus", text_column(first, n, [&](uint64_t i) { return order_status(s, i); })},
         {"o_totalprice", money_column(first, n, [&](uint64_t i) { return total_price(s, i); })},
         {"o_orderdate", number_column<arrow::Date32Type>(first, n, [&](uint64_t i) { return date_of_order(s, i); })},
         {"o_orderpriority",
          text_column(first, n, [&](uint64_t i) { return s.pick(order_priority, i, tpch_words::priorities); })},
         {"o_clerk", text_column(first, n,
                                 [&](uint64_t i) {
                                   const uint64_t clerks = std::max<uint64_t>(s.suppliers / 10, 1);
                                   return fmt::format("Clerk#{:09}", 1 + s.draw(order_clerk, i, clerks));
                                 })},
         {"o_shippriority", number_column<arrow::Int32Type>(first, n, [](uint64_t) { return 0; })},
         {"o_comment", text_column(first, n, [&](uint64_t i) { return s.comment(order_comment, i, 19, 78); })}});
  };
}

row_source lineitem_source(const shape_ptr& held) {
  return [held](uint64_t first, uint64_t n) {
    const tpch_shape& s = *held;
    const auto key = [&](const auto& of) { return number_column<arrow::Int64Type>(first, n, of); };
    const auto date = [&](std::int32_t (*of)(const tpch_shape&, uint64_t)) {
      return number_column<arrow::Date32Type>(first, n, [&](uint64_t i) { return of(s, i); });
    };
    return table_of(
        {{"l_orderkey", key([&](uint64_t i) { return order_key(s.order_of_line[i]); })},
         {"l_partkey", key([&](uint64_t i) { return part_of_line(s, i); })},
         {"l_suppkey", key([&](uint64_t i) {
            return s.supplier_of(part_of_line(s, i), s.draw(line_supplier, i, suppliers_of_part));
          })},
         {"l_linenumber", number_column<arrow::Int32Type>(
                              first, n, [&](uint64_t i) { return i - s.first_line[s.order_of_line[i]] + 1; })},
         {"l_quantity", money_column(first, n, [&](uint64_t i) { return 100 * quantity_of(s, i); })},
         {"l_extendedprice", money_column(first, n, [&](uint64_t i) { return extended_price(s, i); })},
         {"l_discount", money_column(first, n, [&](uint64_t i) { return discount_of(s, i); })},
         {"l_tax", money_column(first, n, [&](uint64_t i) { return tax_of(s, i); })},
         {"l_returnflag", text_column(first, n,
                                      [&](uint64_t i) -> std::string {
                                        if (receipt_date(s, i) > current_day) return "N";
                                        return s.draw(line_return, i, 2) == 0 ? "R" : "A";
                                      })},
         {"l_linestatus", text_column(first, n, [&](uint64_t i) -> std::string { return is_open(s, i) ? "O" : "F"; })},
         {"l_shipdate", date(ship_date)},
         {"l_commitdate", date(commit_date)},
         {"l_receiptdate", date(receipt_date)},
         {"l_shipinstruct",
          text_column(first, n, [&](uint64_t i) { return s.pick(line_instruction, i, tpch_words::instructions); })},
         {"l_shipmode", text_column(first, n, [&](uint64_t i) { return s.pick(line_mode, i, tpch_words::modes); })},
         {"l_comment", text_column(first, n, [&](uint64_t i) { return s.comment(line_comment, i, 10, 43); })}});
  };
}

// ---- customers and suppliers ------------------------------------------------------------------------------------

/// Row i has the key i + 1.
row_source customer_source(const shape_ptr& held) {
  return [held](uint64_t first, uint64_t n) {
    const tpch_shape& s = *held;
    const auto nation = [&](uint64_t i) { return s.draw(customer_nation, i, tpch_words::nations.size()); };
    return table_of(
        {{"c_custkey", number_column<arrow::Int64Type>(first, n, [](uint64_t i) { return i + 1; })},
         {"c_name", text_column(first, n, [](uint64_t i) { return fmt::format("Customer#{:09}", i + 1); })},
         {"c_address", text_column(first, n, [&](uint64_t i) { return s.address(customer_address, i); })},
         {"c_nationkey", number_column<arrow::Int64Type>(first, n, nation)},
         {"c_phone", text_column(first, n, [&](uint64_t i) { return s.phone(customer_phone, i, nation(i)); })},
         {"c_acctbal", money_column(first, n, [&](uint64_t i) { return s.balance(customer_balance, i); })},
         {"c_mktsegment",
          text_column(first, n, [&](uint64_t i) { return s.pick(customer_segment, i, tpch_words::segments); })},
         {"c_comment", text_column(first, n, [&](uint64_t i) { return s.comment(customer_comment, i, 29, 116); })}});
  };
}

/// One supplier in 128 has complaints and one recommendations. dbgen uses one in 2,000, which leaves none in small
/// tables.
std::string comment_of_supplier(const tpch_shape& s, uint64_t i) {
  std::string text = s.comment(supplier_comment, i, 50, 100);
  if (i % 128 == 7) text.replace(12, 26, "Customer slyly  Complaints");
  if (i % 128 == 71) text.replace(12, 26, "Customer even   Recommends");
  return text;
}

row_source supplier_source(const shape_ptr& held) {
  return [held](uint64_t first, uint64_t n) {
    const tpch_shape& s = *held;
    const auto nation = [&](uint64_t i) { return s.draw(supplier_nation, i, tpch_words::nations.size()); };
    return table_of(
        {{"s_suppkey", number_column<arrow::Int64Type>(first, n, [](uint64_t i) { return i + 1; })},
         {"s_name", text_column(first, n, [](uint64_t i) { return fmt::format("Supplier#{:09}", i + 1); })},
         {"s_address", text_column(first, n, [&](uint64_t i) { return s.address(supplier_address, i); })},
         {"s_nationkey", number_column<arrow::Int64Type>(first, n, nation)},
         {"s_phone", text_column(first, n, [&](uint64_t i) { return s.phone(supplier_phone, i, nation(i)); })},
         {"s_acctbal", money_column(first, n, [&](uint64_t i) { return s.balance(supplier_balance, i); })},
         {"s_comment", text_column(first, n, [&](uint64_t i) { return comment_of_supplier(s, i); })}});
  };
}

// ---- parts and their suppliers -----------------------------------------------------------------------------------

/// Returns five different words (4.2.3).
std::string name_of_part(const tpch_shape& s, uint64_t i) {
  constexpr uint64_t words = tpch_words::colours.size();
  const permutation order(words, s.draw(part_name, i, ~uint64_t{0}));
  std::string text;
  for (uint64_t word = 0; word < 5; ++word) {
    if (word > 0) text += ' ';
    text += tpch_words::colours[order(word)];
  }
  return text;
}

row_source part_source(const shape_ptr& held) {
  return [held](uint64_t first, uint64_t n) {
    const tpch_shape& s = *held;
    const auto brand = [&](uint64_t i) { return s.draw(part_maker, i, 25); };
    const auto type = [&](uint64_t i) {
      using namespace tpch_words;
      const uint64_t what = s.draw(part_type, i, type_sizes.size() * type_finishes.size() * type_metals.size());
      return fmt::format("{} {} {}", type_sizes[what / 25], type_finishes[what / 5 % 5], type_metals[what % 5]);
    };
    const auto container = [&](uint64_t i) {
      using namespace tpch_words;
      const uint64_t what = s.draw(part_container, i, container_sizes.size() * container_kinds.size());
      return fmt::format("{} {}", container_sizes[what / 8], container_kinds[what % 8]);
    };
    return table_of(
        {{"p_partkey", number_column<arrow::Int64Type>(first, n, [](uint64_t i) { return i + 1; })},
         {"p_name", text_column(first, n, [&](uint64_t i) { return name_of_part(s, i); })},
         {"p_mfgr",
          text_column(first, n, [&](uint64_t i) { return fmt::format("Manufacturer#{}", brand(i) / 5 + 1); })},
         {"p_brand",
          text_column(first, n,
                      [&](uint64_t i) { return fmt::format("Brand#{}{}", brand(i) / 5 + 1, brand(i) % 5 + 1); })},
         {"p_type", text_column(first, n, type)},
         {"p_size",
          number_column<arrow::Int32Type>(first, n, [&](uint64_t i) { return 1 + s.draw(part_size, i, 50); })},
         {"p_container", text_column(first, n, container)},
         {"p_retailprice", money_column(first, n, [](uint64_t i) { return tpch_shape::retail_price(i + 1); })},
         {"p_comment", text_column(first, n, [&](uint64_t i) { return s.comment(part_comment, i, 5, 22); })}});
  };
}

row_source partsupp_source(const shape_ptr& held) {
  return [held](uint64_t first, uint64_t n) {
    const tpch_shape& s = *held;
    const auto part = [](uint64_t i) { return i / suppliers_of_part + 1; };
    return table_of(
        {{"ps_partkey", number_column<arrow::Int64Type>(first, n, part)},
         {"ps_suppkey", number_column<arrow::Int64Type>(
                            first, n, [&](uint64_t i) { return s.supplier_of(part(i), i % suppliers_of_part); })},
         {"ps_availqty",
          number_column<arrow::Int32Type>(first, n, [&](uint64_t i) { return 1 + s.draw(offer_quantity, i, 9'999); })},
         {"ps_supplycost", money_column(first, n, [&](uint64_t i) { return 100 + s.draw(offer_cost, i, 99'901); })},
         {"ps_comment", text_column(first, n, [&](uint64_t i) { return s.comment(offer_comment, i, 49, 198); })}});
  };
}

// ---- nations and regions ----------------------------------------------------------------------------------------

row_source nation_source(const shape_ptr& held) {
  return [held](uint64_t first, uint64_t n) {
    using tpch_words::nations;
    return table_of(
        {{"n_nationkey", number_column<arrow::Int64Type>(first, n, [](uint64_t i) { return i; })},
         {"n_name", text_column(first, n, [](uint64_t i) { return std::string(nations[i].name); })},
         {"n_regionkey", number_column<arrow::Int64Type>(first, n, [](uint64_t i) { return nations[i].region; })},
         {"n_comment", text_column(first, n, [&](uint64_t i) { return held->comment(place_comment, i, 31, 114); })}});
  };
}

row_source region_source(const shape_ptr& held) {
  return [held](uint64_t first, uint64_t n) {
    return table_of({{"r_regionkey", number_column<arrow::Int64Type>(first, n, [](uint64_t i) { return i; })},
                     {"r_name", text_column(first, n, [](uint64_t i) { return std::string(tpch_words::regions[i]); })},
                     {"r_comment", text_column(first, n, [&](uint64_t i) {
                        return held->comment(place_comment, 100 + i, 31, 115);
                      })}});
  };
}

}  // namespace

std::vector<tpch_table> tpch_tables(uint64_t lineitem_rows, uint64_t seed) {
  const auto held = std::make_shared<const tpch_shape>(lineitem_rows, seed);
  return {{"region", tpch_words::regions.size(), region_source(held)},
          {"nation", tpch_words::nations.size(), nation_source(held)},
          {"supplier", held->suppliers, supplier_source(held)},
          {"part", held->parts, part_source(held)},
          {"partsupp", suppliers_of_part * held->parts, partsupp_source(held)},
          {"customer", held->customers, customer_source(held)},
          {"orders", held->orders(), orders_source(held)},
          {"lineitem", lineitem_rows, lineitem_source(held)}};
}

}  // namespace espalier::bench
