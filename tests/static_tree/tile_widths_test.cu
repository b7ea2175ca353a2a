// tile_widths_test.cu - teams of 1, 2, 4, 8, 16 and 32 lanes give byte for byte the answers of the library's own calls,
// whose teams have one lane. Skipped where there is no GPU.
//
// All lanes of a wide team write the same answer to the same place, which is what run.hpp is written for: uniform
// results, stored without asking which lane it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "conformance/subject.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "static_tree/cuda_executor.cuh"

namespace espalier::test {
namespace {

/// Answers by name, as bytes.
using columns = std::map<std::string, std::vector<unsigned char>>;

template <class T>
void keep(columns& answers, const std::string& name, lent<T>& from) {
  const array<T>& host = from.get();
  const auto* bytes = reinterpret_cast<const unsigned char*>(host.data());
  answers[name].assign(bytes, bytes + host.size() * sizeof(T));
}

/// One tree, what is asked of it, and memory for the answers.
template <class Word>
class questions_on_gpu {
 public:
  static constexpr unsigned value_bytes = sizeof(Word);
  using tree_type = static_tree<Word, Word>;
  using sum_type = typename tree_type::sum_type;

  questions_on_gpu(const setting& s, sample what)
      : setting_(s),
        keys_(make_keys<Word>(what.keys, what.size)),
        tree_(subject<Word, Word>::build(s, keys_, make_values<Word>(what.size), {false, aggregates::all})),
        asked_(s, make_queries(keys_, 200)),
        above_(s, shifted(asked_.get())),
        ranks_(s, some_ranks(what.size)) {}

  [[nodiscard]] columns by_the_library() {
    columns answers;
    find_and_bounds_by_library(answers);
    elements_by_library(answers);
    ranges_by_library(answers);
    aggregates_by_library(answers);
    return answers;
  }

  template <unsigned Lanes>
  [[nodiscard]] columns by_tiles() {
    columns answers;
    find_by<Lanes>(answers);
    bounds_by<Lanes>(answers);
    elements_by<Lanes>(answers);
    ranges_by<Lanes>(answers);
    aggregates_by<Lanes>(answers);
    return answers;
  }

 private:
  struct element_columns {
    lent<Word> keys, values;
    lent<std::uint8_t> found;
    element_columns(const setting& s, std::size_t n) : keys(s, n), values(s, n), found(s, n) {}
    template <class Job>
    void lend_to(Job& job) {
      job.out_keys = keys.span().data();
      job.out_values = values.span().data();
      job.found = found.span().data();
    }
    void keep_as(columns& answers, const std::string& name) {
      keep(answers, name + " key", keys);
      keep(answers, name + " value", values);
      keep(answers, name + " found", found);
    }
  };

  static array<Word> shifted(array<Word> a) {
    std::rotate(a.begin(), a.begin() + 1, a.end());
    return a;
  }
  static array<std::uint64_t> some_ranks(std::size_t size) {
    array<std::uint64_t> ranks(300);
    random_words random(size);
    for (std::uint64_t& r : ranks) r = random.below(size + size / 8 + 2);
    return ranks;
  }

  void find_and_bounds_by_library(columns& answers) {
    const std::size_t n = asked_.in().size();
    lent<Word> values(setting_, n);
    lent<std::uint8_t> found(setting_, n);
    lent<std::uint64_t> lower(setting_, n), upper(setting_, n);
    tree_.find(asked_.in(), values.span(), found.span());
    tree_.rank(asked_.in(), lower.span());
    tree_.rank(asked_.in(), upper.span(), bound_type::upper);
    keep(answers, "find value", values);
    keep(answers, "find found", found);
    keep(answers, "rank", lower);
    keep(answers, "upper rank", upper);
  }

  void elements_by_library(columns& answers) {
    const std::size_t n = asked_.in().size();
    element_columns from(setting_, n), next(setting_, n), last(setting_, n), at(setting_, ranks_.in().size());
    tree_.lower_bound(asked_.in(), from.keys.span(), from.values.span(), from.found.span());
    tree_.successor(asked_.in(), next.keys.span(), next.values.span(), next.found.span());
    tree_.predecessor(asked_.in(), last.keys.span(), last.values.span(), last.found.span());
    tree_.select(ranks_.in(), at.keys.span(), at.values.span(), at.found.span());
    from.keep_as(answers, "lower_bound");
    next.keep_as(answers, "successor");
    last.keep_as(answers, "predecessor");
    at.keep_as(answers, "select");
  }

