// hb_figures.cpp - see hb_figures.hpp.
#include "bench/papers/hb_plus_tree/hb_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/harness/event_counter.hpp"
#include "bench/papers/hb_plus_tree/software_pipeline.hpp"

namespace espalier::bench {
namespace {

/// Returns the powers of two from 2^first to 2^last.
std::vector<std::uint64_t> doublings(unsigned first, unsigned last, unsigned step = 1) {
  std::vector<std::uint64_t> list;
  for (unsigned e = first; e <= last; e += step) list.push_back(std::uint64_t{1} << e);
  return list;
}

const char* processor_of(const row& r) {
  if (r.hybrid->ran == "host-alone") return "CPU";
  return r.device == "gpu" ? "CPU and GPU" : "CPU and stand-in";
}
std::string layout_and_processor(const row& r) { return fmt::format("{}, {}", r.hybrid->layout, processor_of(r)); }
/// The tree's own choice is a separate curve, since it may be the CPU alone.
std::string layout_and_choice(const row& r) {
  return r.hybrid->placement == "automatic" ? r.hybrid->layout + ", automatic" : layout_and_processor(r);
}
std::string no_more(const row&) { return ""; }

class hb_figure_maker {
 public:
  hb_figure_maker(const options& base, std::uint64_t most_keys, const std::vector<device_choice>& devices)
      : base_(base), most_keys_(most_keys), best_(devices.back()) {}

  [[nodiscard]] std::vector<hb_figure> all() const {
    return {page_configurations(), node_searches(),  binary_search(), queue_depths(), bucket_sizes(), distributions(),
            update_sizes(),        update_batches(), rebuilds(),      throughput(),   ranges(),       balances(),
            software_pipelines()};
  }

 private:
  // ---- what runs share ------------------------------------------------------------------------------------------

  /// Returns the sizes that are not too large, or the largest allowed one if there are none.
  [[nodiscard]] std::vector<std::uint64_t> fitting(std::vector<std::uint64_t> list) const {
    std::erase_if(list, [&](std::uint64_t n) { return n > most_keys_; });
    if (list.empty()) list.push_back(most_keys_);
    return list;
  }
  /// The sizes of the paper's trees are 2^23 to 2^30.
  [[nodiscard]] std::vector<std::uint64_t> sizes() const { return fitting(doublings(23, 30)); }
  [[nodiscard]] std::vector<std::uint64_t> one_size(unsigned exponent) const {
    return {std::min(std::uint64_t{1} << exponent, most_keys_)};
  }
  /// Enough for hundreds of buckets of the default size, but small trees should not take as long as large ones.
  [[nodiscard]] std::uint64_t queries() const {
    return std::clamp<std::uint64_t>(most_keys_, std::uint64_t{1} << 12, std::uint64_t{1} << 25);
  }

  [[nodiscard]] options plain(index_kind index, device_choice dev, operation op, std::vector<std::uint64_t> keys,
                              scalar_kind key = scalar_kind::u64) const {
    options o = base_;
    o.index = index;
    o.dev = dev;
    o.operations = {op};
    o.keys = std::move(keys);
    o.queries = {queries()};
    o.key_types = {key};
    o.distributions = {distribution::uniform};
    o.peers.clear();
    o.peers_named = false;
    return o;
  }
  [[nodiscard]] options hybrid(operation op, std::vector<std::uint64_t> keys,
                               std::vector<hybrid_placement> placements = {hybrid_placement::shared}) const {
    options o = plain(index_kind::hybrid, best_, op, std::move(keys));
    o.hybrid = {};
    o.hybrid.layouts = {hybrid_layout::implicit, hybrid_layout::regular};
    o.hybrid.placements = std::move(placements);
    o.hybrid.queue_depths = {2};
    o.hybrid.buckets = {std::uint64_t{1} << 20};  // near the best of figure 11
    o.hybrid.balances = {balancing::tuned};
    o.hybrid.pages = {page_configuration::huge};
    o.hybrid.ways = {update_mode::automatic};
    o.hybrid.requests = {request_order::uniform};
    return o;
  }
  /// The same tree without a copy of its inner levels on the device, which is the paper's CPU-optimised tree.
  [[nodiscard]] static options without_device(options o) {
    o.hybrid.gpu_memory = 0;
    return o;
  }

  // ---- figures 7 to 9: on the CPU -------------------------------------------------------------------------------

