// text_shapes.cpp - data sets that resemble text: urls, and terms of RDF triples.
#include <bit>
#include <iterator>
#include <vector>

#include "bench/data/byte_shapes.hpp"

namespace espalier::bench::detail {
namespace {

// Streams of random numbers independent of the bijection of i, so that the text around an id does not depend on it.
constexpr std::uint64_t text_stream = 0x7465787473ull;

/// Skewed ranks in [0, n). A table is used, since computing a rank by formula costs more than the rest of a key.
class skewed_ranks {
 public:
  explicit skewed_ranks(std::uint64_t n) : rank_(std::bit_ceil(16 * n)) {
    const zipf_ranks exact(n);
    const int shift = 64 - std::countr_zero(rank_.size());
    for (std::uint64_t k = 0; k < rank_.size(); ++k) {
      rank_[k] = static_cast<std::uint16_t>(exact((2 * k + 1) << (shift - 1)));
    }
  }
  [[nodiscard]] std::size_t operator()(std::uint64_t bits) const { return rank_[below(bits, rank_.size())]; }

 private:
  std::vector<std::uint16_t> rank_;
};

// Words have letters only, so that they cannot be confused with an id, which starts with a decimal digit.
constexpr std::string_view plain_words[] = {
    "about",   "account", "action",   "air",      "album",   "animal",   "annual",  "archive",  "arena",   "art",
    "atlas",   "author",  "autumn",   "bank",     "basic",   "battle",   "bay",     "beach",    "berlin",  "bird",
    "black",   "blog",    "blue",     "board",    "book",    "border",   "bridge",  "brown",    "bureau",  "camera",
    "canal",   "capital", "car",      "castle",   "catalog", "center",   "central", "chapter",  "charles", "church",
    "city",    "civil",   "class",    "climate",  "club",    "coast",    "college", "comedy",   "comment", "company",
    "council", "country", "county",   "course",   "court",   "culture",  "daily",   "dance",    "data",    "david",
    "defence", "delta",   "design",   "digital",  "doctor",  "download", "drama",   "east",     "economy", "editor",
    "elect",   "empire",  "energy",   "engine",   "english", "entry",    "equal",   "europe",   "event",   "fact",
    "family",  "farm",    "festival", "field",    "film",    "finance",  "fire",    "fish",     "flag",    "flora",
    "folk",    "food",    "football", "forest",   "forum",   "france",   "free",    "gallery",  "game",    "garden",
    "general", "george",  "german",   "glass",    "gold",    "golf",     "grand",   "great",    "green",   "group",
    "guide",   "harbor",  "health",   "heritage", "high",    "hill",     "history", "home",     "hotel",   "house",
    "human",   "image",   "index",    "indian",   "item",    "industry", "island",  "italian",  "james",   "japan",
    "jazz",    "john",    "journal",  "judge",    "junior",  "king",     "kitchen", "lake",     "land",    "language",
    "law",     "league",  "learn",    "library",  "life",    "light",    "link",    "list",     "local",   "london",
    "lord",    "machine", "magazine", "main",     "map",     "marine",   "market",  "mary",     "media",   "medical",
    "member",  "memory",  "metal",    "michael",  "mill",    "minister", "mobile",  "model",    "modern",  "moon",
    "mount",   "museum",  "music",    "nation",   "nature",  "network",  "new",     "news",     "night",   "north",
    "novel",   "ocean",   "office",   "old",      "online",  "open",     "opera",   "order",    "paper",   "paris",
    "park",    "party",   "paul",     "people",   "peter",   "photo",    "piano",   "place",    "planet",  "player",
    "poem",    "point",   "police",   "port",     "press",   "prince",   "product", "profile",  "project", "public",
    "queen",   "radio",   "railway",  "record",   "red",     "region",   "report",  "research", "review",  "river",
    "robert",  "rock",    "roman",    "royal",    "saint",   "school",   "science", "season",   "senate",  "series",
    "service", "shop",    "silver",   "single",   "social",  "society",  "song",    "south",    "space",   "sport",
    "spring",  "square",  "stadium",  "star",     "state",   "station",  "story",   "street",   "studio",  "summer"};
constexpr std::size_t plain_word_count = std::size(plain_words);

std::string_view any_word(key_draws& draw) { return plain_words[draw.next_below(plain_word_count)]; }

/// Ids of text keys: a permutation of i, written in base 36 with the last digit first, so that all positions take all
/// values. Ids of natural keys start with a decimal digit; those of keys of one length are at a fixed position and need
/// not. Their number is a power of 4, which a Feistel permutation covers without retries.
class text_ids {
 public:
  text_ids(unsigned digits, bool natural, std::uint64_t seed)
      : digits_(digits), first_base_(natural ? 10 : 36), order_(count(digits, natural), mix(seed)) {}

