// inner_levels_on.hpp - inner levels on one kind of device, written once over a Context of the static tree.
#pragma once

#include "espalier/device/buffer.hpp"
#include "espalier/static_tree/jobs.hpp"
#include "hybrid_tree/inner_levels.hpp"

namespace espalier::detail {

template <class Context, class Word>
class inner_levels_on final : public inner_levels {
 public:
  inner_levels_on(const device& where, const upper_image<Word>& image, bool copy) : where_(where), view_(image.view) {
    if (!copy) return;
    const stream order = where.default_stream();
    const auto take = [&](raw_buffer& own, auto*& pointer, std::size_t bytes) {
      own = raw_buffer(where, bytes, order);
      if (bytes == 0) return;
      where.copy(own.data(), pointer, bytes, order);
      pointer = static_cast<std::remove_reference_t<decltype(pointer)>>(own.data());
    };
    take(headers_, view_.headers, image.header_bytes);
    take(cells_, view_.cells, image.cell_bytes);
    take(subtables_, view_.subtables, image.subtable_bytes);
    order.synchronize();  // whoever walks does so on streams of its own
  }

  [[nodiscard]] std::size_t bytes() const override { return headers_.bytes() + cells_.bytes() + subtables_.bytes(); }
  void walk(const void* keys, const std::uint32_t* groups, std::size_t n, std::uint32_t* lines,
            const stream& order) const override {
    launch(walk_job<Word>{view_, keys, groups, lines}, n, order);
  }
  void table(const void* keys, std::size_t n, std::uint32_t* groups, const stream& order) const override {
    launch(table_job<Word>{view_, keys, groups}, n, order);
  }

 private:
  template <class Job>
  void launch(const Job& job, std::size_t n, const stream& order) const {
    if (n == 0) return;
    where_.enqueue(order, [this, job, n, order] {
      Context context(where_, order);
      context.launch(job, n, false, node_search::linear);
    });
  }

  device where_;
  tree_view<Word, lines_elsewhere> view_;
  raw_buffer headers_, cells_, subtables_;
};

template <class Context>
[[nodiscard]] std::unique_ptr<inner_levels> make_inner_levels(const device& where, const any_upper_image& image,
                                                              bool copy) {
  return std::visit(
      [&]<class Word>(const upper_image<Word>& of_word) -> std::unique_ptr<inner_levels> {
        return std::make_unique<inner_levels_on<Context, Word>>(where, of_word, copy);
      },
      image);
}

}  // namespace espalier::detail
