// svg_plot.cpp - see svg_plot.hpp.
#include "bench/harness/svg_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

namespace espalier::bench {
namespace {

constexpr double least_width = 860, height = 460;
constexpr double left = 78, right = 620, top = 48, bottom = 400;

/// Colours that colour-blind readers can distinguish (Okabe and Ito), on white and on near-black; series also differ in
/// markers and dashes. Further series reuse the colours with other markers.
struct style {
  const char* light;
  const char* dark;
  const char* dashes;
};
constexpr std::array<style, 8> styles{{{"#555555", "#b0b0b0", "none"},
                                       {"#a0660b", "#e69f00", "6 3"},
                                       {"#0072b2", "#56b4e9", "none"},
                                       {"#007a58", "#2fc79a", "6 3"},
                                       {"#b34700", "#ff8a4c", "2 3"},
                                       {"#aa3f80", "#f19ccb", "none"},
                                       {"#5b4db8", "#a89bff", "6 3"},
                                       {"#8a7a00", "#f0e442", "2 3"}}};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

/// Wide enough for the longest name next to the plot, estimated from the average width of 13-pixel letters.
double width_of(const svg_plot& plot) {
  std::size_t longest = 0;
  for (const auto& s : plot.series) longest = std::max(longest, s.name.size());
  return std::max(least_width, right + 64 + 7 * static_cast<double>(longest));
}

bool drawable(const std::pair<double, double>& p) {
  return p.first > 0 && p.second > 0 && std::isfinite(p.first) && std::isfinite(p.second);
}

/// Integer exponents that enclose all points.
struct axes {
  double x_low = std::numeric_limits<double>::max(), x_high = std::numeric_limits<double>::lowest();
  double y_low = x_low, y_high = x_high;

  bool named;

  explicit axes(const svg_plot& plot) : named(!plot.places.empty()) {
    for (const auto& s : plot.series) {
      for (const auto& p : s.points) {
        if (!drawable(p)) continue;
        x_low = std::min(x_low, std::floor(std::log2(p.first)));
        x_high = std::max(x_high, std::ceil(std::log2(p.first)));
        y_low = std::min(y_low, std::floor(std::log10(p.second)));
        y_high = std::max(y_high, std::ceil(std::log10(p.second)));
      }
    }
    if (x_low > x_high) x_low = 0, x_high = 1, y_low = 0, y_high = 1;
    if (named) x_low = 0.5, x_high = static_cast<double>(plot.places.size()) + 0.5;
    if (x_low == x_high) ++x_high;
    if (y_low == y_high) ++y_high;
  }
  [[nodiscard]] double x(double value) const {
    return left + ((named ? value : std::log2(value)) - x_low) / (x_high - x_low) * (right - left);
  }
  [[nodiscard]] double y(double value) const {
    return bottom - (std::log10(value) - y_low) / (y_high - y_low) * (bottom - top);
  }
};

/// Formats a power of ten as 10 G, 1 M or 0.1.
std::string power_of_ten(double exponent) {
  static constexpr std::array<const char*, 5> units{"", " k", " M", " G", " T"};
  if (exponent < 0 || exponent >= 15) return fmt::format("{:g}", std::pow(10.0, exponent));
  const auto e = static_cast<std::size_t>(exponent);
  return fmt::format("{:g}{}", std::pow(10.0, static_cast<double>(e % 3)), units[e / 3]);
}

class svg_writer {
 public:
  explicit svg_writer(const svg_plot& plot) : plot_(plot), axes_(plot), width_(width_of(plot)) {}

  std::string write() {
    head();
    add(R"(<text class="title" x="{}" y="26">{}</text>)", left, escaped(plot_.title));
    draw_axes();
    for (std::size_t i = 0; i < plot_.series.size(); ++i) draw_series(i);
    return out_ + "</svg>\n";
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
    out_ += '\n';
  }

