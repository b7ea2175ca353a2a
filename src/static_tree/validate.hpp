// validate.hpp - checks every invariant of layout.hpp and aggregate.hpp on the host.
#pragma once

#include "espalier/device/device.hpp"
#include "espalier/static_tree/options.hpp"
#include "static_tree/storage.hpp"

namespace espalier::detail {

/// Returns the first broken invariant, if there is one. The parts are copied from a GPU first.
template <class Word, unsigned ValueBytes>
[[nodiscard]] validation check_tree(const tree_storage<Word, ValueBytes>& tree, const device& dev, const stream& order);

}  // namespace espalier::detail
