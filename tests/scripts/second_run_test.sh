#!/usr/bin/env bash
# scripts/test in a repository with two tests, a Python package and a site, which only note that they were made: what a
# second run does after which change.
set -euo pipefail
real="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

mkdir -p "$work"/{scripts,.venv/bin,bin,build/python-venv/bin,include,examples,tests/{docs,core},python/tests,docs,cmake}
cp "$real"/scripts/{lib.sh,test,unchanged} "$work/scripts"
cd "$work"
printf '#!/bin/sh\nexit 0\n' >scripts/setup
# Counts the sites.
printf '#!/bin/sh\n[ "$1" = --install ] || echo site >>build/sites\n' >scripts/docs
printf '#!/bin/sh\nexit 77\n' >.venv/bin/python
# The package's environment is there already: its pip makes an empty wheel, its python notes which tests it runs.
touch python/tests/{requirements.txt,test_ray_one.py} tests/core/byte_key_vectors.hpp pyproject.toml README.md LICENSE
(
  source scripts/lib.sh
  python_packages test >build/python-venv/installed.txt
)
cat >build/python-venv/bin/pip <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
  if [ "$1" = -w ]; then mkdir -p "$2" && touch "$2/espalier-1.whl"; fi
  shift
done
END
printf '#!/bin/sh\necho "pytest $*" >>build/pytests\n[ ! -e build/bad ] || exit 6\n' >build/python-venv/bin/python
for tool in doxygen nvidia-smi; do printf '#!/bin/sh\nexit 1\n' >"bin/$tool"; done
chmod +x scripts/* .venv/bin/python bin/* build/python-venv/bin/*
printf '/build/\n/.venv/\n/bin/\n' >.gitignore
touch include/one.hpp examples/one.cpp build/sites build/pytests
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES CXX)
enable_testing()
file(WRITE "${CMAKE_BINARY_DIR}/espalier" "#!/bin/sh\n")
file(WRITE "${CMAKE_BINARY_DIR}/libespalier.a" "")
file(CHMOD "${CMAKE_BINARY_DIR}/espalier" PERMISSIONS OWNER_READ OWNER_EXECUTE)
foreach(name first second)
  add_executable(test_${name} ${name}.cpp)
  add_test(NAME ${name} COMMAND test_${name})
endforeach()
set_tests_properties(second PROPERTIES LABELS engine_sql)
END
cat >CMakePresets.json <<'END'
{"version": 6,
 "configurePresets": [
   {"name": "test", "generator": "Ninja", "binaryDir": "${sourceDir}/build/test"},
   {"name": "asan", "inherits": "test", "binaryDir": "${sourceDir}/build/asan"}],
 "buildPresets": [{"name": "test", "configurePreset": "test"}, {"name": "asan", "configurePreset": "asan"}],
 "testPresets": [{"name": "test", "configurePreset": "test"}, {"name": "asan", "configurePreset": "asan"}]}
END
echo 'int main() { return 0; }' | tee first.cpp >second.cpp
git init -q
export PATH="$work/bin:$PATH" ESPALIER_JOBS=2
unset ESPALIER_DEPS

# expect_run STATUS TEXT... -- ARGUMENT...: runs scripts/test and looks for the texts in its output.
expect_run() {
  local status=0 expected=$1 texts=() text
  shift
  while [[ $1 != -- ]]; do
    texts+=("$1")
    shift
  done
  shift
  scripts/test "$@" >build/out 2>&1 </dev/null || status=$?
  [[ $status == "$expected" ]] || fail "exit code $status, not $expected: $(cat build/out)"
  for text in "${texts[@]}"; do
    grep -qF -- "$text" build/out || fail "no '$text' in: $(cat build/out)"
  done
}
# expect_made SITES PYTESTS: how often they were made until now; the package's tests are two runs, those with Ray apart.
expect_made() {
  local made
  made="$(wc -l <build/sites) $(wc -l <build/pytests)"
  [[ $made == "$1 $2" ]] || fail "sites and runs of pytest: $made, not $1 $2"
}

expect_run 0 'tests passed, 0 tests failed out of 2' -- --no-asan --no-python
expect_made 1 0
# Without the Python package, tutorials do not run: such a site does not count.
expect_run 0 '2 of 2 tests not run: they passed with the same inputs' \
  '100% tests passed before with the same inputs' -- --no-asan
expect_made 2 2
grep -q 'python/tests/test_ray_one.py$' build/pytests || fail "no run with Ray: $(cat build/pytests)"
expect_run 0 'Python package                           -    left out: it passed with the same inputs' \
  'site                                     -    left out: it passed with the same inputs' -- --no-asan
expect_made 2 2
echo 'int main() { return 2 - 2 - 0 * 1; } int more = 1;' >first.cpp
expect_run 0 '1 of 2 tests not run' 'tests passed, 0 tests failed out of 1' -- --no-asan --no-docs
expect_run 0 'tests passed, 0 tests failed out of 2' -- --no-asan --rerun
expect_made 3 4
# A changed page is one of the package and of the site. They run beside the sanitizer build.
echo page >docs/page.md
expect_run 0 'Python package  ' 'site  ' 'build, ASan and UBSan' 'tests, ASan and UBSan' --
expect_made 4 6
# A failure of either is one of the whole, and the next run tries again.
touch build/bad
echo another >docs/page.md
for _ in 1 2; do expect_run 1 'FAILED (exit code 6)' -- --no-docs; done
expect_made 4 10
rm build/bad
printf '#!/bin/sh\n[ "$1" = --install ] || exit 5\n' >scripts/docs
for _ in 1 2; do expect_run 1 'FAILED (exit code 5)' --; done
echo 'int main() { return 1; }' >second.cpp
for _ in 1 2; do
  expect_run 1 '1 tests failed out of 1' '1 of 2 tests not run' -- --no-docs --no-asan --no-python
done
