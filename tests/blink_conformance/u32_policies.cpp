// u32_policies.cpp - the protocols and the kinds of upper levels other than the default, for 32-bit keys.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u32_link_classic, std::uint32_t, std::uint32_t,
                                  blink_policy<protocol::blink, inner_index::inner_nodes>)
ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u32_couple_classic, std::uint32_t, std::uint32_t,
                                  blink_policy<protocol::latch_coupling, inner_index::inner_nodes>)
ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u32_none_express, std::uint32_t, std::uint32_t,
                                  blink_policy<protocol::single_writer, inner_index::express_lane>)
ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u32_none_classic, std::uint32_t, std::uint32_t,
                                  blink_policy<protocol::single_writer, inner_index::inner_nodes>)
