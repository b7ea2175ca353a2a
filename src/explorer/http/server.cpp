// server.cpp - who may ask (guard.hpp) what (routes.hpp), and how it is told what went wrong.
#include "explorer/http/server.hpp"

#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "explorer/http/guard.hpp"
#include "explorer/http/listener.hpp"
#include "explorer/http/routes.hpp"
#include "explorer/read_trace.hpp"

namespace espalier::explorer {

namespace {

std::string as_sentence(std::string what) {
  what = what.substr(0, what.find('\n'));
  if (!what.empty() && what.compare(0, 5, "line ") != 0)
    what.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(what.front())));
  return what;
}
response refusal(int status, const std::string& what, std::optional<std::uint64_t> line = std::nullopt) {
  nlohmann::json body{{"error", as_sentence(what)}};
  if (line) body["line"] = *line;
  response res;
  res.status = status;
  res.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return res;
}
/// Whatever answering throws, as an answer.
response answer_or_refusal(const routes& all, const request& asked) {
  try {
    return all.answer(asked);
  } catch (const bad_trace& e) {
    return refusal(400, e.what(), e.line);
  } catch (const refused& e) {
    return refusal(e.status, e.what());
  } catch (const out_of_memory&) {
    return refusal(507, "The memory ran out: ask for less.");
  } catch (const error& e) {
    return refusal(400, e.what());
  } catch (const std::bad_alloc&) {
    return refusal(507, "The host's memory ran out: ask for less.");
  } catch (const std::exception&) {
    return refusal(500, "The explorer failed at this request: please report it.");
  }
}
constexpr std::string_view safe_headers =
    "Content-Security-Policy: default-src 'self'; img-src 'self' data: blob:; style-src 'self'; object-src 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cache-Control: no-store\r\n";

}  // namespace

struct server::parts : service {
  server_options options;
  registry sources;
  routes all;
  listener http;  // destroyed first: its threads use the rest

  parts(const device& where, const server_options& wishes)
      : options(wishes),
        sources(where, wishes.limits),
        all(sources, options.index),
        http(wishes.host, wishes.port, wishes.http, *this) {}

  void admit(const request& asked) override {
    const std::string host = asked.header("host");
    if (!is_own_host(host, options.host, http.port()))
      throw refused(403, "This explorer does not go by that name: open it at the address that it printed.");
    if (!is_own_origin(asked.header("origin"), host)) throw refused(403, "Only the explorer's own page may ask this.");
    const std::size_t most = all.most_body(asked);
    if (asked.body_size > most && most == 0) throw refused(413, "This request has no body: send none.");
    if (asked.body_size > most)
      throw refused(413, "The body has more than " + std::to_string(most >> 20) + " MiB: send less.");
  }

  [[nodiscard]] answered_by thread_for(const request& asked) override {
    if (!asked.path.starts_with("/api/")) return answered_by::event_loop;
    return asked.method == "GET" || asked.method == "HEAD" ? answered_by::readers : answered_by::writers;
  }

  [[nodiscard]] response answer(const request& asked) noexcept override { return answer_or_refusal(all, asked); }
  [[nodiscard]] response explain(const refused& why) override { return refusal(why.status, why.what()); }
  [[nodiscard]] std::string_view header_lines() const override { return safe_headers; }
};

server::server(const device& where, const server_options& options) : parts_(std::make_unique<parts>(where, options)) {}
server::~server() = default;

void server::add_trace(const std::string& title, recorded_trace trace) {
  parts_->sources.add_trace(title, std::move(trace));
}
int server::port() const { return parts_->http.port(); }
std::string server::url() const {
  const std::string& host = parts_->options.host;
  const std::string name = host.find(':') != std::string::npos ? '[' + host + ']' : host;
  return "http://" + name + ':' + std::to_string(port()) + '/';
}
void server::serve() { parts_->http.serve(); }
bool server::is_serving() const { return parts_->http.is_serving(); }
void server::stop() { parts_->http.stop(); }

}  // namespace espalier::explorer
