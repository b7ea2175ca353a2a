#include "cli/query/text_width.hpp"

#include <locale.h>
#include <wchar.h>

#include <algorithm>

namespace espalier::cli {
namespace {

// Character widths depend on the locale, and the program's own may not support UTF-8.
class utf8_locale_scope {
 public:
  utf8_locale_scope() : before_(::uselocale(static_cast<locale_t>(nullptr))) {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", static_cast<locale_t>(nullptr));
    if (utf8 != nullptr) ::uselocale(utf8);
  }
  utf8_locale_scope(const utf8_locale_scope&) = delete;
  utf8_locale_scope& operator=(const utf8_locale_scope&) = delete;
  ~utf8_locale_scope() { ::uselocale(before_); }

 private:
  locale_t before_;
};

}  // namespace

std::size_t text_width(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return text.size();
  const utf8_locale_scope scope;
  std::size_t width = 0;
  while (!text.empty()) {
    mbstate_t state{};
    wchar_t character = 0;
    const std::size_t used = ::mbrtowc(&character, text.data(), text.size(), &state);
    const bool whole = used != 0 && used <= text.size();
    const int columns = whole ? ::wcwidth(character) : 1;
    width += columns < 0 ? 1 : static_cast<std::size_t>(columns);
    text.remove_prefix(whole ? used : 1);
  }
  return width;
}

}  // namespace espalier::cli
