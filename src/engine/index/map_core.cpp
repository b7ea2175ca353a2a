#include "engine/index/map_core.hpp"

#include "engine/index/map_changes.hpp"
#include "engine/index/map_questions.hpp"

namespace espalier::engine {

namespace {

template <template <class> class Side>
std::unique_ptr<index_core> make_map(const ordered_keys& keys, const device& where) {
  if (keys.encoder->form() == key_form::word32)
    return std::make_unique<map_core<Side<std::uint32_t>, std::uint32_t>>(keys, where);
  return std::make_unique<map_core<Side<std::uint64_t>, std::uint64_t>>(keys, where);
}

}  // namespace

std::unique_ptr<index_core> make_blink_core(const ordered_keys& keys, const device& where) {
  return make_map<blink_side>(keys, where);
}

std::unique_ptr<index_core> make_hybrid_core(const ordered_keys& keys, const device& where) {
  return make_map<hybrid_side>(keys, where);
}

}  // namespace espalier::engine