  [[nodiscard]] hb_figure page_configurations() const {
    options all = hybrid(operation::find, fitting(doublings(23, 27)), {hybrid_placement::host_alone});
    all.dev = device_choice::cpu;
    all.hybrid.pages = {page_configuration::small, page_configuration::huge_inner, page_configuration::huge};
    options one = all;
    one.threads = {1};
    hb_figure f{
        7,
        "Figure 7: pages of inner levels and leaves",
        "(a) TLB misses, (b) throughput with pages of 4 KB for both, of 1 GB for inner nodes, of 1 GB for both: the "
        "last is best.",
        "Huge pages are of 2 MB, as far as the system gives them: the results tell which share. ",
        {},
        {},
        [](const row& r) { return fmt::format("{}, {}", r.hybrid->layout, r.hybrid->pages); }};
    const std::string title = "Figure 7(b): throughput by pages of inner levels and leaves";
    if (const event_counter misses(tlb_load_misses); misses.is_counting()) {
      f.ours += "TLB misses are of one thread, as in the paper.";
      f.panels = {
          {"a", "Figure 7(a): TLB misses by pages of inner levels and leaves", hb_axis::keys, hb_value::tlb_misses},
          {"b", title, hb_axis::keys, hb_value::rate}};
      f.runs = {{std::move(one), ""}, {std::move(all), "", {1}}};
    } else {
      f.ours += fmt::format("(b) alone: TLB misses are not counted here ({}).", misses.why_not());
      f.panels = {{"b", title, hb_axis::keys, hb_value::rate}};
      f.runs = {{std::move(all), ""}};
    }
    return f;
  }
  [[nodiscard]] hb_figure node_searches() const {
    hb_figure f{
        8,
        "Figure 8: ways to search a node",
        "sequential, linear SIMD and hierarchical SIMD with software pipelining, and sequential without, on "
        "four cores with AVX2: hierarchical is best, linear close; both lose their lead as trees grow. Software "
        "pipelining is worth 108 to 152 %.",
        "The implicit layout alone, which is a static tree; software pipelines of 128 queries.",
        {{"", "Figure 8: ways to search a node", hb_axis::keys, hb_value::rate}},
        {},
        no_more};
    for (const auto& way : node_search_names) {
      options o = plain(index_kind::static_tree, device_choice::cpu, operation::find, fitting(doublings(23, 27)));
      o.search = way.value;
      f.runs.push_back({std::move(o), std::string(way.name)});
    }
    f.runs.push_back({f.runs.front().what, "sequential, no software pipeline", {0}, run_without_software_pipeline});
    return f;
  }
  [[nodiscard]] hb_figure binary_search() const {
    options o = plain(index_kind::static_tree, device_choice::cpu, operation::find, fitting(doublings(23, 27)));
    o.peers = {"lower-bound"};
    return {9,
            "Figure 9: beside another search-only structure",
            "the implicit tree is 1.3 times as fast as FAST on average.",
            "FAST is not here. Beside the implicit layout stands binary search in a sorted array, in as many threads.",
            {{"", "Figure 9: beside another search-only structure", hb_axis::keys, hb_value::rate}},
            {{std::move(o), "implicit"}},
            no_more};
  }

  // ---- figures 10 to 12: the pipeline ---------------------------------------------------------------------------

  [[nodiscard]] hb_figure queue_depths() const {
    options o = hybrid(operation::find, sizes());
    o.hybrid.queue_depths = {0, 1, 2};
    return {10,
            "Figure 10: how buckets are handled",
            "pipelining is 56 % (implicit) and 20 % (regular) above sequential, double buffering 110 %.",
            fmt::format("Buckets of {} queries.", size_text(o.hybrid.buckets.front())),
            {{"", "Figure 10: how buckets are handled", hb_axis::keys, hb_value::rate}},
            {{std::move(o), ""}},
            [](const row& r) { return fmt::format("{}, {}", r.hybrid->layout, r.hybrid->handling); }};
  }
  [[nodiscard]] hb_figure bucket_sizes() const {
    const auto buckets = doublings(13, 20);
    options many = hybrid(operation::find, one_size(26));
    many.hybrid.buckets = buckets;
    hb_figure f{11,
                "Figure 11: size of the buckets",
                "8 K to 64 K: throughput grows, latency more (2.7 times at 64 K); 16 K is taken.",
                "Larger ones, too. Latency is the time of a call with one bucket.",
                {{"a", "Figure 11(a): throughput by size of the buckets", hb_axis::bucket, hb_value::rate},
                 {"b", "Figure 11(b): latency by size of the buckets", hb_axis::bucket, hb_value::seconds}},
                {{std::move(many), ""}},
                layout_and_processor};
    for (const auto bucket : buckets) {
      options one = hybrid(operation::find, one_size(26));
      one.hybrid.buckets = {bucket};
      one.queries = {bucket};
      f.runs.push_back({std::move(one), "", {1}});
    }
    return f;
  }
  [[nodiscard]] hb_figure distributions() const {
    options o = hybrid(operation::find, one_size(27), {hybrid_placement::shared, hybrid_placement::host_alone});
    o.hybrid.requests = {request_order::uniform, request_order::normal, request_order::gamma, request_order::zipf};
    return {12,
            "Figure 12: distributions of queries",
            "throughput beside that of uniform queries: within 1.1 for normal and gamma, up to 2.2 for zipf.",
            "Its zipf has an exponent of 2, ours of 0.99 (YCSB), with the frequent keys anywhere in the key range.",
            {{"", "Figure 12: distributions of queries", hb_axis::requests, hb_value::share_of_uniform}},
            {{std::move(o), ""}},
            layout_and_processor};
  }