  void ranges_by_library(columns& answers) {
    lent<std::uint64_t> counts(setting_, asked_.in().size());
    tree_.count(asked_.in(), above_.in(), counts.span());
    keep(answers, "count", counts);
    const auto ranges = tree_.range(asked_.in(), above_.in());
    lent<std::uint64_t> offsets(setting_, to_host(setting_, ranges.offsets));
    lent<Word> keys(setting_, to_host(setting_, ranges.keys)), values(setting_, to_host(setting_, ranges.values));
    keep(answers, "range offsets", offsets);
    keep(answers, "range keys", keys);
    keep(answers, "range values", values);
  }

  void aggregates_by_library(columns& answers) {
    const std::size_t n = asked_.in().size();
    lent<sum_type> sums(setting_, n);
    lent<double> means(setting_, n);
    lent<Word> least(setting_, n), most(setting_, n);
    lent<std::uint8_t> some(setting_, n), any(setting_, n);
    tree_.sum(asked_.in(), above_.in(), sums.span());
    tree_.avg(asked_.in(), above_.in(), means.span());
    tree_.min(asked_.in(), above_.in(), least.span(), some.span());
    tree_.max(asked_.in(), above_.in(), most.span(), any.span());
    keep(answers, "sum", sums);
    keep(answers, "avg", means);
    keep(answers, "min", least);
    keep(answers, "min found", some);
    keep(answers, "max", most);
    keep(answers, "max found", any);
  }

  template <unsigned Lanes, class Job>
  void launch(Job job, std::size_t n) {
    job.tree = tree_.ref().layout();
    const stream order = setting_.dev.default_stream();
    detail::cuda_executor(setting_.dev, order).template launch<tile<Lanes>>(job, n, false, node_search::linear);
    order.synchronize();
  }

  /// Elements are copied by whole warps, whatever the width of the tiles that counted them.
  void launch_fill(fill_job<Word, value_bytes> job, std::size_t n) {
    job.tree = tree_.ref().layout();
    const stream order = setting_.dev.default_stream();
    detail::cuda_executor(setting_.dev, order).launch(job, n, false, node_search::linear);
    order.synchronize();
  }

  template <unsigned Lanes>
  void find_by(columns& answers) {
    const std::size_t n = asked_.in().size();
    lent<Word> values(setting_, n);
    lent<std::uint8_t> found(setting_, n);
    find_job<Word, value_bytes> job;
    job.keys = asked_.in().data();
    job.values = values.span().data();
    job.found = found.span().data();
    launch<Lanes>(job, n);
    keep(answers, "find value", values);
    keep(answers, "find found", found);
  }

  template <unsigned Lanes>
  void bounds_by(columns& answers) {
    const std::size_t n = asked_.in().size();
    for (const bool upper : {false, true}) {
      lent<std::uint64_t> ranks(setting_, n);
      rank_job<Word, value_bytes> job;
      job.keys = asked_.in().data();
      job.upper = upper;
      job.ranks = ranks.span().data();
      launch<Lanes>(job, n);
      keep(answers, upper ? "upper rank" : "rank", ranks);
    }
  }

  template <unsigned Lanes>
  void elements_by(columns& answers) {
    const std::size_t n = asked_.in().size();
    using detail::seek_kind;
    for (const auto& [kind, name] :
         {std::pair(seek_kind::lower_bound, "lower_bound"), std::pair(seek_kind::successor, "successor"),
          std::pair(seek_kind::predecessor, "predecessor")}) {
      element_columns out(setting_, n);
      seek_job<Word, value_bytes> job;
      job.keys = asked_.in().data();
      job.kind = kind;
      out.lend_to(job);
      launch<Lanes>(job, n);
      out.keep_as(answers, name);
    }
    element_columns out(setting_, ranks_.in().size());
    select_job<Word, value_bytes> job;
    job.ranks = ranks_.in().data();
    out.lend_to(job);
    launch<Lanes>(job, ranks_.in().size());
    out.keep_as(answers, "select");
  }