  [[nodiscard]] static constexpr std::uint64_t count(unsigned digits, bool natural) {
    std::uint64_t all = natural ? 10 : 36;
    for (unsigned k = 1; k < digits; ++k) all *= 36;
    return std::uint64_t{1} << ((std::bit_width(all) - 1) / 2 * 2);
  }
  [[nodiscard]] std::uint64_t count() const { return count(digits_, first_base_ == 10); }
  [[nodiscard]] unsigned digits() const { return digits_; }
  [[nodiscard]] std::uint64_t number(std::uint64_t i) const { return order_(i); }
  void append(std::uint64_t number, std::string& to) const {
    to += digit_characters[number % first_base_];
    number /= first_base_;
    for (unsigned k = 1; k < digits_; ++k, number /= 36) to += digit_characters[number % 36];
  }

 private:
  unsigned digits_;
  unsigned first_base_;
  permutation order_;
};

// ---- urls ---------------------------------------------------------------------------------------------------

constexpr std::string_view top_level_domains[] = {"com", "com", "com", "com",   "org",  "org", "net", "de",
                                                  "edu", "gov", "fr",  "co.uk", "info", "io",  "it",  "co.jp"};
constexpr std::string_view secure_scheme = "https://";
constexpr std::size_t url_host_count = 4096;

/// The hosts are the same for all seeds; some occur twice.
std::string url_host(std::uint64_t rank) {
  key_draws draw(random_bits(text_stream, rank));
  std::string host(any_word(draw));
  const std::uint64_t kind = draw.next_below(8);
  if (kind > 1) (host += kind > 5 ? "-" : "") += any_word(draw);
  return (host += '.') += top_level_domains[draw.next_below(std::size(top_level_domains))];
}

/// Natural length: scheme, host, 1 to 4 words, id, and sometimes a suffix. The id is the only part of the path that
/// starts with a decimal digit. If one key is a prefix of another, both therefore have the same id, and the same i.
/// Fixed length: repeated words, truncated to leave space for a slash and the id, which ends the key.
class url_shape final : public byte_shape {
 public:
  explicit url_shape(const byte_spec& spec)
      : length_(spec.key_length),
        seed_(spec.seed),
        ids_(length_ == 0 ? 8 : std::min(length_ - 10, 8u), length_ == 0, spec.seed),
        ranks_(url_host_count) {
    for (std::size_t k = 0; k < url_host_count; ++k) hosts_.push_back(url_host(k));
  }
  [[nodiscard]] std::uint64_t distinct() const override { return ids_.count(); }
  void append(std::uint64_t i, std::string& to) const override {
    const std::size_t begin = to.size();
    key_draws draw(text_stream, seed_, i);
    const std::size_t host = ranks_(draw.next());
    to += secure_scheme;
    // It depends on the host, not on the key. A short host must not be reduced to www.
    if (host % 2 == 0 && (length_ == 0 || length_ >= 32)) to += "www.";
    to += hosts_[host];
    if (length_ == 0) {
      append_natural_path(draw, host, to);
      ids_.append(ids_.number(i), to);
      return append_ending(draw, to);
    }
    const std::size_t room = length_ - ids_.digits() - 1;
    for (unsigned depth = 0; to.size() < begin + room; ++depth) append_section(draw, host, depth, to);
    to.resize(begin + room);
    to += '/';
    ids_.append(ids_.number(i), to);
  }

