#!/usr/bin/env python3
"""scripts/unchanged over a repository of its own: what makes a test or a part run again, and what does not."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES NONE)
enable_testing()
foreach(name first.1_of_2 first.2_of_2)
  add_test(NAME ${name} COMMAND "${CMAKE_BINARY_DIR}/program" ${name})
endforeach()
add_test(NAME fails COMMAND "${CMAKE_COMMAND}" -E false)
add_test(NAME skips COMMAND sh -c "exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME reads COMMAND "${CMAKE_COMMAND}" -E true)
set_tests_properties(reads PROPERTIES REQUIRED_FILES "${CMAKE_SOURCE_DIR}/src")
"""
FIRST = ["first.1_of_2", "first.2_of_2"]


class Unchanged(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name).resolve() / "repository"
        self.build = self.root / "build" / "test"
        (self.root / "scripts").mkdir(parents=True)
        shutil.copy(SCRIPTS / "unchanged", self.root / "scripts")
        self.write("CMakeLists.txt", CMAKE)
        self.write("src/part.cpp", "int part;\n")
        self.write("page.md", "A page.\n")
        self.write(".gitignore", "/build/\n")
        self.command("git", "init", "-q")
        self.command("cmake", "-S", ".", "-B", self.build, "-G", "Ninja")
        self.program("exit 0")

    def write(self, name: str, text: str):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def program(self, text: str):
        self.write("build/test/program", f"#!/bin/sh\n{text}\n")
        (self.build / "program").chmod(0o755)

    def command(self, *words, **environment: str) -> str:
        done = subprocess.run(
            words, cwd=self.root, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def unchanged(self, *arguments, **environment: str) -> list[str]:
        return self.command("scripts/unchanged", "tests", self.build, *arguments, **environment).splitlines()

    def run_tests(self, *arguments):
        self.unchanged(*arguments)
        results = self.build / "results.xml"
        subprocess.run(["ctest", "--test-dir", self.build, "--output-junit", results, *arguments], capture_output=True)
        self.command("scripts/unchanged", "passed", self.build, results)

    def test_only_tests_that_ran_and_passed_are_left_out(self):
        self.assertEqual(self.unchanged(), ["5"])
        self.run_tests()
        self.assertEqual(self.unchanged(), ["5", *FIRST, "reads"])
        self.assertEqual(self.unchanged("-R", "first"), ["2", *FIRST])

    def test_a_changed_program_runs_again(self):
        self.run_tests()
        self.program("exit  0")
        self.assertEqual(self.unchanged(), ["5", "reads"])

    def test_a_failure_ends_an_earlier_success(self):
        self.run_tests()
        good = (self.build / "program").read_text()
        self.program("exit 1")
        self.run_tests()
        self.program(good.split("\n")[1])
        self.assertEqual(self.unchanged(), ["5", "reads"])

    def test_sources_count_where_a_test_names_them_and_data_counts_everywhere(self):
        self.run_tests()
        self.write("src/part.cpp", "int other;\n")
        self.assertEqual(self.unchanged(), ["5", *FIRST])
        self.run_tests()
        self.write("src/new.cpp", "int added;\n")
        self.assertEqual(self.unchanged(), ["5", *FIRST])
        self.run_tests()
        self.write("page.md", "Another page.\n")
        self.assertEqual(self.unchanged(), ["5"])

    def test_settings_of_the_test_libraries_count(self):
        self.run_tests()
        self.assertEqual(self.unchanged(RC_PARAMS="max_success=7"), ["5"])

    def test_results_of_some_tests_leave_those_of_others(self):
        self.run_tests("-R", "first")
        self.run_tests("-R", "reads")
        self.assertEqual(self.unchanged(), ["5", *FIRST, "reads"])

    def test_results_without_noted_inputs_do_not_count(self):
        self.run_tests()
        (self.build / "Testing" / "inputs.json").unlink()
        self.command("scripts/unchanged", "passed", self.build, self.build / "results.xml")
        self.assertEqual(self.unchanged(), ["5"])

    def fingerprint(self, *arguments) -> str:
        return self.command("scripts/unchanged", "fingerprint", *arguments)

    def test_a_fingerprint_is_of_names_and_contents(self):
        sources, pages = self.fingerprint("src"), self.fingerprint("--repository")
        self.write("src/part.cpp", "int other;\n")
        self.assertNotEqual(self.fingerprint("src"), sources)
        self.assertEqual(self.fingerprint("--repository"), pages)
        (self.root / "src/part.cpp").rename(self.root / "src/renamed.cpp")
        self.assertNotEqual(self.fingerprint("--repository"), pages)
        self.write("src/build/ignored", "")
        self.write("src/renamed.cpp", "int part;\n")
        self.assertNotEqual(self.fingerprint("src"), sources)

    def test_a_fingerprint_of_nothing_is_an_error(self):
        done = subprocess.run([self.root / "scripts/unchanged", "fingerprint", self.root / "absent"], capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"there is no ", done.stderr)

    def test_without_git_the_build_folder_does_not_count(self):
        shutil.rmtree(self.root / ".git")
        self.run_tests()
        self.assertEqual(self.unchanged(), ["5", *FIRST, "reads"])
        self.write("page.md", "Another page.\n")
        self.assertEqual(self.unchanged(), ["5"])


if __name__ == "__main__":
    unittest.main()