  template <unsigned Lanes>
  void ranges_by(columns& answers) {
    const std::size_t n = asked_.in().size();
    lent<std::uint64_t> counts(setting_, n), starts(setting_, n);
    count_job<Word, value_bytes> counting;
    counting.lo = asked_.in().data();
    counting.hi = above_.in().data();
    counting.counts = counts.span().data();
    counting.starts = starts.span().data();
    launch<Lanes>(counting, n);
    keep(answers, "count", counts);

    array<std::uint64_t> ends(n + 1);
    for (std::size_t i = 0; i < n; ++i) ends[i + 1] = ends[i] + counts.get()[i];
    const std::uint64_t total = ends[n];
    lent<std::uint64_t> offsets(setting_, ends);
    lent<Word> keys(setting_, total), values(setting_, total);
    fill_job<Word, value_bytes> filling;
    filling.offsets = offsets.in().data();
    filling.starts = starts.in().data();
    filling.queries = n;
    filling.capacity = total;
    filling.out_keys = keys.span().data();
    filling.out_values = values.span().data();
    launch_fill(filling, total);
    keep(answers, "range offsets", offsets);
    keep(answers, "range keys", keys);
    keep(answers, "range values", values);
  }

  template <unsigned Lanes, class Out>
  void aggregate_by(columns& answers, detail::aggregate_op op, const std::string& name, bool with_mask) {
    const std::size_t n = asked_.in().size();
    lent<Out> out(setting_, n);
    lent<std::uint8_t> found(setting_, n);
    aggregate_job<Word, value_bytes> job;
    job.lo = asked_.in().data();
    job.hi = above_.in().data();
    job.op = op;
    job.out = out.span().data();
    if (with_mask) job.found = found.span().data();
    launch<Lanes>(job, n);
    keep(answers, name, out);
    if (with_mask) keep(answers, name + " found", found);
  }
  template <unsigned Lanes>
  void aggregates_by(columns& answers) {
    aggregate_by<Lanes, sum_type>(answers, detail::aggregate_op::sum, "sum", false);
    aggregate_by<Lanes, double>(answers, detail::aggregate_op::avg, "avg", false);
    aggregate_by<Lanes, Word>(answers, detail::aggregate_op::min, "min", true);
    aggregate_by<Lanes, Word>(answers, detail::aggregate_op::max, "max", true);
  }

  const setting& setting_;
  array<Word> keys_;
  tree_type tree_;
  lent<Word> asked_, above_;  // single keys, and with the next one the ends of ranges
  lent<std::uint64_t> ranks_;
};

void expect_same_columns(const columns& got, const columns& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, bytes] : want) {
    const auto found = got.find(name);
    ASSERT_NE(found, got.end()) << name;
    ASSERT_EQ(found->second.size(), bytes.size()) << name;
    const auto differ = std::mismatch(bytes.begin(), bytes.end(), found->second.begin());
    EXPECT_EQ(differ.first, bytes.end()) << name << " differs from byte " << differ.first - bytes.begin() << " on";
  }
}

class StaticTreeTileWidths : public testing::TestWithParam<const setting*> {
 protected:
  template <class Word>
  static void check(std::size_t n) {
    for (const family f :
         {family::uniform, family::clustered, family::zipf, family::all_equal, family::adversarial, family::nested}) {
      const sample what{f, n};
      questions_on_gpu<Word> questions(*GetParam(), what);
      const columns want = questions.by_the_library();
      const auto compare = [&]<unsigned Lanes>() {
        SCOPED_TRACE(what.name() + ", tiles of " + std::to_string(Lanes));
        expect_same_columns(questions.template by_tiles<Lanes>(), want);
      };
      compare.template operator()<1>();
      compare.template operator()<2>();
      compare.template operator()<4>();
      compare.template operator()<8>();
      compare.template operator()<16>();
      compare.template operator()<32>();
    }
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StaticTreeTileWidths);

TEST_P(StaticTreeTileWidths, SmallTreesOfU32AnswerTheSame) {
  for (const std::size_t n : {0, 1, 217, 2500}) check<std::uint32_t>(n);
}
TEST_P(StaticTreeTileWidths, SmallTreesOfU64AnswerTheSame) {
  for (const std::size_t n : {0, 1, 93, 2500}) check<std::uint64_t>(n);
}
TEST_P(StaticTreeTileWidths, LargeTreesAnswerTheSame) {
  check<std::uint32_t>(70001);
  check<std::uint64_t>(70001);
}

[[nodiscard]] std::vector<const setting*> each_gpu() {
  std::vector<const setting*> all = all_settings();
  std::erase_if(all, [](const setting* s) { return s->spans == side::host; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(, StaticTreeTileWidths, testing::ValuesIn(each_gpu()), setting_name{});

}  // namespace
}  // namespace espalier::test
