// tpch_words.hpp - the values of TPC-H's text columns: the lists of specification revision 3, section 4.2.2.13, and
// words for comments.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace espalier::bench::tpch_words {

using word = std::string_view;

inline constexpr std::array<word, 5> regions{"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"};

struct nation_of_region {
  word name;
  int region;
};
inline constexpr std::array<nation_of_region, 25> nations{
    {{"ALGERIA", 0},      {"ARGENTINA", 1},  {"BRAZIL", 1},  {"CANADA", 1},         {"EGYPT", 4},
     {"ETHIOPIA", 0},     {"FRANCE", 3},     {"GERMANY", 3}, {"INDIA", 2},          {"INDONESIA", 2},
     {"IRAN", 4},         {"IRAQ", 4},       {"JAPAN", 2},   {"JORDAN", 4},         {"KENYA", 0},
     {"MOROCCO", 0},      {"MOZAMBIQUE", 0}, {"PERU", 1},    {"CHINA", 2},          {"ROMANIA", 3},
     {"SAUDI ARABIA", 4}, {"VIETNAM", 2},    {"RUSSIA", 3},  {"UNITED KINGDOM", 3}, {"UNITED STATES", 1}}};

inline constexpr std::array<word, 5> segments{"AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"};
inline constexpr std::array<word, 5> priorities{"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"};
inline constexpr std::array<word, 4> instructions{"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"};
inline constexpr std::array<word, 7> modes{"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"};

inline constexpr std::array<word, 6> type_sizes{"STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"};
inline constexpr std::array<word, 5> type_finishes{"ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"};
inline constexpr std::array<word, 5> type_metals{"TIN", "NICKEL", "BRASS", "STEEL", "COPPER"};
inline constexpr std::array<word, 5> container_sizes{"SM", "LG", "MED", "JUMBO", "WRAP"};
inline constexpr std::array<word, 8> container_kinds{"CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"};

/// The name of a part has five of them.
inline constexpr std::array<word, 92> colours{
    "almond",   "antique", "aquamarine", "azure",     "beige",      "bisque",    "black",     "blanched", "blue",
    "blush",    "brown",   "burlywood",  "burnished", "chartreuse", "chiffon",   "chocolate", "coral",    "cornflower",
    "cornsilk", "cream",   "cyan",       "dark",      "deep",       "dim",       "dodger",    "drab",     "firebrick",
    "floral",   "forest",  "frosted",    "gainsboro", "ghost",      "goldenrod", "green",     "grey",     "honeydew",
    "hot",      "indian",  "ivory",      "khaki",     "lace",       "lavender",  "lawn",      "lemon",    "light",
    "lime",     "linen",   "magenta",    "maroon",    "medium",     "metallic",  "midnight",  "mint",     "misty",
    "moccasin", "navajo",  "navy",       "olive",     "orange",     "orchid",    "pale",      "papaya",   "peach",
    "peru",     "pink",    "plum",       "powder",    "puff",       "purple",    "red",       "rose",     "rosy",
    "royal",    "saddle",  "salmon",     "sandy",     "seashell",   "sienna",    "sky",       "slate",    "smoke",
    "snow",     "spring",  "steel",      "tan",       "thistle",    "tomato",    "turquoise", "violet",   "wheat",
    "white",    "yellow"};

/// Comments consist of these words; Q13 searches for "special" followed by "requests".
inline constexpr std::array<word, 48> comment_words{
    "accounts", "asymptotes",  "bold",      "braids",     "carefully", "courts",       "daring",   "deposits",
    "dolphins", "dugouts",     "epitaphs",  "escapades",  "even",      "excuses",      "express",  "final",
    "fluffily", "foxes",       "frets",     "furious",    "ideas",     "instructions", "ironic",   "packages",
    "pending",  "permanent",   "pinto",     "platelets",  "quickly",   "quiet",        "realms",   "regular",
    "requests", "ruthless",    "sauternes", "sentiments", "silent",    "sleep",        "slyly",    "special",
    "stealthy", "theodolites", "thin",      "tithes",     "unusual",   "warhorses",    "warthogs", "waters"};

}  // namespace espalier::bench::tpch_words
