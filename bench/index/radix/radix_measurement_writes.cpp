// radix_measurement_writes.cpp - the writes of radix_measurement.hpp.
#include <fmt/format.h>

#include <utility>

#include "bench/harness/timing.hpp"
#include "bench/index/radix/radix_measurement.hpp"

namespace espalier::bench {
namespace {

void refuse(operation op, const std::optional<std::string>& wrong) {
  if (wrong) throw cli::wrong_answer(fmt::format("{}: {}", name_of(op), *wrong));
}

}  // namespace

void radix_measurement::require_done(operation op, const radix_batch& batch, const device_answers& done) const {
  refuse(op, difference(operation::contains, batch.elements.keys, done.fetch(), batch.done, "the reference",
                        batch.elements.size()));
  if (const std::uint64_t size = tree_.stats().size; size != batch.size_after) {
    refuse(op, fmt::format("the tree has {} keys afterwards, but must have {}.", size, batch.size_after));
  }
}

void radix_measurement::require_found(operation op, const byte_column& keys, const byte_string_batch& on_device,
                                      const answers& expected) const {
  const device_answers out(make_radix_answers(operation::find, keys.size()), device_);
  request ask;
  ask.out = out.pointers();
  out.poison();
  tree_.ask(operation::find, on_device, ask);
  refuse(op, difference(operation::find, keys, out.fetch(), expected, "the reference", keys.size()));
}

void radix_measurement::require_contents(operation op, const radix_batch& batch, const answers& after,
                                         const byte_string_batch& batch_keys) const {
  require_found(op, data_.keys(), keys_.all(), after);
  if (op == operation::insert) require_found(op, batch.elements.keys, batch_keys, batch_after(batch));
  if (batch.size_after <= most_validated_keys) {
    if (const validation v = tree_.validate(); !v) refuse(op, "the tree is not valid afterwards: " + v.problem);
  }
}

void radix_measurement::measure_update(std::uint64_t n, const radix_variant& how, row& r) {
  load_if_changed();
  changed_ = true;
  const radix_batch batch = make_radix_batch(operation::update, data_, n, what_.hit_rate);
  const string_batches on_device(batch.elements.keys, batch.elements.one_length, n, device_, how.place);
  const device_column values(batch.values, device_, how.place);
  const device_answers done(columns_like(batch.done), device_, how.place);
  const byte_string_batch keys = on_device.all();
  r.queries = r.radix->batch = n;
  const auto update = [&](bool wait = true) {
    tree_.write(batch.what, keys, values.data(), done.pointers()[0], radix_path::automatic, wait);
  };
  done.poison();
  update();
  require_done(operation::update, batch, done);
  const answers after = contents_after(batch, data_);
  require_contents(operation::update, batch, after, keys);
  const auto repeated = [&](const auto& work) {
    return median_seconds(what_.repeat, [&](std::size_t k) {
      for (std::size_t i = 0; i < k; ++i) work();
    });
  };
  const auto in_a_row = [&](const auto& work) {
    return median_seconds(what_.repeat, [&](std::size_t k) {
      for (std::size_t i = 0; i < k; ++i) work();
      device_.default_stream().synchronize();
    });
  };
  r.seconds = repeated([&] { update(); });
  // First every call of both is waited for, then none.
  const device_answers out(make_radix_answers(operation::find, n), device_, how.place);
  request ask;
  ask.out = out.pointers();
  const double finds = repeated([&] { tree_.ask(operation::find, keys, ask); });
  if (r.seconds > 0) r.radix->share_of_find = finds / r.seconds;
  const double updates_in_a_row = in_a_row([&] { update(false); });
  ask.wait = false;
  const double finds_in_a_row = in_a_row([&] { tree_.ask(operation::find, keys, ask); });
  if (updates_in_a_row > 0) r.radix->share_of_enqueued_find = finds_in_a_row / updates_in_a_row;
  // This is cheaper than rebuilding the tree for the next row.
  const device_column before(batch.before, device_, how.place);
  tree_.write(batch.what, keys, before.data(), done.pointers()[0], radix_path::automatic);
  changed_ = false;
  peers_.add_update(batch, after, how.place, r);
}

void radix_measurement::measure_change(operation op, std::uint64_t n, const radix_variant& how, row& r) {
  const radix_batch batch = make_radix_batch(op, data_, n, what_.hit_rate);
  const string_batches on_device(batch.elements.keys, batch.elements.one_length, batch.elements.size(), device_,
                                 how.place);
  const device_column values(batch.values, device_, how.place);
  const device_answers done(columns_like(batch.done), device_, how.place);
  const byte_string_batch keys = on_device.all();
  r.queries = r.radix->batch = batch.elements.size();
  r.notes = batch.notes;
  const auto run_once = [&] {
    done.poison();
    load_if_changed();
    device_.default_stream().synchronize();
    changed_ = true;
    const stopwatch watch;
    tree_.write(batch.what, keys, values.data(), done.pointers()[0], how.path);
    const double seconds = watch.seconds();
    require_done(op, batch, done);
    return seconds;
  };
  static_cast<void>(run_once());  // warms up memory pools
  require_contents(op, batch, contents_after(batch, data_), keys);
  std::vector<double> seconds;
  while (seconds.size() < what_.write_repeat) seconds.push_back(run_once());
  r.seconds = median(std::move(seconds));
  peers_.add_none(r);
}

}  // namespace espalier::bench
