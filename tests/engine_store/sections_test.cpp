// sections_test.cpp - sections go out and come back, aligned, and nothing else passes for them.
#include "engine/store/sections.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "engine/store/files.hpp"
#include "espalier/core/error.hpp"
#include "support/scratch_folder.hpp"

namespace {

using namespace espalier::engine;
using espalier::test::scratch_folder;

template <class Fill>
std::uint64_t write_sections(const std::filesystem::path& path, const Fill& fill) {
  output_file file(plain_files(), path);
  file_section_writer writer(file, "index");
  fill(writer);
  const auto checksum = writer.finish();
  file.finish();
  return checksum;
}

TEST(Sections, ComeBackAlignedAndWhole) {
  const scratch_folder folder;
  const auto path = folder.path() / "a.sections";
  std::vector<std::uint64_t> numbers(100003);
  std::iota(numbers.begin(), numbers.end(), 5);
  const auto checksum = write_sections(path, [&](section_writer& to) {
    to.add_text("text", "abc");
    to.begin("pieces");
    for (const auto& number : numbers) to.write(std::as_bytes(std::span(&number, 1)));
    to.add("empty", {});
    to.add_array<std::uint64_t>("numbers", numbers);
  });
  const auto sections = mapped_sections::open(path, "index");
  EXPECT_EQ(sections->checksum(), checksum);
  EXPECT_EQ(sections->get_text("text"), "abc");
  EXPECT_TRUE(sections->get("empty").empty());
  for (const char* name : {"pieces", "numbers"}) {
    const auto found = sections->get_array<std::uint64_t>(name, numbers.size());
    EXPECT_TRUE(std::ranges::equal(found, numbers));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(found.data()) % section_alignment, 0U);
  }
  EXPECT_TRUE(sections->has("text"));
  EXPECT_FALSE(sections->has("other"));
  sections->check_all();
}

TEST(Sections, WrongQuestionsAreRefused) {
  const scratch_folder folder;
  const auto path = folder.path() / "a.sections";
  write_sections(path, [](section_writer& to) { to.add_text("text", "abc"); });
  const auto sections = mapped_sections::open(path, "index");
  EXPECT_THROW((void)sections->get("other"), damaged_file);
  EXPECT_THROW((void)sections->get_array<std::uint32_t>("text"), damaged_file);
  EXPECT_THROW((void)sections->get_array<char>("text", 4), damaged_file);
  EXPECT_THROW((void)mapped_sections::open(path, "live rows"), damaged_file);
  EXPECT_THROW((void)mapped_sections::open(folder.path() / "none", "index"), espalier::error);
}

TEST(Sections, NamesThatDoNotFitAreRefused) {
  const scratch_folder folder;
  EXPECT_THROW(write_sections(folder.path() / "a", [](section_writer& to) { to.add_text("", "x"); }), espalier::error);
  EXPECT_THROW(write_sections(folder.path() / "a", [](section_writer& to) { to.add_text(std::string(24, 'n'), "x"); }),
               espalier::error);
  EXPECT_THROW(write_sections(folder.path() / "a",
                              [](section_writer& to) {
                                to.add_text("twice", "x");
                                to.add_text("twice", "x");
                              }),
               espalier::error);
  EXPECT_THROW(write_sections(folder.path() / "a", [](section_writer& to) { to.write({}); }), espalier::error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "an abandoned file leaves nothing";
}

TEST(Sections, DamageIsFoundWhereItIs) {
  const scratch_folder folder;
  const auto path = folder.path() / "a.sections";
  write_sections(path, [](section_writer& to) {
    to.add_text("good", std::string(1000, 'g'));
    to.add_text("bad", std::string(1000, 'b'));
  });
  {
    const auto file = std::fopen(path.c_str(), "r+");
    std::fseek(file, 64 + 1024 + 10, SEEK_SET);
    std::fputc('B', file);
    std::fclose(file);
  }
  const auto sections = mapped_sections::open(path, "index");
  EXPECT_EQ(sections->get_text("good").size(), 1000U);
  EXPECT_THROW((void)sections->get("bad"), damaged_file);
  EXPECT_THROW(sections->check_all(), damaged_file);
}

}  // namespace
