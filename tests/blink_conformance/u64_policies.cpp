// u64_policies.cpp - the protocols and the kinds of upper levels other than the default, for 64-bit keys.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u64_link_classic, std::uint64_t, std::uint64_t,
                                  blink_policy<protocol::blink, inner_index::inner_nodes>)
ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u64_couple_classic, std::uint64_t, std::uint64_t,
                                  blink_policy<protocol::latch_coupling, inner_index::inner_nodes>)
ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u64_none_express, std::uint64_t, std::uint64_t,
                                  blink_policy<protocol::single_writer, inner_index::express_lane>)
ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u64_none_classic, std::uint64_t, std::uint64_t,
                                  blink_policy<protocol::single_writer, inner_index::inner_nodes>)
