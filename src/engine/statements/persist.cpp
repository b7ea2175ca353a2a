#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "engine/json_tree.hpp"
#include "engine/statements/open_transaction.hpp"
#include "engine/statements/session.hpp"
#include "engine/store/load.hpp"
#include "engine/store/store.hpp"

namespace espalier::engine {
namespace {

using nlohmann::json;

std::string spec_text(const index_spec& spec) {
  json_tree out(json::object());
  (*out)["columns"] = spec.columns;
  (*out)["unique"] = spec.unique;
  (*out)["using"] = to_string(spec.kind);
  (*out)["include"] = spec.included;
  return out->dump();
}

index_spec spec_from(const std::string& name, const std::string& text, const table_version& table) {
  index_spec out;
  out.name = name;
  const json_tree owned(json::parse(text, nullptr, false));
  const auto& fields = *owned;
  bool valid = fields.is_object();
  try {
    if (valid) {
      out.columns = fields.at("columns").get<std::vector<std::size_t>>();
      out.included = fields.at("include").get<std::vector<std::size_t>>();
      out.unique = fields.at("unique").get<bool>();
      const auto wanted = fields.at("using").get<std::string>();
      valid = false;
      for (const auto kind :
           {index_kind::static_tree, index_kind::blink, index_kind::radix, index_kind::hybrid, index_kind::automatic}) {
        if (to_string(kind) != wanted) continue;
        out.kind = kind;
        valid = true;
      }
    }
  } catch (const json::exception&) {
    valid = false;
  }
  const auto exists = [&](std::size_t column) { return column < table.columns().size(); };
  valid = valid && !out.columns.empty() && std::all_of(out.columns.begin(), out.columns.end(), exists) &&
          std::all_of(out.included.begin(), out.included.end(), exists);
  if (!valid)
    throw error(fmt::format("The definition of the index '{}' in the database's folder cannot be read.", name));
  return out;
}

// In the order of column_rule.
constexpr std::string_view rule_names[] = {"none", "varchar", "char", "numeric"};

// Returns the table properties that the store keeps besides rows and indexes; empty in databases of earlier versions.
std::string about_text(const table_entry& entry) {
  json_tree out(json::object());
  auto& constraints = (*out)["constraints"] = json::array();
  for (const auto& constraint : entry.constraints) {
    auto& described = constraints.emplace_back(json::object());
    described["index"] = constraint.index;
    described["primary"] = constraint.primary;
  }
  auto& declarations = (*out)["declarations"] = json::array();
  for (const auto& [rule, length] : entry.declarations) {
    auto& described = declarations.emplace_back(json::object());
    described["rule"] = rule_names[static_cast<std::size_t>(rule)];
    described["length"] = length;
  }
  return out->dump();
}

std::vector<column_declaration> declarations_from(const std::string& about) {
  std::vector<column_declaration> out;
  const json_tree owned(json::parse(about, nullptr, false));
  const auto& fields = *owned;
  if (!fields.is_object() || !fields.contains("declarations")) return out;
  try {
    for (const auto& declaration : fields["declarations"]) {
      const auto* const found = std::ranges::find(rule_names, declaration.at("rule").get<std::string>());
      if (found == std::end(rule_names)) throw error("The columns of a table in the database's folder cannot be read.");
      out.push_back({static_cast<column_rule>(found - std::begin(rule_names)), declaration.at("length").get<int>()});
    }
  } catch (const json::exception&) {
    throw error("The columns of a table in the database's folder cannot be read.");
  }
  return out;
}

std::vector<key_constraint> constraints_from(const std::string& about) {
  std::vector<key_constraint> out;
  const json_tree owned(json::parse(about, nullptr, false));
  const auto& fields = *owned;
  if (!fields.is_object() || !fields.contains("constraints")) return out;
  try {
    for (const auto& constraint : fields["constraints"]) {
      out.push_back({constraint.at("index").get<std::string>(), constraint.at("primary").get<bool>()});
    }
  } catch (const json::exception&) {
    throw error("The constraints of a table in the database's folder cannot be read.");
  }
  return out;
}

saved_index definition_of(const table_index& index) {
  saved_index out;
  out.name = index.spec().name;
  out.spec = spec_text(index.spec());
  return out;
}

// Drops the files that a change of the table discards.
void forget_files(kept_indexes& kept, const table_entry& changed, index_files files) {
  if (files == index_files::current) return;
  for (const auto& index : changed.indexes) {
    const auto found = kept.find(index->spec().name);
    if (found == kept.end()) continue;
    if (files == index_files::gone || !found->second.is_close_to(changed.version->counts())) kept.erase(found);
  }
}

}  // namespace

void session::load(file_layer& files) {
  if (options_.handle_sigbus) install_sigbus_handler();
  store_ = options_.read_only ? store::open_read_only(options_.path) : store::open(options_.path, files);
  for (const auto& table : store_->list()) {
    if (table.problem.empty()) {
      tables_.put_unread(table.name, table.indexes, [this, name = table.name] { return read_table(name); });
    } else {
      tables_.put_damaged(table.name, table.indexes, table.problem);
      warn_of_damage(table.problem);
    }
  }
}

void session::warn_of_damage(const std::string& problem) {
  warnings_.push_back(fmt::format("{} Other tables can be used; DROP TABLE gives this one up.", problem));
}

std::shared_ptr<const table_entry> session::read_table(const std::string& name) {
  auto found = half_read_.find(name);
  if (found == half_read_.end()) found = half_read_.emplace(name, store_->read(name)).first;
  const auto& table = found->second;
  if (!table.rows) {
    const auto problem = table.problem;
    half_read_.erase(found);
    warn_of_damage(problem);
    throw engine_error(problem, codes::data_corrupted);
  }
  auto entry = std::make_shared<table_entry>();
  entry->name = table.name;
  entry->version = table.rows;
  entry->constraints = constraints_from(table.about);
  entry->declarations = declarations_from(table.about);
  entry->files = table.files;
  kept_indexes kept;
  for (const auto& index : table.indexes) {
    auto spec = spec_from(index.name, index.spec, *table.rows);
    std::uint64_t content = 0;
    if (index.sections) {
      content = store_->content_of(table.name, index.name);
      kept[index.name] = {content, index.covers.value_or(table.rows->counts())};
    }
    entry->indexes.push_back(table_index::deferred(
        table.rows, spec, device_,
        [this, name = table.name, index, spec, content, files = table.files](const table_version::pointer& rows) {
          return loaded_or_built({name, rows, files}, index, spec, content);
        }));
    if (!options_.rebuild_damaged_indexes) entry->indexes.back()->open();
  }
  // The file has the committed state, to which a ROLLBACK returns, too.
  if (transaction_) transaction_->files.insert(kept.begin(), kept.end());
  index_file_versions_.insert(kept.begin(), kept.end());
  half_read_.erase(found);
  return entry;
}

// An index can always be rebuilt from the rows: a damaged file costs the time of a build but never a wrong result.
std::unique_ptr<table_index> session::loaded_or_built(const indexed_table& table, const loaded_index& index,
                                                      const index_spec& spec, std::uint64_t content) {
  std::string problem = index.problem;
  if (index.sections) {
    try {
      if (auto loaded = table_index::load(table.rows, spec, index.sections, device_, index.covers)) {
        table.files->add(index.sections->file());
        record_layout(index.name, content, loaded->layout());
        return loaded;
      }
    } catch (const damaged_file& e) {
      problem = e.finding();
    }
  }
  if (!problem.empty() && !options_.rebuild_damaged_indexes) {
    throw error(rebuild_notice(problem, index.name, table.name));
  }
  auto built = table_index::build(table.rows, spec, device_);
  record_layout(index.name, content, std::nullopt);
  if (!problem.empty()) {
    const std::scoped_lock lock(opening_);
    warnings_.push_back(
        fmt::format("{}: index '{}' was rebuilt from the rows of table '{}'.", problem, index.name, table.name));
  }
  return built;
}

void session::record_layout(const std::string& index, std::uint64_t content, const std::optional<std::string>& layout) {
  const std::scoped_lock lock(opening_);
  const auto record = [&](kept_indexes& kept) {
    const auto found = kept.find(index);
    if (found == kept.end() || found->second.content != content) return;
    if (layout) {
      found->second.layout = layout;
    } else {
      kept.erase(found);
    }
  };
  record(index_file_versions_);
  if (transaction_) record(transaction_->files);
}

void session::keep(const table_entry* changed, const std::vector<std::string>& removed, index_files files,
                   query_timings& timings) {
  file_use_scope::require_whole();  // rows that are written or kept until COMMIT may have been read from these files
  if (!transaction_) return write(changed, removed, files, timings);
  for (const auto& used : file_use_scope::current()) transaction_->used.insert(used);
  auto kept = index_file_versions_;
  for (const auto& name : removed) {
    for (const auto& index : tables_.indexes_of(name)) kept.erase(index);
  }
  if (changed) forget_files(kept, *changed, files);
  index_file_versions_ = std::move(kept);
  transaction_->has_changes = true;
}

void session::write(const table_entry* changed, const std::vector<std::string>& removed, index_files files,
                    query_timings& timings, const std::set<const table_entry*>& with_indexes) {
  if (!store_) return;
  const stopwatch watch(timings.save);
  auto kept = index_file_versions_;
  if (changed) forget_files(kept, *changed, files);
  std::vector<saved_table> all;
  const auto add = [&](const table_entry& entry) {
    auto& table = all.emplace_back();
    table.name = entry.name;
    table.about = about_text(entry);
    table.rows = entry.version;
    const bool writes_files = (&entry == changed && files == index_files::current) || with_indexes.contains(&entry);
    for (const auto& index : entry.indexes) {
      auto& saved = table.indexes.emplace_back(definition_of(*index));
      if (writes_files && index->is_open() && !kept.contains(saved.name)) {
        kept[saved.name] = {store_->new_content(), entry.version->counts(), index->layout()};
        saved.save = [index](section_writer& to) { index->save(to); };
      }
      const auto found = kept.find(saved.name);
      if (found == kept.end()) continue;
      saved.content = found->second.content;
      saved.covers = found->second.covers;
    }
  };
  for (const auto& name : tables_.names()) {
    if (std::ranges::find(removed, name) != removed.end()) {
      for (const auto& index : tables_.indexes_of(name)) kept.erase(index);
    } else if (const auto entry = tables_.find_in_memory(name); !entry) {
      all.push_back({name, "", nullptr, {}});  // it stays unchanged in the folder
    } else if (!(changed && name == changed->name)) {
      add(*entry);
    }
  }
  if (changed) add(*changed);
  store_->commit(all);
  index_file_versions_ = std::move(kept);
}

void session::save_indexes() {
  write_group();
  if (!store_ || options_.read_only || transaction_) return;
  std::vector<catalog::entry_ptr> lacking_files;
  for (const auto& entry : tables_.all_in_memory()) {
    bool lacks_files = false;
    for (const auto& index : entry->indexes) {
      if (!index->is_open()) continue;  // it is not changed; without a file it is built when it is used
      const auto found = index_file_versions_.find(index->spec().name);
      // A file with another layout might not be able to encode the added rows.
      if (found != index_file_versions_.end() && found->second.layout == index->layout()) continue;
      if (found != index_file_versions_.end()) index_file_versions_.erase(found);
      lacks_files = true;
    }
    if (lacks_files) lacking_files.push_back(entry);
  }
  const auto save = [this](std::span<const catalog::entry_ptr> entries) {
    const file_use_scope read;  // saving an index may read the rows
    std::set<const table_entry*> with_indexes;
    for (const auto& entry : entries) {
      file_use_scope::add(entry->files);
      with_indexes.insert(entry.get());
    }
    file_use_scope::require_whole();
    query_timings timings;
    write(nullptr, {}, index_files::current, timings, with_indexes);
  };
  if (lacking_files.empty()) return;
  try {
    save(lacking_files);  // each commit writes the whole catalog
  } catch (const error&) {
    if (lacking_files.size() == 1) throw;
    // One table may have caused it, or the files of all of them have no room next to those that they replace.
    for (std::size_t i = 0; i < lacking_files.size(); ++i) save(std::span(lacking_files).subspan(i, 1));
  }
}

}  // namespace espalier::engine
