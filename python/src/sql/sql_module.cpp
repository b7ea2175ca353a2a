// sql_module.cpp - the extension module espalier._sql: a database of the SQL engine (espalier/engine/database.hpp).
//
// It is a module of its own because it needs Arrow: pyarrow's shared libraries, which espalier/sql.py loads first.
// Tables go to Python and come from it through Arrow's C stream interface, so both sides may have different versions of
// it.
#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "espalier/engine/database.hpp"

namespace espalier::python {
namespace {

namespace nb = nanobind;
using engine::database;
using engine::query_result;

// espalier.sql.Error; set once by espalier/sql.py.
PyObject* error_type = nullptr;

const char* name_of(engine::error_kind kind) {
  switch (kind) {
    case engine::error_kind::syntax:
      return "syntax";
    case engine::error_kind::refused:
      return "refused";
    case engine::error_kind::execution:
      return "execution";
    case engine::error_kind::constraint:
      return "constraint";
    case engine::error_kind::file:
      return "file";
    case engine::error_kind::damaged:
      return "damaged";
    case engine::error_kind::in_use:
      return "in_use";
    case engine::error_kind::read_only:
      return "read_only";
    case engine::error_kind::memory:
      return "memory";
    case engine::error_kind::internal:
      break;
  }
  return "internal";
}

void set_error(const std::string& message, const char* kind, std::string_view sqlstate, const std::string& excerpt) {
  const nb::object made = nb::handle(error_type)(message, kind, nb::str(sqlstate.data(), sqlstate.size()), excerpt);
  PyErr_SetObject(error_type, made.ptr());
}

// Translators serve all modules of the process, so this one takes the engine's exceptions only; those of the library are
// left to the one of espalier._core.
void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const engine::sql_error& e) {
    set_error(e.what(), name_of(e.kind()), e.sqlstate(), e.excerpt());
  } catch (const engine::engine_error& e) {
    set_error(e.what(), name_of(e.kind()), e.sqlstate(), "");
  } catch (const engine::query_cancelled& e) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_KeyboardInterrupt, e.what());
  }
}

/// Runs Python's signal handlers. Returns false if one of them has raised an exception. Requires the GIL.
bool run_signal_handlers() { return PyErr_CheckSignals() == 0; }

/// Runs Python's signal handlers while a statement runs, so that Ctrl-C stops it. Only the thread of the call asks, and
/// every 20 ms: taking the GIL may wait for other Python threads. A statement of a daemon thread stops when Python
/// ends: taking the GIL would end the thread within C++ frames then.
class interrupt_check {
 public:
  [[nodiscard]] engine::cancellation_token token() {
    return [this] {
      if (raised_.load(std::memory_order_relaxed)) return true;
      if (std::this_thread::get_id() != caller_) return false;
      const auto now = std::chrono::steady_clock::now();
      if (now - last_ < std::chrono::milliseconds(20)) return false;
      last_ = now;
      if (!nb::is_alive()) {
        raised_.store(true, std::memory_order_relaxed);
        return true;
      }
      const nb::gil_scoped_acquire locked;
      if (run_signal_handlers()) return false;
      raised_.store(true, std::memory_order_relaxed);
      return true;
    };
  }

 private:
  std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::atomic<bool> raised_ = false;
};

/// The turn of a thread at a connection. Waiting threads run Python's signal handlers, so that Ctrl-C ends the wait. A
/// signal handler that uses the connection whose statement it interrupts gets an error, since it can never have a turn.
class connection_turn {
 public:
  /// Requires the GIL, which is released while the thread waits.
  explicit connection_turn(std::timed_mutex& mutex, std::atomic<std::thread::id>& owner) : owner_(owner) {
    if (owner.load() == std::this_thread::get_id()) {
      throw espalier::error(
          "The connection is busy: a signal handler cannot use the connection whose statement it "
          "interrupts.");
    }
    lock_ = std::unique_lock(mutex, std::try_to_lock);
    while (!lock_.owns_lock()) {
      {
        const nb::gil_scoped_release unlocked;
        (void)lock_.try_lock_for(std::chrono::milliseconds(20));
      }
      if (!lock_.owns_lock() && !run_signal_handlers()) throw nb::python_error();
    }
    owner_.store(std::this_thread::get_id());
  }
  connection_turn(const connection_turn&) = delete;
  connection_turn& operator=(const connection_turn&) = delete;
  ~connection_turn() { owner_.store(std::thread::id()); }

 private:
  std::unique_lock<std::timed_mutex> lock_;
  std::atomic<std::thread::id>& owner_;
};

template <class T>
T value_or_throw(arrow::Result<T> result, const char* what) {
  if (!result.ok()) throw espalier::error(std::string(what) + ": " + result.status().ToString());
  return std::move(result).ValueUnsafe();
}

nb::object stream_capsule(const std::shared_ptr<arrow::Table>& table) {
  auto stream = std::make_unique<ArrowArrayStream>();
  const auto status = arrow::ExportRecordBatchReader(std::make_shared<arrow::TableBatchReader>(table), stream.get());
  if (!status.ok()) throw espalier::error("The result cannot be exported: " + status.ToString());
  PyObject* capsule = PyCapsule_New(stream.get(), "arrow_array_stream", [](PyObject* object) {
    auto* held = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(object, "arrow_array_stream"));
    if (held->release != nullptr) held->release(held);
    delete held;
  });
  if (capsule == nullptr) throw nb::python_error();
  (void)stream.release();
  return nb::steal(capsule);
}

