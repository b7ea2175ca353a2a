// join_arrow.cpp - columns from and to Arrow's C data interface.
#include <cstring>
#include <utility>
#include <vector>

#include "arrow_abi.hpp"
#include "join_columns.hpp"

namespace espalier::python {

namespace {

/// Moves a structure with a release callback out of a capsule or stream into shared ownership.
template <class T>
std::shared_ptr<T> owned(T* from) {
  auto* copy = new T(*from);
  from->release = nullptr;
  return {copy, [](T* p) {
            if (p->release != nullptr) p->release(p);
            delete p;
          }};
}

template <class T>
T* in_capsule(nb::handle capsule, const char* name) {
  void* p = PyCapsule_GetPointer(capsule.ptr(), name);
  if (p == nullptr) throw nb::python_error();
  auto* typed = static_cast<T*>(p);
  if (typed->release == nullptr) throw nb::value_error("The Arrow capsule was already used; ask for a new one.");
  return typed;
}

void set_layout(join_column& column) {
  const std::string& f = column.format;
  const format_type type = type_of_format(f);
  if (f == "b") {
    column.layout = column_layout::bits;
  } else if (f == "u" || f == "z") {
    column.layout = column_layout::text_32;
  } else if (f == "U" || f == "Z") {
    column.layout = column_layout::text_64;
  } else if (f == "vu" || f == "vz") {
    column.layout = column_layout::views;
    column.width = 16;
  } else if (type.width != 0) {
    column.layout = column_layout::fixed;
    column.width = type.width;
    column.scalar = type.scalar;
  }
}

/// Whether buffer 0 of an array is its validity bitmap. Unions and run-end encoded arrays have NULLs only in their
/// children.
bool has_validity_buffer(const std::string& format) {
  return format != "n" && !format.starts_with("+u") && !format.starts_with("+r");
}

std::size_t count_nulls(const ArrowArray& array, const bitmap_view& validity) {
  if (array.null_count >= 0) return static_cast<std::size_t>(array.null_count);
  std::size_t nulls = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(array.length); ++i) nulls += validity[i] ? 0 : 1;
  return nulls;
}

std::shared_ptr<join_column> import(const ArrowSchema& schema, const ArrowArray& array,
                                    std::shared_ptr<const void> owner) {
  auto column = std::make_shared<join_column>();
  column->format = schema.format;
  column->owners.push_back(std::move(owner));
  column->size = static_cast<std::size_t>(array.length);
  set_layout(*column);
  if (schema.dictionary != nullptr && column->layout == column_layout::fixed) {
    column->layout = column_layout::dictionary;
    if (array.dictionary == nullptr) throw nb::value_error("An Arrow dictionary array came without its dictionary.");
    column->dictionary = import(*schema.dictionary, *array.dictionary, column->owners.front());
  }
  if (array.n_buffers < 2) column->layout = column_layout::other;
  const auto offset = static_cast<std::size_t>(array.offset);
  if (column->format == "n") {
    const auto zeros = std::make_shared<const std::vector<std::uint8_t>>((column->size + 7) / 8);
    column->owners.push_back(zeros);
    if (column->size != 0) column->validity = {zeros->data(), 0};
    column->nulls = column->size;
  } else if (has_validity_buffer(column->format) && array.n_buffers > 0 && array.buffers[0] != nullptr &&
             array.null_count != 0) {
    column->validity = {static_cast<const std::uint8_t*>(array.buffers[0]), offset};
    column->nulls = count_nulls(array, column->validity);
    if (column->nulls == 0) column->validity = {};
  }
  if (column->layout == column_layout::other) return column;
  const auto* values = static_cast<const char*>(array.buffers[1]);
  switch (column->layout) {
    case column_layout::bits:
      column->data = values;
      column->first_bit = offset;
      break;
    case column_layout::text_32:
    case column_layout::text_64:
      column->offsets = values + offset * (column->layout == column_layout::text_32 ? 4 : 8);
      column->data = array.buffers[2];
      break;
    case column_layout::views: {
      column->data = values + offset * 16;
      const auto count = static_cast<std::size_t>(array.n_buffers) - 3;  // validity, views, ..., lengths
      const auto* bytes = static_cast<const std::int64_t*>(array.buffers[array.n_buffers - 1]);
      for (std::size_t i = 0; i < count; ++i) {
        column->buffers.push_back(static_cast<const char*>(array.buffers[2 + i]));
        column->buffer_bytes.push_back(bytes[i]);
      }
      break;
    }
    default:
      column->data = values + offset * column->width;
      break;
  }
  return column;
}

/// What an exported structure needs until it is released.
struct exported {
  column_ptr column;
  std::vector<const void*> buffers;
};

void release_schema(ArrowSchema* schema) {
  delete static_cast<std::string*>(schema->private_data);
  schema->release = nullptr;
}
void release_array(ArrowArray* array) {
  delete static_cast<exported*>(array->private_data);
  array->release = nullptr;
}

template <class T>
nb::object capsule_of(std::unique_ptr<T> structure, const char* name) {
  PyObject* capsule = PyCapsule_New(structure.get(), name, [](PyObject* self) {
    auto* p = static_cast<T*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
    if (p == nullptr) {
      PyErr_WriteUnraisable(self);
      return;
    }
    if (p->release != nullptr) p->release(p);
    delete p;
  });
  if (capsule == nullptr) throw nb::python_error();
  (void)structure.release();
  return nb::steal(capsule);
}

}  // namespace