 private:
  /// A host has 16 words per depth with a skewed distribution, so its pages share prefixes.
  static void append_section(key_draws& draw, std::size_t host, unsigned depth, std::string& to) {
    const std::uint64_t bits = draw.next();
    const std::uint64_t choice = std::min(bits & 15, bits >> 4 & 15);
    to += '/';
    to += plain_words[(host * 7 + std::size_t{depth} * 61 + choice) % plain_word_count];
  }
  static void append_natural_path(key_draws& draw, std::size_t host, std::string& to) {
    const std::uint64_t bits = draw.next();
    for (unsigned depth = 0; depth <= (bits & 3); ++depth) append_section(draw, host, depth, to);
    const std::uint64_t more = std::min(bits >> 2 & 3, bits >> 4 & 3);
    for (std::uint64_t k = 0; k < more; ++k) (to += '-') += any_word(draw);
    to += '/';
  }
  static void append_ending(key_draws& draw, std::string& to) {
    const std::uint64_t kind = draw.next_below(10);
    if (kind < 3) {
      to += ".html";
    } else if (kind < 5) {
      to += "?page=";
      const std::uint64_t page = 1 + draw.next_below(40);
      append_number<10>(page, page < 10 ? 1 : 2, to);
    }
  }

  unsigned length_;
  std::uint64_t seed_;
  text_ids ids_;
  skewed_ranks ranks_;
  std::vector<std::string> hosts_;
};

// ---- triples ------------------------------------------------------------------------------------------------

constexpr std::string_view word_namespaces[] = {
    "http://dbpedia.org/resource/",
    "http://schema.org/",
    "http://xmlns.com/foaf/0.1/",
    "http://dbpedia.org/page/",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://purl.org/dc/terms/",
    "http://rdf.freebase.com/ns/",
    "http://bio2rdf.org/",
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://data.bnf.fr/",
    "http://yago-knowledge.org/resource/",
    "http://rdfs.org/sioc/ns#",
    "http://dbpedia.org/ontology/",
    "http://www.bbc.co.uk/",
    "http://purl.org/dc/elements/1.1/",
    "http://data.nytimes.com/",
    "http://www.w3.org/2004/02/skos/core#",
    "http://openlibrary.org/",
    "http://purl.uniprot.org/",
    "http://dblp.l3s.de/d2r/",
    "http://de.dbpedia.org/resource/",
    "http://ogp.me/ns#",
    "http://www.semanlink.net/tag/",
    "http://purl.org/rss/1.0/",
    "http://www.livejournal.com/interests/",
    "http://sw.opencyc.org/",
    "http://linkedgeodata.org/ontology/",
    "http://identi.ca/",
    "http://data.gov.uk/id/",
    "http://www.w3.org/2006/vcard/ns#",
    "http://lexvo.org/id/",
    "http://umbel.org/umbel/",
    "http://purl.org/goodrelations/v1#",
};
constexpr std::string_view number_namespaces[] = {
    "http://www.wikidata.org/entity/Q",
    "http://sws.geonames.org/",
    "http://viaf.org/viaf/",
    "http://d-nb.info/gnd/",
    "http://orcid.org/",
    "http://isni.org/isni/",
};

constexpr bool none_begins_another() {
  const auto begins = [](std::string_view a, std::string_view b) { return a.starts_with(b) || b.starts_with(a); };
  for (const auto& a : word_namespaces) {
    for (const auto& b : word_namespaces) {
      if (&a != &b && begins(a, b)) return false;
    }
    for (const auto& b : number_namespaces) {
      if (begins(a, b)) return false;
    }
  }
  for (const auto& a : number_namespaces) {
    for (const auto& b : number_namespaces) {
      if (&a != &b && begins(a, b)) return false;
    }
  }
  return true;
}
static_assert(none_begins_another(), "a key must tell its namespace");

/// Kinds of terms differ in their first character or, since no namespace is a prefix of another, in their namespace.
/// Within a kind and a namespace:
///   words     natural: a word starts with a letter and the id with a decimal digit, so a key and its prefix have the
///             same id. Fixed length: the id is the last 7 bytes.
///   numbers   the 11 digits after the namespace are the id.
///   literals  as words; the id is the 7 bytes before the closing quote.
///   blanks    the 9 hexadecimal digits after the start are the id.
class triple_shape final : public byte_shape {
 public:
  static constexpr unsigned id_digits = 7, decimal_digits = 11, hex_digits = 9;