  // ---- figures 13 to 15: updates --------------------------------------------------------------------------------

  /// Updates insert new keys, since those change inner levels. The tree is rebuilt for each run, so there is one run.
  [[nodiscard]] options updates(std::vector<std::uint64_t> keys, std::vector<std::uint64_t> batches,
                                update_mode way) const {
    options o = hybrid(operation::insert, std::move(keys));
    o.hybrid.layouts = {hybrid_layout::regular};
    o.hybrid.ways = {way};
    o.queries = std::move(batches);
    o.write_repeat = 1;
    return o;
  }
  [[nodiscard]] hb_figure update_sizes() const {
    const auto keys = fitting(doublings(23, 26));
    const options all = updates(keys, one_size(20), update_mode::asynchronous);
    options one = without_device(all);
    one.threads = {1};
    return {
        13,
        "Figure 13: updates of the regular tree",
        "(a) asynchronous updates without the transfer of inner nodes, by one and by many threads (3 times as fast), "
        "and synchronised ones; (b) time of the transfer.",
        "Batches of up to 2^20 new keys.",
        {{"a", "Figure 13(a): updates of the regular tree", hb_axis::keys, hb_value::rate},
         {"b", "Figure 13(b): transfer of inner levels", hb_axis::keys, hb_value::send_seconds}},
        {{all, "asynchronous, inner levels sent", {0, 1}},
         {without_device(all), "asynchronous, no device"},
         {std::move(one), "asynchronous, one thread, no device"},
         {updates(keys, one_size(20), update_mode::synchronised), "synchronised"}},
        no_more};
  }
  [[nodiscard]] hb_figure update_batches() const {
    const auto batches = fitting(doublings(10, 20, 2));
    return {14,
            "Figure 14: updates by size of the batch",
            "64 M keys: up to 64 K updates the synchronised way is faster, from 128 K on the asynchronous one.",
            "The time of one call with new keys. The tree chooses between the ways itself.",
            {{"", "Figure 14: updates by size of the batch", hb_axis::batch, hb_value::seconds}},
            {{updates(one_size(26), batches, update_mode::asynchronous), "asynchronous"},
             {updates(one_size(26), batches, update_mode::synchronised), "synchronised"},
             {updates(one_size(26), batches, update_mode::automatic), "automatic"}},
            no_more};
  }
  [[nodiscard]] hb_figure rebuilds() const {
    options with = hybrid(operation::build, fitting(doublings(23, 28)));
    with.hybrid.layouts = {hybrid_layout::implicit};
    return {
        15,
        "Figure 15: rebuilding the implicit tree",
        "time for leaves, inner nodes and their transfer, which takes 3 to 7 %.",
        "(a) The whole build from sorted pairs, with the copy for the device and without one, each measured in one go: "
        "what differs between them is mostly not the copy. (b) The copy.",
        {{"a", "Figure 15(a): rebuilding the implicit tree", hb_axis::keys, hb_value::seconds},
         {"b", "Figure 15(b): sending its inner levels", hb_axis::keys, hb_value::send_seconds}},
        {{with, "with a copy for the device", {0, 1}}, {without_device(with), "no device"}},
        no_more};
  }

  // ---- figures 16 to 18: host and device compared with one ------------------------------------------------------

