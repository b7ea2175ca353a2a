// blink_under_test.cpp - calls the untyped tree.
#include "bench/index/blink/blink_under_test.hpp"

#include "bench/harness/options.hpp"
#include "bench/harness/timing.hpp"
#include "bench/index/blink/ref_kernel.hpp"
#include "bench/index/ordered_queries.hpp"
#include "espalier/static_tree/index.hpp"

namespace espalier::bench {

device_step::device_step(const blink_step& step, const data_spec& spec, const device& dev)
    : step_(&step),
      ops_(step.ops, dev),
      keys_(step.what == step_kind::range ? step.ranges.lo : step.keys, dev),
      hi_(step.ranges.hi, dev),
      values_(step.values, dev),
      out_(step.what == step_kind::range ? answers{} : make_answers(step, spec), dev) {}

blink_under_test::blink_under_test(const device& dev, const data_spec& spec, const blink_shape& shape, double fill)
    : device_(dev), spec_(spec), asked_(shape), options_{fill} {
  try {
    build(nullptr, nullptr, 0);
  } catch (const out_of_memory&) {
    throw;
  } catch (const error& e) {
    throw cli::bad_arguments(e.what());
  }
}

void blink_under_test::build(const void* keys, const void* values, std::size_t n) {
  tree_.reset();
  tree_ = espalier::detail::build_blink_index(device_, {spec_.key, spec_.value, bytes_of(spec_.value)}, asked_, keys,
                                              values, n, options_, device_.default_stream());
}

bool blink_under_test::inserts_by_ref() const {
  if (!has_ref_kernel(device_.kind(), spec_)) return false;
  const blink_shape shape = tree_->shape();
  const unsigned slots = spec_.key == scalar_kind::u32 ? espalier::detail::node_slots<std::uint32_t>(0)
                                                       : espalier::detail::node_slots<std::uint64_t>(0);
  return shape.protocol == protocol::blink && shape.inner == inner_index::express_lane && shape.slots == slots;
}

double blink_under_test::insert_by_ref(const void* keys, const void* values, std::size_t n, std::uint8_t* done) {
#ifdef ESPALIER_HAS_CUDA
  const auto kernel = make_ref_kernel(spec_.key, *tree_, n);
  device_.default_stream().synchronize();
  const stopwatch watch;
  kernel->insert(keys, values, n, done, device_.default_stream());
  device_.default_stream().synchronize();
  return watch.seconds();
#else
  static_cast<void>(keys), static_cast<void>(values), static_cast<void>(n), static_cast<void>(done);
  throw cli::bad_arguments("insert-by-ref: this build has no CUDA.");
#endif
}

void blink_under_test::run(const device_step& on_device, const write_options& options) {
  const blink_step& step = on_device.step();
  if (step.what == step_kind::range) {
    scanned_ = {};
    scanned_ = tree_->range(on_device.keys(), on_device.hi(), step.size(), {}, {device_.default_stream(), true});
    return;
  }
  const espalier::detail::execution now{device_.default_stream(), true};
  const auto out = on_device.out().pointers();
  auto* done = static_cast<std::uint8_t*>(out[1]);
  if (step.what == step_kind::write) {
    tree_->write(step.op, on_device.keys(), on_device.values(), step.size(), done, options, now);
  } else if (step.what == step_kind::apply) {
    tree_->apply(on_device.ops(), on_device.keys(), on_device.values(), step.size(), out[0], done, options, now);
  } else {
    tree_->find(on_device.keys(), step.size(), out[0], done, {}, now);
  }
}

void blink_under_test::ask(operation op, const request& r) const {
  const espalier::detail::execution ex{device_.resolve(r.order), r.wait};
  if (op == operation::contains) {
    tree_->find(r.keys, r.queries, nullptr, static_cast<std::uint8_t*>(r.out[0]), r.options, ex);
  } else if (asks_neighbours(op)) {
    ask_neighbours(*tree_, op, r, r.options, ex);
  } else if (takes_ranges(op)) {
    ask_in_order(*tree_, op, r, ex);
  } else {
    tree_->find(r.keys, r.queries, r.out[0], static_cast<std::uint8_t*>(r.out[1]), r.options, ex);
  }
}

std::uint64_t blink_under_test::snapshot() const {
  const stream order = device_.default_stream();
  const range_buffers all = tree_->all(order);
  build_options sorted;
  sorted.sorted = true;
  return espalier::detail::build_static_index(device_, tree_->elements(), all.keys.data(), all.values.data(), all.total,
                                              sorted, {order, true})
      ->stats()
      .size;
}

range_buffers blink_under_test::range(const request& r) const {
  return tree_->range(r.keys, r.hi, r.queries, {}, {device_.resolve(r.order), r.wait});
}

void blink_under_test::ask_rows(const request& r, std::uint64_t row) const {
  tree_->rows(r.keys, r.hi, r.queries, {interval::closed, row}, r.out[1], r.out[2],
              static_cast<std::uint64_t*>(r.out[0]), {device_.resolve(r.order), r.wait});
}

answers blink_under_test::fetch(const range_buffers& raw) const {
  answers out;
  const stream order = device_.default_stream();
  const auto add = [&](scalar_kind kind, const void* from, std::size_t n) {
    const column& to = out.emplace_back(kind, n);
    if (to.byte_count() != 0) device_.copy(to.data(), from, to.byte_count(), order);
  };
  add(scalar_kind::u64, raw.offsets.data(), raw.offsets.size());
  add(spec_.key, raw.keys.data(), raw.total);
  add(spec_.value, raw.values.data(), raw.total);
  order.synchronize();
  return out;
}

query_plan blink_under_test::plan_of(const request& r) const {
  return tree_->explain_reads(r.keys, r.queries, r.options).chosen;
}
write_path blink_under_test::path_of(write_op op, std::size_t n, const write_options& options) const {
  return options.path != write_path::automatic ? options.path : tree_->explain(op, n, options).chosen;
}
write_path blink_under_test::path_of_mixed(std::size_t n, const write_options& options) const {
  return tree_->explain_apply(n, options).chosen;
}

}  // namespace espalier::bench
