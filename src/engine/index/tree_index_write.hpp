// tree_index_write.hpp - changes of tree_index. Included by tree_index.cpp.
//
// Lists are written first, then the tree, in two writes each of which is atomic. Every step is recorded before the next
// one, so that a revert can start from wherever the change failed.
#pragma once

#include <algorithm>

#include "engine/index/tree_index.hpp"

namespace espalier::engine {

template <class Side, class Word>
class tree_index<Side, Word>::change final : public core_change {
 public:
  change(tree_index& core, const keyed_rows& erased, const keyed_rows& inserted, bool unique)
      : core_(core), size_(core.size_ - erased.rows.size() + inserted.rows.size()) {
    try {
      edit_nulls(erased, inserted);
      edit_keys(erased, inserted, unique);
      write();
    } catch (...) {
      take_back();
      throw;
    }
  }
  ~change() override {
    if (is_undone_) return;
    if (!committed_) {
      take_back();
      return;
    }
    for (const std::uint64_t list : emptied_) core_.lists_.free_list(list);
  }

  void commit() noexcept override {
    std::swap(core_.size_, size_);
    committed_ = true;
  }
  void undo() noexcept override {
    take_back();
    std::swap(core_.size_, size_);
    is_undone_ = true;
  }
  bool undoes_later_changes() const noexcept override { return false; }

 private:
  struct edit {
    Word key;
    std::uint64_t row;
    bool inserted;
    bool exempt;  // a key column is NULL, so duplicates are allowed
  };
  using rows = posting_lists::list;

  void edit_nulls(const keyed_rows& erased, const keyed_rows& inserted) {
    const auto aside = [this](const keyed_rows& from) {
      rows out;
      for (std::size_t i = 0; i < from.rows.size(); ++i) {
        if (core_.is_null_key(from.keys, i)) out.push_back(from.rows[i]);
      }
      std::sort(out.begin(), out.end());
      return out;
    };
    const rows out = aside(erased);
    const rows in = aside(inserted);
    require_there(core_.lists_.rows(posting_lists::nulls), out);
    edit_list(posting_lists::nulls, out, in);
  }

  static void require_there(std::span<const std::uint64_t> there, const rows& out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!std::binary_search(there.begin(), there.end(), out[i]) || (i != 0 && out[i] == out[i - 1]))
        throw error("internal error: row " + std::to_string(out[i]) + " is not in the index, or is erased twice.");
    }
  }

  void edit_list(std::uint64_t list, const rows& out, const rows& in) {
    if (out.empty() && in.empty()) return;
    formers_.reserve(formers_.size() + 1);
    formers_.push_back(core_.lists_.edit(list, out, in));
  }

  void edit_keys(const keyed_rows& erased, const keyed_rows& inserted, bool unique) {
    std::vector<edit> edits;
    const auto add = [&](const keyed_rows& from, bool in) {
      for (std::size_t i = 0; i < from.rows.size(); ++i) {
        if (!core_.is_null_key(from.keys, i))
          edits.push_back({static_cast<Word>(from.keys.words[i]), from.rows[i], in, from.keys.has_null(i)});
      }
    };
    add(erased, false);
    add(inserted, true);
    std::sort(edits.begin(), edits.end(),
              [](const edit& a, const edit& b) { return std::pair(a.key, a.row) < std::pair(b.key, b.row); });
    std::vector<Word> keys;
    for (const edit& e : edits) {
      if (keys.empty() || keys.back() != e.key) keys.push_back(e.key);
    }
    std::vector<std::uint64_t> values(keys.size());
    std::vector<std::uint8_t> found(keys.size());
    if (!keys.empty()) core_.tree_.find(keys, values, found);
    std::size_t from = 0;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      std::size_t to = from;
      while (to < edits.size() && edits[to].key == keys[k]) ++to;
      edit_key(std::span(edits).subspan(from, to - from), found[k] != 0, values[k], unique);
      from = to;
    }
  }

  void edit_key(std::span<const edit> edits, bool is_there, std::uint64_t value, bool unique) {
    rows out, in;
    for (const edit& e : edits) (e.inserted ? in : out).push_back(e.row);
    const auto there = is_there ? core_.lists_.rows(value) : std::span<const std::uint64_t>();
    require_there(there, out);
    const std::size_t left = there.size() - out.size() + in.size();
    if (unique && !in.empty() && left > 1 && !edits.front().exempt) throw duplicate_key{in.back()};
    if (is_there && posting_lists::is_list(value)) {
      edit_list(value, out, in);
      if (left > 1) return;
      emptied_.push_back(value);
      return left == 0 ? erase(edits.front().key, value)
                       : assign(edits.front().key, core_.lists_.rows(value)[0], is_there, value);
    }
    const rows next = posting_lists::edited(there, out, in);
    if (left == 0) return erase(edits.front().key, value);
    if (left == 1) return assign(edits.front().key, next[0], is_there, value);
    made_.reserve(made_.size() + 1);
    made_.push_back(core_.lists_.make(next));
    assign(edits.front().key, made_.back(), is_there, value);
  }

  void assign(Word key, std::uint64_t value, bool was_there, std::uint64_t old) {
    assigned_.push_back(key);
    values_.push_back(value);
    if (was_there) {
      changed_.push_back(key);
      old_values_.push_back(old);
    } else {
      new_.push_back(key);
    }
  }
  void erase(Word key, std::uint64_t old) {
    gone_.push_back(key);
    gone_values_.push_back(old);
  }

  void write() {
    has_begun_ = true;
    if (!assigned_.empty()) Side::assign(core_.tree_, assigned_, values_);
    if (!gone_.empty()) Side::erase(core_.tree_, gone_);
  }

  void take_back() noexcept {
    try {
      if (has_begun_ && !new_.empty()) Side::erase(core_.tree_, new_);
      if (has_begun_ && !changed_.empty()) Side::assign(core_.tree_, changed_, old_values_);
      if (has_begun_ && !gone_.empty()) Side::assign(core_.tree_, gone_, gone_values_);
    } catch (...) {
      core_.broken_ = true;
    }
    for (const std::uint64_t list : made_) core_.lists_.free_list(list);
    for (auto f = formers_.rbegin(); f != formers_.rend(); ++f) core_.lists_.put_back(*f);
  }

  tree_index& core_;
  std::uint64_t size_;  // size of the core after the change; after the commit, the size before it
  std::vector<posting_lists::former> formers_;
  std::vector<std::uint64_t> made_;     // created lists
  std::vector<std::uint64_t> emptied_;  // lists that are freed once the change cannot be undone any more
  std::vector<Word> assigned_;
  std::vector<std::uint64_t> values_;
  std::vector<Word> changed_, new_;  // of those: keys that existed, with their old values, and new keys
  std::vector<std::uint64_t> old_values_;
  std::vector<Word> gone_;
  std::vector<std::uint64_t> gone_values_;
  bool has_begun_ = false;  // the tree has been written to
  bool committed_ = false;
  bool is_undone_ = false;
};

template <class Side, class Word>
std::unique_ptr<core_change> tree_index<Side, Word>::prepare(const keyed_rows& erased, const keyed_rows& inserted,
                                                             bool unique) {
  require_whole();
  return std::make_unique<change>(*this, erased, inserted, unique);
}

}  // namespace espalier::engine