  explicit triple_shape(const byte_spec& spec)
      : length_(spec.key_length),
        seed_(spec.seed),
        ids_(id_digits, length_ == 0, spec.seed),
        word_spaces_(that_leave(id_digits, word_namespaces)),
        number_spaces_(that_leave(decimal_digits, number_namespaces)),
        word_ranks_(word_spaces_.size()),
        number_ranks_(number_spaces_.size()) {}
  [[nodiscard]] std::uint64_t distinct() const override { return ids_.count(); }
  void append(std::uint64_t i, std::string& to) const override {
    const std::uint64_t id = ids_.number(i);
    key_draws draw(text_stream, seed_, i);
    const std::uint64_t kind = draw.next_below(20);
    if (kind == 0) return append_blank(draw, id, to);
    if (kind == 1) return append_literal(draw, id, to);
    if (kind < 4) return append_numbered(draw, id, to);
    append_named(draw, id, to);
  }

 private:
  static_assert(text_ids::count(id_digits, false) <= 100'000'000'000);  // as decimal_digits
  static_assert(text_ids::count(id_digits, false) <= std::uint64_t{1} << (4 * hex_digits));

  [[nodiscard]] std::vector<std::string_view> that_leave(unsigned bytes, auto& namespaces) const {
    std::vector<std::string_view> fitting;
    for (const std::string_view space : namespaces) {
      if (length_ == 0 || space.size() + bytes <= length_) fitting.push_back(space);
    }
    return fitting;
  }
  /// Appends words, each followed by `separator`: `natural` words, or exactly `room` bytes if lengths are fixed.
  void append_words(key_draws& draw, char separator, std::uint64_t natural, std::size_t room, std::string& to) const {
    if (length_ == 0) {
      for (; natural > 0; --natural) (to += any_word(draw)) += separator;
      return;
    }
    if (room == 0) return;
    const std::size_t end = to.size() + room;
    while (to.size() < end) (to += any_word(draw)) += separator;
    to.resize(end);
    to.back() = separator;
  }
  void append_named(key_draws& draw, std::uint64_t id, std::string& to) const;
  void append_numbered(key_draws& draw, std::uint64_t id, std::string& to) const;
  void append_literal(key_draws& draw, std::uint64_t id, std::string& to) const;
  void append_blank(key_draws& draw, std::uint64_t id, std::string& to) const;

  unsigned length_;
  std::uint64_t seed_;
  text_ids ids_;
  std::vector<std::string_view> word_spaces_;
  std::vector<std::string_view> number_spaces_;
  skewed_ranks word_ranks_;
  skewed_ranks number_ranks_;
};

void triple_shape::append_named(key_draws& draw, std::uint64_t id, std::string& to) const {
  const std::string_view space = word_spaces_[word_ranks_(draw.next())];
  to += space;
  const std::size_t tail = to.size();
  append_words(draw, '_', 1 + draw.next_below(4), length_ - space.size() - id_digits, to);
  if (to.size() > tail + 1) to[tail] = static_cast<char>(to[tail] - 'a' + 'A');
  ids_.append(id, to);
}

void triple_shape::append_numbered(key_draws& draw, std::uint64_t id, std::string& to) const {
  const std::string_view space = number_spaces_[number_ranks_(draw.next())];
  to += space;
  append_number<10>(id, decimal_digits, to);
  if (length_ != 0) append_random_digits(draw, 10, length_ - space.size() - decimal_digits, to);
}

void triple_shape::append_literal(key_draws& draw, std::uint64_t id, std::string& to) const {
  to += '"';
  const std::uint64_t bits = draw.next();
  const std::string_view closing = (bits & 1) != 0 ? "\"" : "\"@en";
  const std::uint64_t more = std::min(bits >> 1 & 15, bits >> 5 & 15);
  append_words(draw, ' ', 1 + std::min<std::uint64_t>(more, 14), length_ - 1 - id_digits - closing.size(), to);
  ids_.append(id, to);
  to += closing;
}

/// Natural blank nodes are short, or long like a digest.
void triple_shape::append_blank(key_draws& draw, std::uint64_t id, std::string& to) const {
  constexpr std::string_view opening = "_:b";
  to += opening;
  append_number<16>(id, hex_digits, to);
  const std::size_t natural = draw.next_below(2) == 0 ? 0 : 23;
  append_random_digits(draw, 16, length_ == 0 ? natural : length_ - opening.size() - hex_digits, to);
}

}  // namespace

std::shared_ptr<const byte_shape> make_url_shape(const byte_spec& spec) { return std::make_shared<url_shape>(spec); }
std::shared_ptr<const byte_shape> make_triple_shape(const byte_spec& spec) {
  return std::make_shared<triple_shape>(spec);
}

}  // namespace espalier::bench::detail
