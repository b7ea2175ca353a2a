// checksum.cpp - the only file that includes xxHash, which is compiled into it.
#include "engine/store/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace espalier::engine {

struct running_checksum::state {
  XXH3_state_t hash;
};

std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

running_checksum::running_checksum() : state_(std::make_unique<state>()) { restart(); }
running_checksum::running_checksum(running_checksum&&) noexcept = default;
running_checksum& running_checksum::operator=(running_checksum&&) noexcept = default;
running_checksum::~running_checksum() = default;

void running_checksum::restart() noexcept { XXH3_64bits_reset(&state_->hash); }

void running_checksum::add(std::span<const std::byte> bytes) noexcept {
  if (!bytes.empty()) XXH3_64bits_update(&state_->hash, bytes.data(), bytes.size());
}

std::uint64_t running_checksum::value() const noexcept { return XXH3_64bits_digest(&state_->hash); }

}  // namespace espalier::engine
