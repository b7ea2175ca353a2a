// server.cpp - combines access checks (guard.hpp), handlers (routes.hpp) and error responses.
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
  if (status == 401) res.headers.emplace_back("WWW-Authenticate", "Bearer");
  return res;
}
/// Converts exceptions of handlers to responses.
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
  std::string token;  ///< empty if not required
  listener http;      // destroyed first, since its threads use the other members

  parts(const device& dev, const server_options& wishes)
      : options(wishes),
        sources(dev, wishes.limits),
        all(sources, options.index),
        http(wishes.host, wishes.port, wishes.http, *this) {
    if (!http.is_loopback()) token = make_token();
  }

  [[nodiscard]] std::string cookie_name() const { return "espalier-" + std::to_string(http.port()); }
  [[nodiscard]] bool brings_token(const request& asked) const {
    const auto parameter = asked.parameters.find("token");
    return parameter != asked.parameters.end() && asked.path == "/" && is_same_token(parameter->second, token);
  }
  [[nodiscard]] bool knows_token(const request& asked) const {
    return token.empty() || is_same_token(cookie_in(asked.header("cookie"), cookie_name()), token) ||
           is_same_token(asked.header("authorization"), "Bearer " + token) || brings_token(asked);
  }

  void admit(const request& asked) override {
    const std::string host = asked.header("host");
    if (!is_own_host(host, options.host, http.port()))
      throw refused(403, "Unexpected Host header. Open the address printed at start-up.");
    if (!is_own_origin(asked.header("origin"), host))
      throw refused(403, "Unexpected Origin header. Use the page of the explorer.");
    if (!knows_token(asked))
      throw refused(401, "Missing or wrong token. Open the address printed at start-up, which ends with the token.");
    const std::size_t most = all.most_body(asked);
    if (asked.body_size > most && most == 0) throw refused(413, "This request has no body: send none.");
    if (asked.body_size > most)
      throw refused(413, "The body has more than " + std::to_string(most >> 20) + " MiB: send less.");
  }

  [[nodiscard]] answered_by thread_for(const request& asked) override {
    if (!asked.path.starts_with("/api/")) return answered_by::event_loop;
    return asked.method == "GET" || asked.method == "HEAD" ? answered_by::readers : answered_by::writers;
  }

  [[nodiscard]] response answer(const request& asked) noexcept override {
    return !token.empty() && brings_token(asked) ? keep_token() : answer_or_refusal(all, asked);
  }
  /// The page's own requests send the token as a cookie, so that URLs copied from it do not contain the token.
  [[nodiscard]] response keep_token() const {
    response answer;
    answer.status = 303;
    answer.headers = {{"Location", "/"},
                      {"Set-Cookie", cookie_name() + '=' + token + "; Path=/; HttpOnly; SameSite=Lax"}};
    return answer;
  }

  [[nodiscard]] response explain(const refused& why) override { return refusal(why.status, why.what()); }
  [[nodiscard]] std::string_view header_lines() const override { return safe_headers; }
};

server::server(const device& dev, const server_options& options) : parts_(std::make_unique<parts>(dev, options)) {}
server::~server() = default;

void server::add_trace(const std::string& title, recorded_trace trace) {
  parts_->sources.add_trace(title, std::move(trace));
}
int server::port() const { return parts_->http.port(); }
const std::string& server::token() const { return parts_->token; }
std::string server::url() const {
  const std::string& host = parts_->options.host;
  const std::string name = host.find(':') != std::string::npos ? '[' + host + ']' : host;
  const std::string address = "http://" + name + ':' + std::to_string(port()) + '/';
  return token().empty() ? address : address + "?token=" + token();
}
void server::serve() { parts_->http.serve(); }
bool server::is_serving() const { return parts_->http.is_serving(); }
void server::stop() { parts_->http.stop(); }

}  // namespace espalier::explorer
