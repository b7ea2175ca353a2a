#include "engine/store/store.hpp"

#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "engine/stop.hpp"
#include "engine/store/catalog_file.hpp"
#include "engine/store/folder.hpp"
#include "engine/store/load.hpp"
#include "engine/store/mapped_files.hpp"
#include "engine/store/row_files.hpp"

namespace espalier::engine {

// This namespace is named, since a class in the header has a member of such a type and several files may be compiled as
// one.
namespace detail {

// Maps contents to files. Addresses identify contents, so the owner of such a map also keeps the tables alive.
struct known_files {
  std::unordered_map<const arrow::RecordBatch*, file_record> segments;
  std::unordered_map<const arrow::Buffer*, file_record> live;
  std::map<std::uint64_t, file_record> indexes;  // by content number
};

// Files to be removed from a folder as soon as that is safe and possible.
struct garbage {
  std::set<std::string> files;
  std::set<std::string> markers;  // markers of commits whose catalog was not written
};

}  // namespace detail

namespace {

using detail::garbage;
using detail::known_files;

// Removes the files that can be removed, and drops them from the set.
void remove_what_can_be(file_layer& layer, const std::filesystem::path& folder, std::set<std::string>& names) {
  std::erase_if(names, [&](const std::string& name) {
    try {
      layer.remove(folder / name);
      return true;
    } catch (const std::exception&) {  // also if there is no memory for the path
      return false;
    }
  });
}

// Writes the files of a state that do not exist yet. Unless `keep` is called, they are removed again.
class state_writer {
 public:
  state_writer(file_layer& layer, const std::filesystem::path& folder, const known_files& known,
               catalog_record& catalog, garbage& unwanted)
      : layer_(layer), folder_(folder), known_(known), catalog_(catalog), unwanted_(unwanted) {}
  state_writer(const state_writer&) = delete;
  state_writer& operator=(const state_writer&) = delete;
  ~state_writer() {
    if (written_.empty()) return;
    remove_what_can_be(layer_, folder_, written_);
    unwanted_.files.merge(written_);
    if (unwanted_.files.empty()) remove_what_can_be(layer_, folder_, unwanted_.markers);
  }

  table_record write(const saved_table& table) {
    if (!table.rows) return record_of(table.name);
    table_record record{table.name, table.about, table.rows->columns(), {}, std::nullopt, {}};
    for (const auto& segment : table.rows->segments()) {
      check_cancelled();
      record.segments.push_back(file_for(known_.segments, now_.segments, segment.get(), stored_kind::rows,
                                         [&](const auto& path) { return write_segment(layer_, path, *segment); }));
    }
    if (const auto& bits = table.rows->live_bits()) {
      record.live = file_for(known_.live, now_.live, bits.get(), stored_kind::live, [&](const auto& path) {
        return write_live(layer_, path, *bits, table.rows->masked_rows());
      });
    }
    for (const auto& index : table.indexes) record.indexes.push_back(write(index, table.rows->counts()));
    return record;
  }

  bool wrote_any() const { return !written_.empty(); }
  known_files keep() {
    written_.clear();
    return std::move(now_);
  }

 private:
  const table_record& record_of(const std::string& name) const {
    const auto found = std::ranges::find(catalog_.tables, name, &table_record::name);
    if (found == catalog_.tables.end()) throw error(fmt::format("Table '{}' has no rows to write.", name));
    return *found;
  }

  index_record write(const saved_index& index, const row_counts& now) {
    index_record record{index.name, index.spec, std::nullopt};
    const bool has_file = known_.indexes.contains(index.content);
    if (!has_file && !index.save) return record;
    record.file = file_for(known_.indexes, now_.indexes, index.content, stored_kind::index,
                           [&](const auto& path) { return write_index(path, index); });
    if (has_file && index.covers && *index.covers != now) record.covers = index.covers;
    return record;
  }

  file_record write_index(const std::filesystem::path& path, const saved_index& index) {
    output_file file(layer_, path);
    file_section_writer sections(file, index_file_kind);
    index.save(sections);
    const std::uint64_t checksum = sections.finish();
    const std::uint64_t bytes = file.position();
    file.finish();
    return {path.filename().string(), bytes, checksum, 0};
  }

  void mark() {
    const auto name = marker_name({catalog_.generation + 1, catalog_.next_file});
    unwanted_.markers.insert(name);
    layer_.make_empty_file(folder_ / name);
  }

  template <class Map, class Write>
  file_record file_for(const Map& known, Map& now, const typename Map::key_type& what, stored_kind kind,
                       const Write& write) {
    if (const auto found = known.find(what); found != known.end()) return now[what] = found->second;
    if (const auto found = now.find(what); found != now.end()) return found->second;  // two tables may share rows
    if (written_.empty()) mark();
    const auto name = numbered_name(kind, catalog_.next_file++);
    written_.insert(name);
    return now[what] = write(folder_ / name);
  }