column_ptr import_array(nb::handle schema_capsule, nb::handle array_capsule) {
  const auto* schema = in_capsule<ArrowSchema>(schema_capsule, "arrow_schema");
  const auto array = owned(in_capsule<ArrowArray>(array_capsule, "arrow_array"));
  return import(*schema, *array, array);
}

column_ptr import_stream(nb::handle capsule) {
  const auto stream = owned(in_capsule<ArrowArrayStream>(capsule, "arrow_array_stream"));
  const auto require = [&](int code) {
    if (code == 0) return;
    const char* text = stream->get_last_error(stream.get());
    throw nb::value_error(text == nullptr ? "An Arrow stream failed without a message." : text);
  };
  ArrowSchema raw_schema;
  require(stream->get_schema(stream.get(), &raw_schema));
  const auto schema = owned(&raw_schema);
  column_ptr column;
  for (;;) {
    ArrowArray raw;
    require(stream->get_next(stream.get(), &raw));
    if (raw.release == nullptr) break;
    const auto array = owned(&raw);
    if (array->length == 0 && column != nullptr) continue;
    if (column != nullptr && column->size != 0) {
      throw nb::value_error("A column came in several pieces; combine its chunks first.");
    }
    column = import(*schema, *array, array);
  }
  if (column != nullptr) return column;
  auto empty = std::make_shared<join_column>();
  empty->format = schema->format;
  set_layout(*empty);
  if (empty->layout == column_layout::views) empty->data = "";
  if (schema->dictionary != nullptr) {
    empty->layout = column_layout::dictionary;
    auto values = std::make_shared<join_column>();
    values->format = schema->dictionary->format;
    set_layout(*values);
    empty->dictionary = values;
  }
  return empty;
}

nb::tuple export_array(const column_ptr& column) {
  const bool is_views = column->layout == column_layout::views;
  if (column->layout != column_layout::fixed && column->layout != column_layout::bits && !is_views) {
    throw nb::type_error("Only gathered columns of fixed width, booleans and string views can be exported.");
  }
  if (column->first_bit != 0 || column->validity.offset != 0) {
    throw nb::type_error("A slice of a bitmap cannot be exported; gather the column first.");
  }
  auto schema = std::make_unique<ArrowSchema>();
  auto* format = new std::string(column->format);
  *schema = {format->c_str(), "", nullptr, ARROW_FLAG_NULLABLE, 0, nullptr, nullptr, release_schema, format};
  auto keep = std::make_unique<exported>();
  keep->column = column;
  keep->buffers = {column->validity.bits, column->data == nullptr ? "" : column->data};
  if (is_views) {
    keep->buffers.insert(keep->buffers.end(), column->buffers.begin(), column->buffers.end());
    keep->buffers.push_back(column->buffer_bytes.data());
  }
  auto array = std::make_unique<ArrowArray>();
  *array = {static_cast<std::int64_t>(column->size),
            static_cast<std::int64_t>(column->nulls),
            0,
            static_cast<std::int64_t>(keep->buffers.size()),
            0,
            keep->buffers.data(),
            nullptr,
            nullptr,
            release_array,
            keep.get()};
  (void)keep.release();
  nb::object schema_capsule = capsule_of(std::move(schema), "arrow_schema");
  return nb::make_tuple(schema_capsule, capsule_of(std::move(array), "arrow_array"));
}

}  // namespace espalier::python
