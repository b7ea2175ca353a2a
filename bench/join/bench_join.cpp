// bench_join.cpp - whole answers of as-of joins: row numbers and two gathered columns, next to polars, pandas and
// DuckDB in the same run.
//
// usage: bench_join PYTHON PEERS_SCRIPT FOLDER [REPEAT]
//
// Trades (left) and quotes (right) have timestamps in nanoseconds with bursts and ties; symbols by a zipf distribution.
// FOLDER gets the columns for the peers, which run as a child process. A time is the median of REPEAT runs (7), with
// two threads; CPU time is that of all threads, and of use where other programs run on the machine. Answers of Espalier
// are allocated within the time. With groups the time includes the group codes of both sides (of the left side, for a
// prepared right side). Checksums must agree: of the gathered values, and for DuckDB, which takes any row of equal
// timestamps, of the matched timestamps.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "espalier/join/asof_join.hpp"
#include "espalier/join/gather.hpp"
#include "espalier/join/group_encoder.hpp"
#include "espalier/join/prepared_side.hpp"
#include "espalier/join/window_join.hpp"

namespace {

using namespace espalier;

struct table {
  std::vector<std::int64_t> ts;
  std::vector<std::int32_t> sym;
  std::vector<double> bid;
  std::vector<std::int64_t> size;
};

/// Sorted rows over `span` nanoseconds: a gap of 0 for one row in eight, short gaps in bursts.
table make_table(std::size_t rows, bool grouped, std::int64_t span, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  table out;
  std::vector<double> gaps(rows);
  double total = 0;
  for (double& gap : gaps) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    gap = random() % 8 == 0 ? 0 : -std::log(1 - u) * (random() % 4 == 0 ? 10 : 1);
    total += gap;
  }
  double at = 0;
  for (const double gap : gaps) {
    at += gap;
    out.ts.push_back(static_cast<std::int64_t>(at / total * static_cast<double>(span)));
  }
  std::vector<double> zipf(500);
  double sum = 0;
  for (std::size_t g = 0; g < zipf.size(); ++g) zipf[g] = sum += 1.0 / static_cast<double>(g + 1);
  for (std::size_t i = 0; i < rows; ++i) {
    if (grouped) {
      const double u = static_cast<double>(random() >> 11) * 0x1p-53 * sum;
      out.sym.push_back(static_cast<std::int32_t>(std::upper_bound(zipf.begin(), zipf.end(), u) - zipf.begin()));
    }
    out.bid.push_back(static_cast<double>(random() % 100'000));  // sums are exact in double
    out.size.push_back(static_cast<std::int64_t>(random() % 1'000));
  }
  return out;
}

table shuffled(const table& in, std::uint64_t seed) {
  std::vector<std::size_t> order(in.ts.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  table out;
  for (const std::size_t i : order) {
    out.ts.push_back(in.ts[i]);
    if (!in.sym.empty()) out.sym.push_back(in.sym[i]);
    out.bid.push_back(in.bid[i]);
    out.size.push_back(in.size[i]);
  }
  return out;
}

table last_rows(const table& in, std::size_t rows) {
  const auto tail = [rows](const auto& column) {
    using vector = std::remove_cvref_t<decltype(column)>;
    return column.empty() ? vector{} : vector(column.end() - static_cast<std::ptrdiff_t>(rows), column.end());
  };
  return {tail(in.ts), tail(in.sym), tail(in.bid), tail(in.size)};
}

template <class T>
void write_column(const std::string& path, const std::vector<T>& column) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(column.data()), static_cast<std::streamsize>(column.size() * sizeof(T)));
}

/// Wall time, and CPU time of all threads, which other programs on the machine disturb less.
class stopwatch {
 public:
  void run(int repeat, const std::function<void()>& work) {
    for (int i = 0; i < repeat; ++i) {
      const double start = now(CLOCK_MONOTONIC), cpu_start = now(CLOCK_PROCESS_CPUTIME_ID);
      work();
      wall_.push_back(now(CLOCK_MONOTONIC) - start);
      cpu_.push_back(now(CLOCK_PROCESS_CPUTIME_ID) - cpu_start);
    }
  }
  [[nodiscard]] double wall_ms() const { return median(wall_); }
  [[nodiscard]] double cpu_ms() const { return median(cpu_); }

 private:
  static double now(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
  }
  static double median(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
  std::vector<double> wall_, cpu_;
};

struct figure {
  std::string name;
  double wall_ms, cpu_ms;
};

struct whole_answer {
  buffer<row_number> rows;
  buffer<double> bid;
  buffer<std::int64_t> size;
  buffer<std::uint8_t> validity;

  whole_answer(const device& dev, std::size_t n)
      : rows(dev, n), bid(dev, n), size(dev, n), validity(dev, (n + 7) / 8) {}
  void gather(const table& right, const device& dev) {
    gather_column(right.bid, rows.span(), bid.span(), validity.span(), dev);
    gather_column(right.size, rows.span(), size.span(), {}, dev);
  }
  /// Of the matched timestamps: the same for any choice among equal ones.
  [[nodiscard]] double key_checksum(const table& right) const {
    double sum = 0;
    for (const row_number row : rows.span()) sum += row == no_row ? 0 : static_cast<double>(right.ts[row] % 1'000'003);
    return sum;
  }
  [[nodiscard]] double checksum() const {
    double sum = 0;
    for (const double x : bid.span()) sum += x;
    for (const std::int64_t x : size.span()) sum += static_cast<double>(x);
    return sum;
  }
};

struct scenario {
  std::string name;
  table left, right;
  bool is_sorted;
};

/// The answer without preparation.
void answer_once(const scenario& job, const device& dev, whole_answer& answer) {
  const std::size_t n = job.left.ts.size(), m = job.right.ts.size();
  join_side left{.on = job.left.ts}, right{.on = job.right.ts};
  const bool grouped = !job.left.sym.empty();
  const buffer<std::uint32_t> left_codes(dev, grouped ? n : 0), right_codes(dev, grouped ? m : 0);
  if (grouped) {
    group_encoder encoder(dev);
    encoder.encode({{job.right.sym}}, right_codes.span());
    encoder.lookup({{job.left.sym}}, left_codes.span());
    left.by = left_codes.span();
    right.by = right_codes.span();
    left.groups = right.groups = encoder.groups();
  }
  asof_join(left, right, answer.rows.span(), {}, dev);
  answer.gather(job.right, dev);
}

/// The answer from a prepared side and the encoder of its groups.
void answer_prepared(const scenario& job, const device& dev, const prepared_side& right, const group_encoder& encoder,
                     whole_answer& answer) {
  join_side left{.on = job.left.ts};
  const buffer<std::uint32_t> codes(dev, job.left.sym.size());
  if (!job.left.sym.empty()) {
    encoder.lookup({{job.left.sym}}, codes.span());
    left.by = codes.span();
    left.groups = encoder.groups();
  }
  right.asof_join(left, answer.rows.span());
  answer.gather(job.right, dev);
}

void write_tables(const scenario& job, const std::string& folder) {
  for (const auto& [side, t] : {std::pair("left", &job.left), std::pair("right", &job.right)}) {
    const std::string start_of_path = folder + "/" + side + "_";
    write_column(start_of_path + "ts", t->ts);
    write_column(start_of_path + "sym", t->sym);
    write_column(start_of_path + "bid", t->bid);
    write_column(start_of_path + "size", t->size);
  }
}

/// Figures of the peers. Sets `agree` to false unless all three have answered, with the expected checksums.
std::vector<figure> run_peers(const std::string& command, double checksum, double key_checksum, bool& agree) {
  std::vector<figure> peers;
  if (FILE* child = popen(command.c_str(), "r")) {
    char line[1024];
    while (std::fgets(line, sizeof(line), child) != nullptr) {
      const std::string text = line;
      const auto number = [&](const char* key) {
        return std::strtod(text.c_str() + text.find(key) + std::strlen(key), nullptr);
      };
      const std::size_t name = text.find("\"peer\": \"") + 9;
      peers.push_back({text.substr(name, text.find('"', name) - name), number("\"ms\": "), number("\"cpu_ms\": ")});
      agree &= number("\"checksum\": ") == (peers.back().name == "duckdb" ? key_checksum : checksum);
    }
    pclose(child);
  }
  agree &= peers.size() == 3;
  return peers;
}

void measure(const scenario& job, const std::string& python, const std::string& script, const std::string& folder,
             int repeat) {
  const device dev = device::cpu(2);
  const bool grouped = !job.left.sym.empty();
  const std::size_t n = job.left.ts.size();
  group_encoder encoder(dev);
  const buffer<std::uint32_t> codes(dev, job.right.sym.size());
  join_side right{.on = job.right.ts};
  if (grouped) {
    encoder.encode({{job.right.sym}}, codes.span());
    right.by = codes.span();
    right.groups = encoder.groups();
  }
  stopwatch once, prepare, prepared;
  std::optional<prepared_side> side;
  prepare.run(1, [&] { side.emplace(prepared_side::build(right, dev)); });

  whole_answer first(dev, n), second(dev, n);
  answer_once(job, dev, first);
  answer_prepared(job, dev, *side, encoder, second);
  bool agree = first.checksum() == second.checksum();
  // Before and after the peers: the load of the machine may change.
  const auto run_ours = [&] {
    once.run((repeat + 1) / 2, [&] {
      whole_answer answer(dev, n);
      answer_once(job, dev, answer);
    });
    prepared.run((repeat + 1) / 2, [&] {
      whole_answer answer(dev, n);
      answer_prepared(job, dev, *side, encoder, answer);
    });
  };
  run_ours();
  write_tables(job, folder);
  const std::vector<figure> peers =
      run_peers("'" + python + "' '" + script + "' '" + folder + "' " + (grouped ? "1 " : "0 ") +
                    (job.is_sorted ? "1 " : "0 ") + std::to_string(repeat) + " 2",
                first.checksum(), first.key_checksum(job.right), agree);
  run_ours();

  std::printf("%s, checksums %s, prepared side %.1f MB\n", job.name.c_str(), agree ? "agree" : "DIFFER",
              static_cast<double>(side->bytes()) / 1e6);
  std::vector<figure> all{{"espalier", once.wall_ms(), once.cpu_ms()},
                          {"prepared", prepared.wall_ms(), prepared.cpu_ms()},
                          {"(prepare)", prepare.wall_ms(), prepare.cpu_ms()}};
  all.insert(all.end(), peers.begin(), peers.end());
  for (const figure& f : all) {
    std::printf("  %-10s wall %8.1f ms (espalier x %6.2f, prepared x %6.2f)  cpu %8.1f ms (x %6.2f, x %6.2f)\n",
                f.name.c_str(), f.wall_ms, f.wall_ms / once.wall_ms(), f.wall_ms / prepared.wall_ms(), f.cpu_ms,
                f.cpu_ms / once.cpu_ms(), f.cpu_ms / prepared.cpu_ms());
  }
  std::fflush(stdout);
}

/// count, sum, min, max and avg of 1,000 rows per window. No peer is measured.
void measure_windows(int repeat) {
  const device dev = device::cpu(2);
  const std::size_t n = std::size_t{1} << 20, m = std::size_t{1} << 22;
  const std::int64_t span = std::int64_t{1} << 40;
  const table left = make_table(n, false, span, 1), right = make_table(m, false, span, 2);
  const std::int64_t length = span / static_cast<std::int64_t>(m) * 1'000;
  const column_view column(right.size);
  double rows = 0;
  stopwatch watch;
  watch.run(repeat, [&] {
    const buffer<std::uint64_t> counts(dev, n);
    const buffer<std::int64_t> sums(dev, n), least(dev, n), most(dev, n);
    const buffer<double> averages(dev, n);
    using enum window_function;
    const std::vector<window_output> outputs{{count, 0, counts.span()},
                                             {sum, 0, sums.span()},
                                             {min, 0, least.span()},
                                             {max, 0, most.span()},
                                             {avg, 0, averages.span()}};
    window_join({.on = left.ts}, {.on = right.ts}, {&column, 1}, {.preceding = length, .following = 0}, outputs, dev);
    rows = static_cast<double>(std::accumulate(counts.span().begin(), counts.span().end(), std::uint64_t{0}));
  });
  std::printf("window 2^20 x 2^22, %.0f rows per window, prepared within the time: wall %.1f ms, cpu %.1f ms\n",
              rows / static_cast<double>(n), watch.wall_ms(), watch.cpu_ms());
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::cerr << "usage: bench_join PYTHON PEERS_SCRIPT FOLDER [REPEAT]\n";
    return 2;
  }
  const int repeat = count > 4 ? std::atoi(arguments[4]) : 7;
  const auto run = [&](const scenario& job) { measure(job, arguments[1], arguments[2], arguments[3], repeat); };
  const std::int64_t span = std::int64_t{1} << 44;
  const std::size_t n = std::size_t{1} << 20;
  for (const bool grouped : {false, true}) {
    for (const unsigned right_bits : {20u, 23u}) {
      run({"2^20 x 2^" + std::to_string(right_bits) + (grouped ? ", 500 groups" : ", no groups"),
           make_table(n, grouped, span, 1), make_table(std::size_t{1} << right_bits, grouped, span, 2), true});
    }
  }
  run({"2^20 x 2^20, random order, no groups", shuffled(make_table(n, false, span, 1), 3),
       shuffled(make_table(n, false, span, 2), 4), false});
  run({"last 1 % of 2^20 x 2^23, 500 groups", last_rows(make_table(n, true, span, 1), n / 100),
       make_table(n * 8, true, span, 2), true});
  measure_windows(repeat);
}
