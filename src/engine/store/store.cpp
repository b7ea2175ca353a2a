#include "engine/store/store.hpp"

#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "engine/stop.hpp"
#include "engine/store/catalog_file.hpp"
#include "engine/store/folder.hpp"
#include "engine/store/load.hpp"
#include "engine/store/row_files.hpp"

namespace espalier::engine {

// Not unnamed: a class of the header has one, and several files may be compiled as one.
namespace detail {

// Which file holds what. Addresses stand for contents, so whoever has such a list also keeps the tables.
struct known_files {
  std::unordered_map<const arrow::RecordBatch*, file_record> segments;
  std::unordered_map<const arrow::Buffer*, file_record> live;
  std::map<std::uint64_t, file_record> indexes;  // by content
};

}  // namespace detail

namespace {

using detail::known_files;

// Writes what a state has and the known files have not. Unless `keep` is called, files written are removed again.
class state_writer {
 public:
  state_writer(file_layer& layer, const std::filesystem::path& folder, const known_files& known,
               std::uint64_t& next_file)
      : layer_(layer), folder_(folder), known_(known), next_file_(next_file) {}
  state_writer(const state_writer&) = delete;
  state_writer& operator=(const state_writer&) = delete;
  ~state_writer() {
    for (const auto& path : written_) {
      try {
        layer_.remove(path);
      } catch (const std::exception&) {  // then it goes when the database is opened
      }
    }
  }

  table_record write(const saved_table& table) {
    table_record record{table.name, table.about, table.rows->columns(), {}, std::nullopt, {}};
    for (const auto& segment : table.rows->segments()) {
      check_stop();
      record.segments.push_back(file_for(known_.segments, now_.segments, segment.get(), stored_kind::rows,
                                         [&](const auto& path) { return write_segment(layer_, path, *segment); }));
    }
    if (const auto& bits = table.rows->live_bits()) {
      record.live = file_for(known_.live, now_.live, bits.get(), stored_kind::live, [&](const auto& path) {
        return write_live(layer_, path, *bits, table.rows->masked_rows());
      });
    }
    for (const auto& index : table.indexes) record.indexes.push_back(write(index));
    return record;
  }

  bool wrote_any() const { return !written_.empty(); }
  known_files keep() {
    written_.clear();
    return std::move(now_);
  }

 private:
  index_record write(const saved_index& index) {
    index_record record{index.name, index.spec, std::nullopt};
    if (index.save) {
      record.file = file_for(known_.indexes, now_.indexes, index.content, stored_kind::index,
                             [&](const auto& path) { return write_index(path, index); });
    }
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

  template <class Map, class Write>
  file_record file_for(const Map& known, Map& now, const typename Map::key_type& what, stored_kind kind,
                       const Write& write) {
    if (const auto found = known.find(what); found != known.end()) return now[what] = found->second;
    if (const auto found = now.find(what); found != now.end()) return found->second;  // two tables may share rows
    const auto path = folder_ / numbered_name(kind, next_file_++);
    written_.push_back(path);
    return now[what] = write(path);
  }

  file_layer& layer_;
  const std::filesystem::path& folder_;
  const known_files& known_;
  std::uint64_t& next_file_;
  known_files now_;
  std::vector<std::filesystem::path> written_;
};

}  // namespace

struct store::state {
  state(std::filesystem::path f, file_layer& l) : folder(std::move(f)), layer(l), lock(layer, folder) {}

  std::filesystem::path folder;
  file_layer& layer;
  folder_lock lock;
  catalog_record catalog;  // as it is in the folder
  std::vector<loaded_table> loaded;
  std::vector<table_version::pointer> held;  // whose addresses `known` has
  known_files known;
  std::map<std::pair<std::string, std::string>, std::uint64_t> contents;
  std::uint64_t last_content = 0;
  bool must_be_opened_again = false;

  void make_or_read_catalog() {
    if (std::filesystem::exists(folder / catalog_file_name)) {
      catalog = read_catalog(folder);
      return;
    }
    write_catalog(layer, folder, catalog);
    layer.sync_folder(folder);
  }

  void load(const progress& tell) {
    for (const auto& record : catalog.tables) {
      loaded.push_back(load_table(folder, record, row_check::quick, tell));
      const auto& rows = *loaded.back().rows;
      for (std::size_t i = 0; i < record.segments.size(); ++i) {
        known.segments[rows.segments()[i].get()] = record.segments[i];
      }
      if (record.live) known.live[rows.live_bits().get()] = *record.live;
      for (std::size_t i = 0; i < record.indexes.size(); ++i) {
        const auto& index = record.indexes[i];
        contents[{record.name, index.name}] = ++last_content;
        if (loaded.back().indexes[i].sections) known.indexes[last_content] = *index.file;
      }
      held.push_back(loaded.back().rows);
    }
  }

  // Files that only the old state had. What cannot be removed now goes when the database is opened.
  void remove_old_files(const catalog_record& old) {
    std::set<std::string> named;
    for (const auto& file : files_of(catalog)) named.insert(file.name);
    for (const auto& file : files_of(old)) {
      if (named.contains(file.name)) continue;
      try {
        layer.remove(folder / file.name);
      } catch (const error&) {
        return;
      }
    }
  }
};

store::store(std::unique_ptr<state> s) : state_(std::move(s)) {}
store::~store() = default;

std::unique_ptr<store> store::open(const std::filesystem::path& folder, file_layer& layer, const progress& tell) {
  require_database_or_nothing(folder);
  auto opened = std::make_unique<state>(folder, layer);
  opened->make_or_read_catalog();
  remove_leftovers(layer, folder, opened->catalog);
  opened->load(tell);
  return std::unique_ptr<store>(new store(std::move(opened)));
}

const std::vector<loaded_table>& store::tables() const noexcept { return state_->loaded; }
void store::forget_tables() noexcept { state_->loaded.clear(); }
const std::filesystem::path& store::folder() const noexcept { return state_->folder; }
std::uint64_t store::new_content() noexcept { return ++state_->last_content; }

std::uint64_t store::content_of(const std::string& table, const std::string& index) const {
  return state_->contents.at({table, index});
}

void store::commit(const std::vector<saved_table>& tables) {
  if (state_->must_be_opened_again) {
    throw error(fmt::format("Database '{}' has to be opened again after a failed write.", state_->folder.string()));
  }
  state_writer writer(state_->layer, state_->folder, state_->known, state_->catalog.next_file);
  catalog_record next;
  for (const auto& table : tables) next.tables.push_back(writer.write(table));
  next.generation = state_->catalog.generation + 1;
  next.next_file = state_->catalog.next_file;
  if (writer.wrote_any()) state_->layer.sync_folder(state_->folder);
  write_catalog(state_->layer, state_->folder, next);
  state_->known = writer.keep();
  const catalog_record old = std::exchange(state_->catalog, std::move(next));
  state_->held.clear();
  for (const auto& table : tables) state_->held.push_back(table.rows);
  try {
    state_->layer.sync_folder(state_->folder);
  } catch (const error& e) {
    state_->must_be_opened_again = true;
    throw error(
        fmt::format("{} What was written is in place, but may not survive a power failure: open the database "
                    "again.",
                    e.what()));
  }
  state_->remove_old_files(old);
}

}  // namespace espalier::engine
