#include "engine/index/ranked_core.hpp"

#include "engine/index/byte_base.hpp"

namespace espalier::engine {

std::unique_ptr<index_core> make_static_core(ordered_keys keys, const device& where) {
  if (keys.encoder->form() == key_form::word32)
    return std::make_unique<ranked_core<word_base<std::uint32_t>>>(std::move(keys), where);
  return std::make_unique<ranked_core<word_base<std::uint64_t>>>(std::move(keys), where);
}

std::unique_ptr<index_core> make_radix_core(ordered_keys keys, const device& where) {
  return std::make_unique<ranked_core<byte_base>>(std::move(keys), where);
}

}  // namespace espalier::engine