  [[nodiscard]] hb_figure throughput() const {
    const std::vector both{hybrid_placement::automatic, hybrid_placement::shared, hybrid_placement::host_alone};
    options wide = hybrid(operation::find, sizes(), both);
    options narrow = wide;
    narrow.key_types = {scalar_kind::u32};
    options one_bucket = hybrid(operation::find, sizes());
    one_bucket.hybrid.buckets = one_bucket.queries = {std::uint64_t{1} << 14};
    options alone = hybrid(operation::find, sizes(), {hybrid_placement::host_alone});
    alone.queries = {std::uint64_t{1} << 8};
    return {16,
            "Figure 16: both processors beside the CPU alone",
            "2.4 times (64 bits) and 2.1 times (32 bits) the throughput of the CPU-optimised tree on average, at 67 "
            "times its latency.",
            "Latency is the time of a call with 2^14 queries for both processors and with 2^8 for the CPU, as many as "
            "the paper has under way.",
            {{"a", "Figure 16(a): throughput, 64 bits", hb_axis::keys, hb_value::rate},
             {"b", "Figure 16(b): throughput, 32 bits", hb_axis::keys, hb_value::rate},
             {"c", "Figure 16(c): latency, 64 bits", hb_axis::keys, hb_value::seconds}},
            {{std::move(wide), ""},
             {std::move(narrow), "", {1}},
             {std::move(one_bucket), "", {2}},
             {std::move(alone), "", {2}}},
            layout_and_choice};
  }
  [[nodiscard]] hb_figure ranges() const {
    hb_figure f{17,
                "Figure 17: ranges",
                "1 to 32 keys of 128 M: 80 % above the CPU-optimised tree up to 8 keys, 22 % at 32.",
                "The first elements of ranges, in rows of the caller's memory (range_rows). In the regular layout the "
                "device walks to where rows begin, and the CPU lists them.",
                {{"", "Figure 17: ranges", hb_axis::range_length, hb_value::rate}},
                {},
                layout_and_choice};
    for (const auto length : doublings(0, 5)) {
      options o =
          hybrid(operation::range_rows, one_size(27), {hybrid_placement::automatic, hybrid_placement::host_alone});
      o.range_length = length;
      o.queries = {std::min(queries(), std::uint64_t{1} << 22)};
      f.runs.push_back({std::move(o), ""});
    }
    return f;
  }
  [[nodiscard]] hb_figure balances() const {
    options o = hybrid(operation::find, sizes(), {hybrid_placement::shared, hybrid_placement::host_alone});
    o.hybrid.balances = {balancing::none, balancing::tuned};
    return {
        18,
        "Figure 18: load balancing",
        "on a machine with a weak GPU the tree is 25 % slower than the CPU's without balancing, and up to 32 % "
        "(implicit) and 65 % (regular) faster with it.",
        "",
        {{"", "Figure 18: load balancing", hb_axis::keys, hb_value::rate}},
        {{std::move(o), ""}},
        [](const row& r) { return layout_and_processor(r) + (r.hybrid->balance == "none" ? ", not balanced" : ""); }};
  }

  // ---- figure 20: on the CPU again ------------------------------------------------------------------------------

  [[nodiscard]] hb_figure software_pipelines() const {
    const options o =
        plain(index_kind::static_tree, device_choice::cpu, operation::find, fitting(doublings(23, 27, 2)));
    return {20,
            "Figure 20: length of the software pipeline",
            "throughput grows up to 16 queries of a thread at once, to 2.5 times, at 6 times the latency.",
            "The implicit layout, nodes searched sequentially. A pipeline of 1 prefetches nothing. Latency: how long a "
            "thread has one filling of its pipeline under way, on average.",
            {{"a", "Figure 20(a): throughput by length of the software pipeline", hb_axis::pipeline, hb_value::rate},
             {"b", "Figure 20(b): latency by length of the software pipeline", hb_axis::pipeline,
              hb_value::pipeline_seconds}},
            {{o, "", {0, 1}, run_software_pipelines}},
            [](const row& r) { return size_text(r.keys) + " keys"; }};
  }

  const options& base_;
  std::uint64_t most_keys_;
  device_choice best_;
};

}  // namespace

std::vector<hb_figure> hb_figures(const options& base, std::uint64_t most_keys,
                                  const std::vector<device_choice>& devices) {
  return hb_figure_maker(base, most_keys, devices).all();
}

}  // namespace espalier::bench
