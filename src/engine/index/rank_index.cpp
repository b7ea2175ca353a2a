#include "engine/index/rank_index.hpp"

#include "engine/index/radix_rank_base.hpp"

namespace espalier::engine {

std::unique_ptr<table_index_impl> make_static_core(ordered_keys keys, const device& where) {
  if (keys.encoder->form() == key_form::word32)
    return std::make_unique<rank_index<static_rank_base<std::uint32_t>>>(std::move(keys), where);
  return std::make_unique<rank_index<static_rank_base<std::uint64_t>>>(std::move(keys), where);
}

std::unique_ptr<table_index_impl> make_radix_core(ordered_keys keys, const device& where) {
  return std::make_unique<rank_index<radix_rank_base>>(std::move(keys), where);
}

}  // namespace espalier::engine
