// bulk_writes.hpp - the typed bulk writes of an owner, over its untyped index.
//
// Written once for blink_tree, hybrid_tree and radix_tree. Each call checks the sizes of its spans and forwards to
// Tree::write_on(); its `_async` form enqueues instead of waiting. The class comment of the owner states the rules for
// memory, streams, lifetime and threads; where the owner inherits these calls, it states which of equal keys in a batch
// wins, what `Options` select, what a call that throws has changed, and what a write costs.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "espalier/device/device.hpp"
#include "espalier/index/elements.hpp"
#include "espalier/index/options.hpp"
#include "espalier/index/result.hpp"

namespace espalier {

/// Base of `Tree`. `Keys` is the parameter type of a batch of keys; `Value` = void is a set; `Stream` is
/// detail::no_stream for an owner without streams.
///
/// `done` is optional: insert and insert_or_assign set it to 1 if the key was new, update and erase if it was present.
template <class Tree, class Keys, class Value, class Options, class Stream = stream>
class bulk_writes {
 protected:
  static constexpr bool has_values = !std::is_void_v<Value>;
  static constexpr bool has_streams = std::is_same_v<Stream, stream>;
  using values_in = std::span<const detail::value_or_placeholder<Value>>;
  using done_out = std::span<std::uint8_t>;

 public:
  /// Inserts elements, and assigns the values of keys that are present. Requires as many values as keys.
  void insert_or_assign(Keys keys, values_in values, done_out done = {}, const Options& options = {},
                        const Stream& s = {}) requires(has_values) {
    write(write_op::insert_or_assign, keys, values, done, options, wait(s));
  }
  template <StreamArgument S>
  void insert_or_assign(Keys keys, values_in values, const S& s) requires(has_values&& has_streams) {
    write(write_op::insert_or_assign, keys, values, {}, {}, wait(s));
  }
  void insert_or_assign_async(Keys keys, values_in values, done_out done, const Options& options,
                              const Stream& s) requires(has_values&& has_streams) {
    write(write_op::insert_or_assign, keys, values, done, options, enqueue(s));
  }

  /// Inserts keys into a set.
  void insert(Keys keys, done_out done = {}, const Options& options = {}, const Stream& s = {}) requires(!has_values) {
    write(write_op::insert, keys, {}, done, options, wait(s));
  }
  template <StreamArgument S>
  void insert(Keys keys, const S& s) requires(!has_values && has_streams) {
    write(write_op::insert, keys, {}, {}, {}, wait(s));
  }
  void insert_async(Keys keys, done_out done, const Options& options,
                    const Stream& s) requires(!has_values && has_streams) {
    write(write_op::insert, keys, {}, done, options, enqueue(s));
  }

  /// Removes keys.
  void erase(Keys keys, done_out done = {}, const Options& options = {}, const Stream& s = {}) {
    write(write_op::erase, keys, {}, done, options, wait(s));
  }
  template <StreamArgument S>
  void erase(Keys keys, const S& s) requires(has_streams) {
    write(write_op::erase, keys, {}, {}, {}, wait(s));
  }
  void erase_async(Keys keys, done_out done, const Options& options, const Stream& s) requires(has_streams) {
    write(write_op::erase, keys, {}, done, options, enqueue(s));
  }

 protected:
  void write(write_op op, Keys keys, values_in values, done_out done, const Options& options,
             const detail::execution& ex) {
    if (has_values && op != write_op::erase) detail::require_equal("values to write", keys.size(), values.size());
    detail::require_optional("write mask", keys.size(), done.size());
    static_cast<Tree&>(*this).write_on(op, keys, values.data(), detail::optional_data(done), options, ex);
  }
  [[nodiscard]] detail::execution wait(const Stream& s) const {
    return detail::waiting(static_cast<const Tree&>(*this).get_device(), s);
  }
  [[nodiscard]] detail::execution enqueue(const Stream& s) const {
    return detail::enqueued(static_cast<const Tree&>(*this).get_device(), s);
  }
};

/// Base of owners that also insert without assigning and assign without inserting.
template <class Tree, class Keys, class Value, class Options>
class bulk_map_writes : public bulk_writes<Tree, Keys, Value, Options> {
  using writes = bulk_writes<Tree, Keys, Value, Options>;
  using typename writes::values_in, typename writes::done_out;
  using writes::has_values;

 public:
  using writes::insert;
  using writes::insert_async;
  /// Inserts elements whose keys are not present. Requires as many values as keys.
  void insert(Keys keys, values_in values, done_out done = {}, const Options& options = {},
              const stream& s = {}) requires(has_values) {
    this->write(write_op::insert, keys, values, done, options, this->wait(s));
  }
  template <StreamArgument S>
  void insert(Keys keys, values_in values, const S& s) requires(has_values) {
    this->write(write_op::insert, keys, values, {}, {}, this->wait(s));
  }
  void insert_async(Keys keys, values_in values, done_out done, const Options& options,
                    const stream& s) requires(has_values) {
    this->write(write_op::insert, keys, values, done, options, this->enqueue(s));
  }

  /// Assigns the values of keys that are present. Requires as many values as keys.
  void update(Keys keys, values_in values, done_out done = {}, const Options& options = {},
              const stream& s = {}) requires(has_values) {
    this->write(write_op::update, keys, values, done, options, this->wait(s));
  }
  template <StreamArgument S>
  void update(Keys keys, values_in values, const S& s) requires(has_values) {
    this->write(write_op::update, keys, values, {}, {}, this->wait(s));
  }
  void update_async(Keys keys, values_in values, done_out done, const Options& options,
                    const stream& s) requires(has_values) {
    this->write(write_op::update, keys, values, done, options, this->enqueue(s));
  }
};

}  // namespace espalier
