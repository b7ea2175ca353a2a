// pointer_art.cpp - see pointer_art.hpp.
#include "bench/peers/pointer_art.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "espalier/core/error.hpp"

namespace espalier::bench {
namespace {

using link = pointer_art::link;

constexpr std::uint32_t stored_prefix = 8;

enum class kind : std::uint8_t { of_4, of_16, of_48, of_256 };

struct node {
  kind what;
  std::uint16_t children = 0;
  std::uint32_t prefix_length = 0;
  std::uint8_t prefix[stored_prefix] = {};  ///< first bytes of the path
};
/// The keys of nodes of 4 and 16 ascend.
struct node_4 : node {
  static constexpr std::uint16_t room = 4;
  std::uint8_t keys[room] = {};
  link links[room] = {};
};
struct node_16 : node {
  static constexpr std::uint16_t room = 16;
  std::uint8_t keys[room] = {};
  link links[room] = {};
};
struct node_48 : node {
  static constexpr std::uint16_t room = 48;
  std::uint8_t slots[256] = {};  ///< 0 if there is none, otherwise the number of its link plus one
  link links[room] = {};
};
struct node_256 : node {
  link links[256] = {};
};

struct leaf {
  std::uint64_t value;
  std::size_t length;
  [[nodiscard]] char* bytes() { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] std::string_view key() { return {bytes(), length}; }
};

bool is_leaf(link l) { return (l & 1) != 0; }
leaf* leaf_of(link l) { return reinterpret_cast<leaf*>(l - 1); }
node* node_of(link l) { return reinterpret_cast<node*>(l); }
link link_to(const node* n) { return reinterpret_cast<link>(n); }

link new_leaf(std::string_view key, std::uint64_t value) {
  void* const memory = std::malloc(sizeof(leaf) + key.size());
  if (memory == nullptr) throw std::bad_alloc();
  auto* const l = new (memory) leaf{value, key.size()};
  std::memcpy(l->bytes(), key.data(), key.size());
  return reinterpret_cast<link>(l) + 1;
}

template <class Node>
Node* new_node(kind what) {
  auto* const n = new Node;
  n->what = what;
  return n;
}

std::uint8_t byte_at(std::string_view key, std::size_t at) {
  if (at >= key.size()) throw error("pointer_art: a key is the beginning of another.");
  return static_cast<std::uint8_t>(key[at]);
}

/// Compares all 16 keys at once, as ART does with vector instructions; those after the last child are ignored.
link* find_in_16(node_16& n, std::uint8_t byte) {
  using bytes_16 = std::uint8_t __attribute__((vector_size(16)));
  bytes_16 keys;
  std::memcpy(&keys, n.keys, sizeof keys);
  const auto same = keys == bytes_16{} + byte;
  std::uint64_t halves[2];
  std::memcpy(halves, &same, sizeof halves);
  const unsigned at = halves[0] != 0 ? static_cast<unsigned>(std::countr_zero(halves[0])) / 8
                                     : 8 + static_cast<unsigned>(std::countr_zero(halves[1])) / 8;
  return at < n.children ? n.links + at : nullptr;
}

link* find_child(node* n, std::uint8_t byte) {
  switch (n->what) {
    case kind::of_4: {
      auto& small = *static_cast<node_4*>(n);
      for (unsigned i = 0; i < n->children; ++i) {
        if (small.keys[i] == byte) return small.links + i;
      }
      return nullptr;
    }
    case kind::of_16:
      return find_in_16(*static_cast<node_16*>(n), byte);
    case kind::of_48: {
      auto& large = *static_cast<node_48*>(n);
      return large.slots[byte] == 0 ? nullptr : large.links + (large.slots[byte] - 1);
    }
    default: {
      link* const at = static_cast<node_256*>(n)->links + byte;
      return *at == 0 ? nullptr : at;
    }
  }
}

template <class F>
void for_each_child(node* n, const F& f) {
  const auto each = [&](const auto& of, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      if (of.links[i] != 0) f(of.links[i]);
    }
  };
  switch (n->what) {
    case kind::of_4:
      return each(*static_cast<node_4*>(n), n->children);
    case kind::of_16:
      return each(*static_cast<node_16*>(n), n->children);
    case kind::of_48:
      return each(*static_cast<node_48*>(n), n->children);
    default:
      return each(*static_cast<node_256*>(n), 256);
  }
}

/// Returns any leaf below the node; all of them share the path to it.
leaf* any_leaf(link l) {
  while (!is_leaf(l)) {
    link below = 0;
    for_each_child(node_of(l), [&](link child) { below = child; });
    l = below;
  }
  return leaf_of(l);
}

void free_node(node* n) {
  switch (n->what) {
    case kind::of_4:
      delete static_cast<node_4*>(n);
      return;
    case kind::of_16:
      delete static_cast<node_16*>(n);
      return;
    case kind::of_48:
      delete static_cast<node_48*>(n);
      return;
    default:
      delete static_cast<node_256*>(n);
  }
}

void free_all(link l) {
  if (l == 0) return;
  if (is_leaf(l)) {
    std::free(leaf_of(l));
    return;
  }
  for_each_child(node_of(l), [](link child) { free_all(child); });
  free_node(node_of(l));
}

void copy_head(const node& from, node& to) {
  to.children = from.children;
  to.prefix_length = from.prefix_length;
  std::memcpy(to.prefix, from.prefix, stored_prefix);
}

// ---- a node with one child more, grown if it is full ----------------------------------------------------------

template <class Small>
void add_in_order(Small& n, std::uint8_t byte, link child) {
  unsigned at = n.children;
  for (; at > 0 && n.keys[at - 1] > byte; --at) {
    n.keys[at] = n.keys[at - 1];
    n.links[at] = n.links[at - 1];
  }
  n.keys[at] = byte;
  n.links[at] = child;
  ++n.children;
}

node* grown(node_4& n) {
  auto* const to = new_node<node_16>(kind::of_16);
  copy_head(n, *to);
  std::copy_n(n.keys, n.children, to->keys);
  std::copy_n(n.links, n.children, to->links);
  return to;
}
node* grown(node_16& n) {
  auto* const to = new_node<node_48>(kind::of_48);
  copy_head(n, *to);
  for (unsigned i = 0; i < n.children; ++i) to->slots[n.keys[i]] = static_cast<std::uint8_t>(i + 1);
  std::copy_n(n.links, n.children, to->links);
  return to;
}
node* grown(node_48& n) {
  auto* const to = new_node<node_256>(kind::of_256);
  copy_head(n, *to);
  for (unsigned b = 0; b < 256; ++b) {
    if (n.slots[b] != 0) to->links[b] = n.links[n.slots[b] - 1];
  }
  return to;
}

void add_child(link& at, std::uint8_t byte, link child);

template <class Node>
void grow_and_add(link& at, Node& n, std::uint8_t byte, link child) {
  at = link_to(grown(n));
  free_node(&n);
  add_child(at, byte, child);
}

void add_child(link& at, std::uint8_t byte, link child) {
  node* const n = node_of(at);
  switch (n->what) {
    case kind::of_4: {
      auto& small = *static_cast<node_4*>(n);
      if (n->children == node_4::room) return grow_and_add(at, small, byte, child);
      return add_in_order(small, byte, child);
    }
    case kind::of_16: {
      auto& small = *static_cast<node_16*>(n);
      if (n->children == node_16::room) return grow_and_add(at, small, byte, child);
      return add_in_order(small, byte, child);
    }
    case kind::of_48: {
      auto& large = *static_cast<node_48*>(n);
      if (n->children == node_48::room) return grow_and_add(at, large, byte, child);
      large.links[n->children] = child;
      large.slots[byte] = static_cast<std::uint8_t>(++n->children);
      return;
    }
    default:
      static_cast<node_256*>(n)->links[byte] = child;
      ++n->children;
  }
}

// ---- paths -----------------------------------------------------------------------------------------------------

std::uint32_t common_bytes(std::string_view a, std::string_view b, std::size_t from) {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t at = from;
  while (at < most && a[at] == b[at]) ++at;
  return static_cast<std::uint32_t>(at - from);
}

void set_prefix(node& n, std::string_view key, std::size_t from, std::uint32_t length) {
  n.prefix_length = length;
  std::memcpy(n.prefix, key.data() + from, std::min(length, stored_prefix));
}

/// Returns false if bytes that the node does not store are decisive.
bool matches_stored_path(const node& n, std::string_view key, std::size_t depth) {
  return n.prefix_length <= stored_prefix && depth + n.prefix_length <= key.size() &&
         std::memcmp(n.prefix, key.data() + depth, n.prefix_length) == 0;
}

/// Inserts a node above `at` whose path is the first `shared` bytes after `depth`; `old` is a key below `at`.
void split(link& at, std::string_view old, std::string_view key, std::size_t depth, std::uint32_t shared,
           std::uint64_t value) {
  const std::uint8_t old_byte = byte_at(old, depth + shared), new_byte = byte_at(key, depth + shared);
  auto* const above = new_node<node_4>(kind::of_4);
  set_prefix(*above, key, depth, shared);
  if (!is_leaf(at)) {
    node& below = *node_of(at);
    set_prefix(below, old, depth + shared + 1, below.prefix_length - shared - 1);
  }
  add_in_order(*above, old_byte, at);
  add_in_order(*above, new_byte, new_leaf(key, value));
  at = link_to(above);
}

}  // namespace