  file_layer& layer_;
  const std::filesystem::path& folder_;
  const known_files& known_;
  catalog_record& catalog_;  // catalog of the preceding state; its next_file increases
  garbage& unwanted_;
  known_files now_;
  std::set<std::string> written_;
};

}  // namespace

struct store::state {
  state(std::filesystem::path f, file_layer& l, bool reads_only) : folder(std::move(f)), layer(l), files(folder) {
    if (!reads_only) lock.emplace(layer, folder);
  }

  std::filesystem::path folder;
  file_layer& layer;
  std::optional<folder_lock> lock;  // absent if opened read-only
  catalog_record catalog;           // as in the folder, except that next_file is greater than all numbers in use
  std::string header;               // first line of the catalog in the folder
  garbage unwanted;
  std::vector<loaded_table> loaded;
  std::vector<table_version::pointer> held;  // tables whose addresses are keys of `known`
  known_files known;
  std::map<std::pair<std::string, std::string>, std::uint64_t> contents;
  std::uint64_t last_content = 0;
  mapped_files files;  // files of tables that were not read
  std::vector<listed_table> listed;
  std::set<std::string> damaged;  // tables whose rows could not be read
  bool is_whole = true;           // every file of the catalog exists with the recorded size
  bool poisoned = false;

  void make_or_read_catalog() {
    if (std::filesystem::exists(folder / catalog_file_name)) {
      header = catalog_header(folder);
      catalog = read_catalog(folder);
      return;
    }
    header = write_catalog(layer, folder, catalog);
    layer.sync_folder(folder);
  }

  // Prevents that two processes write, even if the lock was lost.
  void require_own_catalog() {
    if (catalog_header(folder) == header) return;
    poisoned = true;
    throw engine_error(
        fmt::format("Database '{}' was changed by another program since it was opened; nothing was written: open it "
                    "again.",
                    folder.string()),
        codes::object_in_use);
  }

  // Files are mapped now, so that they remain valid if they are unlinked, and read when their table is.
  void list_tables(const progress& tell) {
    for (const auto& record : catalog.tables) {
      auto& table = listed.emplace_back();
      table.name = record.name;
      bool has_rows = true;
      for (const auto& file : record.segments) has_rows &= files.add(file);
      if (record.live) has_rows &= files.add(*record.live);
      is_whole &= has_rows;
      for (const auto& index : record.indexes) {
        table.indexes.push_back(index.name);
        contents[{record.name, index.name}] = ++last_content;
        if (index.file) is_whole &= files.add(*index.file);
      }
      if (!has_rows) table.problem = load_table(files, record, row_check::quick, tell).problem;
      if (!table.problem.empty()) damaged.insert(record.name);
    }
  }

  const table_record& record_of(const std::string& table) const {
    const auto record = std::ranges::find(catalog.tables, table, &table_record::name);
    if (record == catalog.tables.end()) throw error(fmt::format("Table '{}' is not in the catalog.", table));
    return *record;
  }

  loaded_table read(const std::string& name, const progress& tell) {
    const auto& record = record_of(name);
    auto table = load_table(files, record, row_check::quick, tell);
    remember(table);
    for (const auto& segment : record.segments) files.forget(segment);
    if (record.live) files.forget(*record.live);
    for (const auto& index : record.indexes) {
      if (index.file) files.forget(*index.file);
    }
    return table;
  }

  // Records which files hold the table. A commit knows only the files of tables that were loaded.
  void remember(const loaded_table& table) {
    if (!table.rows) {
      damaged.insert(table.name);
      return;
    }
    const auto& record = record_of(table.name);
    for (std::size_t i = 0; i < record.segments.size(); ++i) {
      known.segments[table.rows->segments()[i].get()] = record.segments[i];
    }
    if (record.live) known.live[table.rows->live_bits().get()] = *record.live;
    for (std::size_t i = 0; i < record.indexes.size(); ++i) {
      const auto& index = record.indexes[i];
      if (table.indexes[i].sections) known.indexes[contents.at({table.name, index.name})] = *index.file;
    }
    held.push_back(table.rows);
  }

  void read_all(const progress& tell) {
    for (const auto& table : listed) loaded.push_back(read(table.name, tell));
  }

  // Runs after everything was read, so that files which a damaged or foreign catalog lists as garbage still exist until
  // then. Usually there is no garbage, and nothing is read.
  void collect_garbage(const progress& tell) {
    const auto present = contents_of(folder);
    unwanted.files = leftovers_in(present, catalog);
    catalog.next_file = std::max(catalog.next_file, present.next_number());
    for (const auto& marker : present.markers) {
      // Later markers belong to a newer catalog.
      if (marker.generation <= catalog.generation + 1) unwanted.markers.insert(marker_name(marker));
    }
    if (!unwanted.files.empty()) read_all(tell);
    if (!damaged.empty()) return;
    remove_what_can_be(layer, folder, unwanted.files);
    if (unwanted.files.empty()) remove_markers();
  }

  void remove_markers() {
    for (const auto& name : unwanted.markers) layer.remove(folder / name);
    unwanted.markers.clear();
  }

