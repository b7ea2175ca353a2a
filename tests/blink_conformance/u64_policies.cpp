// u64_policies.cpp - the protocols and the kinds of upper levels other than the default, for 64-bit keys.
#include "blink_conformance/conformance.hpp"

ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u64_link_classic, std::uint64_t, std::uint64_t,
                                  blink_policy<protocol::link, upper::classic>)
ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u64_couple_classic, std::uint64_t, std::uint64_t,
                                  blink_policy<protocol::couple, upper::classic>)
ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u64_none_express, std::uint64_t, std::uint64_t,
                                  blink_policy<protocol::none, upper::express>)
ESPALIER_BLINK_POLICY_CONFORMANCE(blink_u64_none_classic, std::uint64_t, std::uint64_t,
                                  blink_policy<protocol::none, upper::classic>)
