// u64_widths.cpp - nodes from the narrowest to whole pages, for 64-bit keys.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u64_slots_8, std::uint64_t, std::uint64_t,
                                  blink_policy<protocol::blink, inner_index::express_lane, 8>)
ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u64_slots_32, std::uint64_t, std::uint64_t,
                                  blink_policy<protocol::blink, inner_index::express_lane, 32>)
ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u64_slots_128, std::uint64_t, std::uint64_t,
                                  blink_policy<protocol::blink, inner_index::express_lane, 128>)
ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u64_slots_4096, std::uint64_t, std::uint64_t,
                                  blink_policy<protocol::blink, inner_index::express_lane, 4096>)
