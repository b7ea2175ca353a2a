// damage_test.cpp - bit flips, cuts and additions anywhere in every kind of file: refused, or for an index, which can
// be rebuilt, noted; never a crash.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "engine/store/catalog_file.hpp"
#include "engine/store/store.hpp"
#include "engine_store/sample_states.hpp"
#include "support/less_work.hpp"
#include "support/load_any_file.hpp"
#include "support/scratch_folder.hpp"

namespace {

using namespace espalier::engine;
using namespace espalier::test;

using byte_string = std::vector<std::uint8_t>;

byte_string bytes_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put_bytes(const std::filesystem::path& path, const byte_string& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// One change that makes other bytes of them.
byte_string damaged(const byte_string& good, std::mt19937_64& random) {
  byte_string bad = good;
  switch (random() % 4) {
    case 0:
    case 1:
      bad[random() % bad.size()] ^= static_cast<std::uint8_t>(1U << (random() % 8));
      break;
    case 2:
      bad.resize(random() % bad.size());
      break;
    default:
      bad.insert(bad.end(), 1 + random() % 100, static_cast<std::uint8_t>(random()));
  }
  return bad;
}

// What is said of damaged rows or a damaged catalog: nothing where both are right.
std::string problem_of_rows(const std::filesystem::path& folder) {
  try {
    const auto opened = store::open(folder);
    for (const auto& table : opened->tables()) {
      EXPECT_EQ(table.rows == nullptr, !table.problem.empty());
      if (!table.rows) return table.problem;
    }
    return "";
  } catch (const espalier::error& e) {
    return e.what();
  }
}

// What is found about files of indexes: some when the database is opened, the rest when sections are asked for.
std::string index_problem(const std::filesystem::path& folder) {
  const auto opened = store::open(folder);
  for (const auto& table : opened->tables()) {
    for (const auto& index : table.indexes) {
      if (!index.problem.empty()) return index.sections ? "a problem, and sections nevertheless" : index.problem;
      try {
        if (index.sections) index.sections->check_all();
      } catch (const damaged_file& e) {
        return e.finding();
      }
    }
  }
  return {};
}

bool is_index(const std::string& file) { return file.starts_with("index-"); }

// As the fuzzer found: a number that no counter holds was converted, not refused.
TEST(DamagedCatalog, NumbersThatAreNoCountersAreRefused) {
  const auto refused = [](const std::string& generation) {
    try {
      (void)parse_catalog_contents(R"({"generation":)" + generation + R"(,"next_file":3,"tables":[]})", "catalog");
      return false;
    } catch (const espalier::error&) {
      return true;
    }
  };
  EXPECT_FALSE(refused("2"));
  for (const std::string number : {"-2", "2.5", "1e3", "33333333333333333333333333", "true", "\"2\"", "null", "[2]"})
    EXPECT_TRUE(refused(number)) << number;
}

// The version says what a program has to know, and nothing else is in a catalog of the other version.
TEST(DamagedCatalog, TheVersionGoesWithTheContents) {
  catalog_record catalog;
  catalog.tables.push_back({"t", "", {{"a", {type_id::int32}, true}}, {}, std::nullopt, {}});
  catalog.tables[0].indexes.push_back({"i", "", file_record{"index-000001.sections", 64, 1, 0}});
  const auto said = [](std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
    try {
      (void)parse_catalog(text, "catalog");
      return std::string();
    } catch (const espalier::error& e) {
      return std::string(e.what());
    }
  };
  const std::string first = catalog_text(catalog);
  catalog.tables[0].indexes[0].covers = row_counts{7, 5};
  const std::string second = catalog_text(catalog);
  EXPECT_EQ(said(first, "\"version\":1", "\"version\":1"), "");
  EXPECT_EQ(said(second, "\"version\":2", "\"version\":2"), "");
  EXPECT_EQ(parse_catalog(second, "catalog").tables[0].indexes[0].covers, (row_counts{7, 5}));
  EXPECT_NE(said(first, "\"version\":1", "\"version\":2").find("first line"), std::string::npos);
  EXPECT_NE(said(second, "\"version\":2", "\"version\":1").find("first line"), std::string::npos);
  EXPECT_NE(said(first, "\"version\":1", "\"version\":1.0").find("first line"), std::string::npos);
  EXPECT_NE(said(second, "\"version\":2", "\"version\":3").find("format version 3"), std::string::npos);
  for (const std::string covers : {"null", "{}", "[7,5]", "{\"rows\":7}", "{\"rows\":-7,\"live\":5}", "true"}) {
    auto body = second.substr(second.find('\n') + 1);
    const std::string good = "{\"live\":5,\"rows\":7}";
    body.replace(body.find(good), good.size(), covers);
    EXPECT_THROW((void)parse_catalog_contents(body, "catalog"), espalier::error) << covers;
  }
}

// With an index whose file is behind its table.
TEST(StoreDamage, AnyChangeOfAnyFileIsRefusedOrOfAnIndexNoted) {
  const scratch_folder scratch;
  const auto folder = scratch.path();
  {
    const auto opened = store::open(folder);
    auto tables = first_state();
    opened->commit(tables);
    tables[0].indexes[0].covers = tables[0].rows->counts();
    tables[0].rows = tables[0].rows->appended(random_rows(2, 8));
    opened->commit(tables);
  }
  std::mt19937_64 random(3);
  std::set<std::string> kinds;
  for (const auto& name : names_in(folder)) {
    kinds.insert(name.substr(0, 4));
    const auto good = bytes_in(folder / name);
    for (std::uint32_t i = 0; i < 240 / less_work; ++i) {
      put_bytes(folder / name, damaged(good, random));
      const auto said = problem_of_rows(folder);
      ASSERT_EQ(said.find(name) != said.npos, !is_index(name)) << name << ", change " << i << ": " << said;
      if (is_index(name)) {
        ASSERT_NE(index_problem(folder).find(name), std::string::npos) << "change " << i;
      }
      const auto report = verify(folder);
      ASSERT_FALSE(report.problems.empty()) << name << ", change " << i;
      ASSERT_NE(report.problems.front().find(name), std::string::npos) << report.problems.front();
    }
    put_bytes(folder / name, good);
  }
  EXPECT_EQ(kinds.size(), 4U) << "catalog, rows, live and index";
  EXPECT_EQ(problem_of_rows(folder), "");
  EXPECT_EQ(index_problem(folder), "");
}

TEST(StoreDamage, AMissingFileIsNamed) {
  const scratch_folder scratch;
  store::open(scratch.path())->commit(first_state());
  for (const auto& name : names_in(scratch.path())) {
    if (name == "catalog.json") continue;
    const auto good = bytes_in(scratch.path() / name);
    std::filesystem::remove(scratch.path() / name);
    const std::string said = is_index(name) ? index_problem(scratch.path()) : problem_of_rows(scratch.path());
    EXPECT_NE(said.find(name), std::string::npos) << said;
    put_bytes(scratch.path() / name, good);
  }
}

TEST(StoreDamage, OtherTablesAreServedAndTheDamagedOneCanBeDropped) {
  const scratch_folder scratch;
  const auto folder = scratch.path();
  const auto good = table_version::from(random_rows(9, 1));
  const auto bad = table_version::from(random_rows(8, 2));
  store::open(folder)->commit({{"bad", "", bad, {sample_index("by_a", 5)}}, {"good", "", good, {}}});
  std::string damaged;
  for (const auto& name : names_in(folder)) {
    if (name.starts_with("rows-") && damaged.empty()) damaged = name;
  }
  const auto bytes = bytes_in(folder / damaged);
  put_bytes(folder / damaged, byte_string(bytes.begin(), bytes.end() - 1));
  const auto before = names_in(folder);
  const auto more = table_version::from(random_rows(7, 3));
  {
    const auto opened = store::open(folder);
    ASSERT_EQ(opened->tables().size(), 2U);
    EXPECT_EQ(opened->tables()[0].rows, nullptr);
    EXPECT_NE(opened->tables()[0].problem.find("Table 'bad'"), std::string::npos);
    // Changes of other tables leave the damaged one as it is.
    opened->commit({{"bad", "", nullptr, {}}, {"good", "", opened->tables()[1].rows, {}}, {"more", "", more, {}}});
    EXPECT_TRUE(std::ranges::includes(names_in(folder), before));
  }
  put_bytes(folder / damaged, bytes);  // restored from a copy
  {
    const auto opened = store::open(folder);
    ASSERT_TRUE(opened->tables()[0].rows);
    EXPECT_EQ(text_of("", "", *opened->tables()[0].rows), text_of("", "", *bad));
    EXPECT_TRUE(opened->tables()[0].indexes[0].sections);
  }
  put_bytes(folder / damaged, {});
  {
    const auto opened = store::open(folder);
    opened->commit({{"good", "", opened->tables()[1].rows, {}}, {"more", "", opened->tables()[2].rows, {}}});
  }
  EXPECT_EQ(problem_of_rows(folder), "");
  EXPECT_FALSE(std::filesystem::exists(folder / damaged));
  EXPECT_EQ(names_in(folder).size(), 3U) << "catalog and two files of rows";
}

// A pipe in place of a file must not make a reader wait for its other end.
TEST(StoreDamage, PipesAndFoldersInPlaceOfFilesAreRefused) {
  const scratch_folder scratch;
  const auto folder = scratch.path();
  store::open(folder)->commit(first_state());
  for (const auto& name : names_in(folder)) {
    if (is_index(name)) continue;
    std::filesystem::rename(folder / name, folder / "aside");
    ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
    EXPECT_NE(problem_of_rows(folder).find(name), std::string::npos) << name;
    std::filesystem::remove(folder / name);
    std::filesystem::create_directory(folder / name);
    EXPECT_NE(problem_of_rows(folder).find(name), std::string::npos) << name;
    std::filesystem::remove(folder / name);
    std::filesystem::rename(folder / "aside", folder / name);
  }
  // Nor a writer, under the name of a temporary file.
  ASSERT_EQ(::mkfifo((folder / "catalog.json.part").c_str(), 0600), 0);
  store::open(folder)->commit(first_state());
  EXPECT_TRUE(std::filesystem::is_regular_file(folder / "catalog.json"));
}

TEST(StoreDamage, ALaterVersionIsNotTakenForDamage) {
  const scratch_folder scratch;
  store::open(scratch.path())->commit(first_state());
  auto bytes = bytes_in(scratch.path() / "catalog.json");
  std::string text(bytes.begin(), bytes.end());
  text.replace(text.find("\"version\":1"), 11, "\"version\":3");
  put_bytes(scratch.path() / "catalog.json", {text.begin(), text.end()});
  try {
    (void)store::open(scratch.path());
    FAIL();
  } catch (const espalier::error& e) {
    EXPECT_NE(std::string(e.what()).find("format version 3"), std::string::npos) << e.what();
  }
}

// What the fuzzer does, with mutations of our own: several changes at once, pieces copied and removed.
byte_string mutated(byte_string bytes, std::mt19937_64& random) {
  for (std::uint64_t changes = 1 + random() % 6; changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = random() % bytes.size();
    const std::size_t length = std::min<std::size_t>(bytes.size() - at, random() % 16);
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<std::uint8_t>(random());
        break;
      case 1:
        bytes[at] ^= static_cast<std::uint8_t>(1U << (random() % 8));
        break;
      case 2:
        bytes.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
        break;
      case 3: {
        const byte_string piece(begin, begin + static_cast<std::ptrdiff_t>(length));
        const auto to = bytes.begin() + static_cast<std::ptrdiff_t>(random() % bytes.size());
        bytes.insert(to, piece.begin(), piece.end());
        break;
      }
      default:
        std::fill(begin, begin + static_cast<std::ptrdiff_t>(length), random() % 2 == 0 ? 0x00 : 0xff);
    }
  }
  return bytes;
}

TEST(LoadAnyFile, NeverDoesMoreThanRefuse) {
  const scratch_folder scratch;
  store::open(scratch.path())->commit(first_state());
  std::mt19937_64 random(5);
  for (const auto& name : names_in(scratch.path())) {
    const auto good = bytes_in(scratch.path() / name);
    for (std::uint32_t i = 0; i < 3000 / less_work; ++i) {
      const auto bytes = mutated(good, random);
      if (name.starts_with("catalog")) {
        const auto body = std::ranges::find(bytes, static_cast<std::uint8_t>('\n'));
        load_any_file(stored_bytes::catalog, bytes);
        load_any_file(stored_bytes::catalog_contents, {body, bytes.end()});
      } else {
        load_any_file(name.ends_with(".arrow") ? stored_bytes::segment : stored_bytes::sections, bytes);
      }
    }
  }
  for (const auto kind :
       {stored_bytes::catalog, stored_bytes::catalog_contents, stored_bytes::sections, stored_bytes::segment}) {
    load_any_file(kind, {});
  }
}

}  // namespace