std::shared_ptr<arrow::Table> table_of_stream(nb::handle capsule) {
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (stream == nullptr) throw nb::python_error();
  const auto reader = value_or_throw(arrow::ImportRecordBatchReader(stream), "The parameters cannot be read");
  return value_or_throw(reader->ToTable(), "The parameters cannot be read");
}

/// A database and the lock that the engine asks of its callers: one thread at a time.
class connection {
 public:
  connection(const std::string& path, bool read_only, std::optional<std::int64_t> memory_limit, bool use_indexes,
             bool file_access) {
    const nb::gil_scoped_release unlocked;
    engine::database_options options;
    options.path = path;
    options.read_only = read_only;
    options.memory_limit = memory_limit;
    options.use_indexes = use_indexes;
    options.allow_file_access = file_access;
    database_.emplace(std::move(options));
  }

  template <class Body>
  auto with_database(Body body) {
    const connection_turn turn(mutex_, owner_);
    interrupt_check interrupts;
    const nb::gil_scoped_release unlocked;
    if (!database_) throw espalier::error("The connection is closed: call espalier.sql.connect() again.");
    return body(*database_, interrupts.token());
  }

  query_result execute(const std::string& statement) {
    return with_database(
        [&](database& db, const engine::cancellation_token& stop) { return db.execute(statement, {}, stop); });
  }

  query_result execute_for(const std::string& statement, nb::handle capsule) {
    const auto parameters = table_of_stream(capsule);
    return with_database([&](database& db, const engine::cancellation_token& stop) {
      auto prepared = db.prepare(statement);
      if (prepared.parameters() != static_cast<std::size_t>(parameters->num_columns())) {
        throw espalier::error("The statement has " + std::to_string(prepared.parameters()) + " parameters, and " +
                              std::to_string(parameters->num_columns()) + " values are given.");
      }
      return prepared.execute(*parameters, stop);
    });
  }

  std::vector<query_result> run_script(const std::string& script) {
    return with_database(
        [&](database& db, const engine::cancellation_token& stop) { return db.run_script(script, {}, stop); });
  }

  std::vector<std::string> warnings() {
    return with_database([](database& db, const engine::cancellation_token&) { return db.warnings(); });
  }

  std::string transaction() {
    return with_database([](database& db, const engine::cancellation_token&) -> std::string {
      switch (db.transaction()) {
        case engine::transaction_status::none:
          return "none";
        case engine::transaction_status::active:
          return "active";
        case engine::transaction_status::failed:
          break;
      }
      return "failed";
    });
  }

  /// Rolls back an open transaction and writes index files; errors of that are thrown and the database is closed
  /// anyway.
  void close() {
    const connection_turn turn(mutex_, owner_);
    const nb::gil_scoped_release unlocked;
    if (!database_) return;
    closed_ = true;
    try {
      database_->save_indexes();
    } catch (...) {
      database_.reset();
      throw;
    }
    database_.reset();
  }

  [[nodiscard]] bool is_closed() const { return closed_; }

  ~connection() {
    // Closing may wait for the disk, and nanobind destroys objects with the GIL held.
    const nb::gil_scoped_release unlocked;
    database_.reset();
  }

 private:
  std::timed_mutex mutex_;
  std::atomic<std::thread::id> owner_ = std::thread::id();
  std::atomic<bool> closed_ = false;
  std::optional<database> database_;
};

}  // namespace
}  // namespace espalier::python

NB_MODULE(_sql, m) {
  using namespace espalier::python;
  m.doc() = "Compiled part of espalier.sql; use the names there.";
  nb::register_exception_translator(translate);
  m.def(
      "set_error_type", [](nb::handle type) { error_type = nb::borrow(type).release().ptr(); }, nb::arg("type"));
  m.def(
      "split_script",
      [](const std::string& script) {
        std::vector<std::string> statements;
        for (auto& statement : espalier::engine::split_script(script)) statements.push_back(std::move(statement.text));
        return statements;
      },
      nb::arg("script"));

  nb::class_<query_result>(m, "Answer")
      .def_prop_ro("has_rows", [](const query_result& r) { return r.rows != nullptr; })
      .def_prop_ro("num_rows", [](const query_result& r) { return r.rows ? r.rows->num_rows() : 0; })
      .def_ro("tag", &query_result::tag)
      .def_ro("plan", &query_result::plan)
      .def_ro("notices", &query_result::notices)
      .def_prop_ro("milliseconds", [](const query_result& r) { return r.timings.total(); })
      .def("stream", [](const query_result& r) {
        if (r.rows == nullptr) throw espalier::error("This statement has no rows: its answer is '" + r.tag + "'.");
        return stream_capsule(r.rows);
      });
  nb::class_<connection>(m, "Connection")
      .def(
          "__init__",
          [](connection* self, const std::string& path, bool read_only, nb::object memory_limit, bool use_indexes,
             bool file_access) {
            std::optional<std::int64_t> limit;
            if (!memory_limit.is_none()) limit = nb::cast<std::int64_t>(memory_limit);
            new (self) connection(path, read_only, limit, use_indexes, file_access);
          },
          nb::arg("path"), nb::arg("read_only"), nb::arg("memory_limit").none(), nb::arg("use_indexes"),
          nb::arg("file_access"))
      .def("execute", &connection::execute, nb::arg("statement"))
      .def("execute_for", &connection::execute_for, nb::arg("statement"), nb::arg("parameters"))
      .def("run_script", &connection::run_script, nb::arg("script"))
      .def("warnings", &connection::warnings)
      .def("transaction", &connection::transaction)
      .def("close", &connection::close)
      .def_prop_ro("closed", &connection::is_closed);
}