  void head() {
    add(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}" role="img">)", width_,
        height, width_, height);
    add("<title>{}</title>", escaped(plot_.title));
    out_ +=
        "<style>\n"
        "text { font: 13px system-ui, sans-serif; fill: #222222; }\n"
        ".title { font-size: 16px; font-weight: 600; }\n"
        ".paper { fill: #ffffff; }\n"
        ".grid { stroke: #dddddd; stroke-width: 1; }\n"
        ".line { fill: none; stroke-width: 2; }\n";
    for (std::size_t i = 0; i < styles.size(); ++i) {
      add(".s{0} {{ stroke: {1}; }} .m{0} {{ fill: {1}; }}", i, styles[i].light);
    }
    out_ +=
        "@media (prefers-color-scheme: dark) {\n"
        "text { fill: #e6e6e6; } .paper { fill: #16181c; } .grid { stroke: #3a3e45; }\n";
    for (std::size_t i = 0; i < styles.size(); ++i) {
      add(".s{0} {{ stroke: {1}; }} .m{0} {{ fill: {1}; }}", i, styles[i].dark);
    }
    out_ += "}\n</style>\n";
    add(R"(<rect class="paper" width="{}" height="{}"/>)", width_, height);
  }

  void draw_places() {
    for (std::size_t i = 0; i < plot_.places.size(); ++i) {
      const double x = axes_.x(static_cast<double>(i + 1));
      add(R"(<line class="grid" x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}"/>)", x, top, bottom);
      add(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", x, bottom + 20, escaped(plot_.places[i]));
    }
  }

  void draw_axes() {
    draw_places();
    for (double e = axes_.x_low; !axes_.named && e <= axes_.x_high; ++e) {
      const double x = axes_.x(std::exp2(e));
      add(R"(<line class="grid" x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}"/>)", x, top, bottom);
      add(R"(<text x="{:.1f}" y="{}" text-anchor="middle">2<tspan dy="-5" font-size="10">{:g}</tspan></text>)", x,
          bottom + 20, e);
    }
    for (double e = axes_.y_low; e <= axes_.y_high; ++e) {
      const double y = axes_.y(std::pow(10.0, e));
      add(R"(<line class="grid" x1="{1}" y1="{0:.1f}" x2="{2}" y2="{0:.1f}"/>)", y, left, right);
      add(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", left - 8, y + 4, power_of_ten(e));
    }
    add(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", (left + right) / 2, bottom + 44,
        escaped(plot_.x_label));
    add(R"svg(<text transform="translate(18 {:.1f}) rotate(-90)" text-anchor="middle">{}</text>)svg",
        (top + bottom) / 2, escaped(plot_.y_label));
  }

  void draw_series(std::size_t i) {
    const svg_series& s = plot_.series[i];
    const std::size_t look = i % styles.size();
    std::string path;
    for (const auto& p : s.points) {
      if (!drawable(p)) continue;
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", axes_.x(p.first), axes_.y(p.second));
    }
    if (path.empty()) return;
    if (!axes_.named) add(R"(<path class="line s{}" stroke-dasharray="{}" d="{}"/>)", look, styles[look].dashes, path);
    for (const auto& p : s.points) {
      if (drawable(p)) marker(i, axes_.x(p.first), axes_.y(p.second));
    }
    const double y = top + 10 + 24 * static_cast<double>(drawn_++);
    add(R"(<path class="line s{}" stroke-dasharray="{}" d="M{} {} h28"/>)", look, styles[look].dashes, right + 18, y);
    marker(i, right + 32, y);
    add(R"(<text x="{}" y="{}">{}</text>)", right + 54, y + 4, escaped(s.name));
  }

  void marker(std::size_t i, double x, double y) {
    const std::size_t look = i % styles.size();
    switch ((look + i / styles.size()) % 4) {
      case 0:
        add(R"(<circle class="m{}" cx="{:.1f}" cy="{:.1f}" r="3.5"/>)", look, x, y);
        break;
      case 1:
        add(R"(<rect class="m{}" x="{:.1f}" y="{:.1f}" width="7" height="7"/>)", look, x - 3.5, y - 3.5);
        break;
      case 2:
        add(R"(<path class="m{}" d="M{:.1f} {:.1f} l4.5 8 h-9 z"/>)", look, x, y - 5);
        break;
      default:
        add(R"(<path class="m{}" d="M{:.1f} {:.1f} l4.5 4.5 l-4.5 4.5 l-4.5 -4.5 z"/>)", look, x, y - 4.5);
    }
  }

  const svg_plot& plot_;
  axes axes_;
  double width_;
  std::string out_;
  std::size_t drawn_ = 0;
};

}  // namespace

std::string to_svg(const svg_plot& plot) { return svg_writer(plot).write(); }

}  // namespace espalier::bench