  // Adds files of the current state that the next one does not have.
  void add_files_missing_in(const catalog_record& next, garbage& to) const {
    std::set<std::string> named;
    for (const auto& file : files_of(next)) named.insert(file.name);
    for (const auto& file : files_of(catalog)) {
      if (!named.contains(file.name)) to.files.insert(file.name);
    }
  }
};

store::store(std::unique_ptr<state> s) : state_(std::move(s)) {}
store::~store() = default;

std::unique_ptr<store> store::open(const std::filesystem::path& folder, file_layer& layer, const progress& tell) {
  require_database_folder(folder);
  auto opened = std::make_unique<state>(folder, layer, false);
  opened->make_or_read_catalog();
  opened->list_tables(tell);
  opened->collect_garbage(tell);
  return std::unique_ptr<store>(new store(std::move(opened)));
}

std::unique_ptr<store> store::open_read_only(const std::filesystem::path& folder, const progress& tell) {
  require_database(folder);
  constexpr int most_attempts = 100;
  for (int attempt = 1;; ++attempt) {
    auto opened = std::make_unique<state>(folder, plain_files(), true);
    opened->header = catalog_header(folder);
    opened->catalog = read_catalog(folder);
    opened->list_tables(tell);
    // A writer may unlink files after the catalog was read and before they are mapped; the folder has a newer catalog
    // then. Mapped files remain valid.
    const bool is_newer = catalog_header(folder) != opened->header;
    if (opened->is_whole || !is_newer || attempt == most_attempts) {
      return std::unique_ptr<store>(new store(std::move(opened)));
    }
  }
}

bool store::poisoned() const noexcept { return state_->poisoned; }
const std::vector<listed_table>& store::list() const noexcept { return state_->listed; }
loaded_table store::read(const std::string& table, const progress& tell) {
  const auto found = std::ranges::find(state_->loaded, table, &loaded_table::name);
  if (found == state_->loaded.end()) return state_->read(table, tell);
  auto read_before = std::move(*found);  // read earlier, when garbage was to be removed
  state_->loaded.erase(found);
  state_->remember(read_before);
  return read_before;
}
const std::vector<loaded_table>& store::tables() {
  if (state_->loaded.empty()) state_->read_all({});
  return state_->loaded;
}
void store::forget_tables() noexcept { state_->loaded.clear(); }
const std::filesystem::path& store::folder() const noexcept { return state_->folder; }
std::uint64_t store::new_content() noexcept { return ++state_->last_content; }

std::uint64_t store::content_of(const std::string& table, const std::string& index) const {
  return state_->contents.at({table, index});
}

void store::commit(const std::vector<saved_table>& tables) {
  if (!state_->lock) {
    throw engine_error(fmt::format("Database '{}' is open read-only.", state_->folder.string()),
                       codes::read_only_database);
  }
  if (state_->poisoned) {
    throw engine_error(
        fmt::format("Database '{}' has to be opened again after a failed write.", state_->folder.string()),
        codes::io_error);
  }
  state_->require_own_catalog();  // before files are written under numbers that another program may have used
  state_writer writer(state_->layer, state_->folder, state_->known, state_->catalog, state_->unwanted);
  catalog_record next;
  for (const auto& table : tables) next.tables.push_back(writer.write(table));
  next.generation = state_->catalog.generation + 1;
  next.next_file = state_->catalog.next_file;
  garbage after = state_->unwanted;
  state_->add_files_missing_in(next, after);
  next.obsolete.assign(after.files.begin(), after.files.end());
  // What is needed after the commit is allocated before.
  decltype(state_->held) held;
  for (const auto& table : tables) held.push_back(table.rows);
  std::vector<std::filesystem::path> markers;
  for (const auto& name : after.markers) markers.push_back(state_->folder / name);
  file_use_scope::require_whole();
  if (writer.wrote_any()) state_->layer.sync_folder(state_->folder);
  state_->require_own_catalog();
  state_->header = write_catalog(state_->layer, state_->folder, next);
  state_->known = writer.keep();
  state_->catalog = std::move(next);
  state_->unwanted = std::move(after);
  state_->held = std::move(held);
  std::erase_if(state_->damaged, [&](const std::string& name) {  // the table was dropped
    return std::ranges::none_of(tables, [&](const saved_table& t) { return t.name == name && !t.rows; });
  });
  try {
    // Markers are removed before the sync: a marker that survives an acknowledged commit could cause the removal of its
    // files.
    for (const auto& marker : markers) state_->layer.remove(marker);
    state_->unwanted.markers.clear();
    state_->layer.sync_folder(state_->folder);
  } catch (const error& e) {
    state_->poisoned = true;
    throw engine_error(
        fmt::format("{} What was written is in place, but may not survive a power failure: open the database "
                    "again.",
                    e.what()),
        codes::io_error);
  }
  if (state_->damaged.empty()) remove_what_can_be(state_->layer, state_->folder, state_->unwanted.files);
}

}  // namespace espalier::engine