pointer_art::~pointer_art() { free_all(root_); }

std::uint64_t* pointer_art::find(std::string_view key) const {
  link at = root_;
  std::size_t depth = 0;
  while (at != 0 && !is_leaf(at)) {
    node* const n = node_of(at);
    const std::uint32_t stored = std::min(n->prefix_length, stored_prefix);
    if (depth + n->prefix_length >= key.size()) return nullptr;
    if (std::memcmp(n->prefix, key.data() + depth, stored) != 0) return nullptr;
    depth += n->prefix_length;
    const link* const child = find_child(n, static_cast<std::uint8_t>(key[depth]));
    if (child == nullptr) return nullptr;
    at = *child;
    ++depth;
  }
  if (at == 0 || leaf_of(at)->key() != key) return nullptr;
  return &leaf_of(at)->value;
}

bool pointer_art::insert(std::string_view key, std::uint64_t value) {
  link* at = &root_;
  std::size_t depth = 0;
  for (;;) {
    if (*at == 0) {
      *at = new_leaf(key, value);
      break;
    }
    if (is_leaf(*at)) {
      const std::string_view old = leaf_of(*at)->key();
      if (old == key) return false;
      split(*at, old, key, depth, common_bytes(old, key, depth), value);
      break;
    }
    node* const n = node_of(*at);
    if (!matches_stored_path(*n, key, depth)) {
      const std::string_view old = any_leaf(*at)->key();
      const std::uint32_t shared = common_bytes(old, key, depth);
      if (shared < n->prefix_length) {
        split(*at, old, key, depth, shared, value);
        break;
      }
    }
    depth += n->prefix_length;
    const std::uint8_t byte = byte_at(key, depth);
    link* const child = find_child(n, byte);
    if (child == nullptr) {
      add_child(*at, byte, new_leaf(key, value));
      break;
    }
    at = child;
    ++depth;
  }
  ++size_;
  return true;
}

pointer_art::node_counts pointer_art::count_nodes() const {
  node_counts counts;
  const auto count = [&counts](const auto& self, link l) -> void {
    if (l == 0 || is_leaf(l)) return;
    ++counts.of[static_cast<unsigned>(node_of(l)->what)];
    for_each_child(node_of(l), [&](link child) { self(self, child); });
  };
  count(count, root_);
  return counts;
}

}  // namespace espalier::bench
