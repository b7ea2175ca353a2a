#include "engine/index/tree_index.hpp"

#include "engine/index/tree_index_read.hpp"
#include "engine/index/tree_index_write.hpp"

namespace espalier::engine {

namespace {

template <template <class> class Side>
std::unique_ptr<table_index_impl> make_map(const ordered_keys& keys, const device& where) {
  if (keys.encoder->form() == key_form::word32)
    return std::make_unique<tree_index<Side<std::uint32_t>, std::uint32_t>>(keys, where);
  return std::make_unique<tree_index<Side<std::uint64_t>, std::uint64_t>>(keys, where);
}

}  // namespace

std::unique_ptr<table_index_impl> make_blink_core(const ordered_keys& keys, const device& where) {
  return make_map<blink_side>(keys, where);
}

std::unique_ptr<table_index_impl> make_hybrid_core(const ordered_keys& keys, const device& where) {
  return make_map<hybrid_side>(keys, where);
}

}  // namespace espalier::engine
