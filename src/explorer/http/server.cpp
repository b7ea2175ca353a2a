// server.cpp - routes. What is answered comes from answers.hpp; what may be asked at all is decided here.
#include "explorer/http/server.hpp"

#include <httplib.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "explorer/answers.hpp"
#include "explorer/http/assets.hpp"
#include "explorer/http/guard.hpp"
#include "explorer/read_trace.hpp"

namespace espalier::explorer {

namespace {

using httplib::Request;
using httplib::Response;
using handled = httplib::Server::HandlerResponse;

constexpr const char* json_type = "application/json";
constexpr std::size_t most_body = std::size_t{1} << 20;
constexpr std::size_t most_trace = std::size_t{64} << 20;

std::string as_sentence(std::string what) {
  what = what.substr(0, what.find('\n'));
  if (!what.empty() && what.compare(0, 5, "line ") != 0)
    what.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(what.front())));
  return what;
}
void refuse(Response& res, int status, const std::string& what, std::optional<std::uint64_t> line = std::nullopt) {
  nlohmann::json body{{"error", as_sentence(what)}};
  if (line) body["line"] = *line;
  res.status = status;
  res.set_content(body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), json_type);
}
/// Whatever a handler throws, as an answer.
template <class Work>
httplib::Server::Handler answering(Work work) {
  return [work](const Request& req, Response& res) {
    try {
      work(req, res);
    } catch (const bad_trace& e) {
      refuse(res, 400, e.what(), e.line);
    } catch (const refused& e) {
      refuse(res, e.status, e.what());
    } catch (const out_of_memory&) {
      refuse(res, 507, "The memory ran out: ask for less.");
    } catch (const error& e) {
      refuse(res, 400, e.what());
    } catch (const std::bad_alloc&) {
      refuse(res, 507, "The host's memory ran out: ask for less.");
    } catch (const std::exception&) {
      refuse(res, 500, "The explorer failed at this request: please report it.");
    }
  };
}
template <class Text>
httplib::Server::Handler json_of(Text text) {
  return answering([text](const Request& req, Response& res) { res.set_content(text(req), json_type); });
}

std::optional<std::uint64_t> number_in(const Request& req, const char* name, std::uint64_t least, std::uint64_t most) {
  if (!req.has_param(name)) return std::nullopt;
  const std::string text = req.get_param_value(name);
  const std::string what = std::string("'") + name + '\'';
  const std::uint64_t n = parse_key_text(text, what);
  if (n < least || n > most)
    throw bad_request(what + " is a number from " + std::to_string(least) + " to " + std::to_string(most) + '.');
  return n;
}
std::optional<std::uint64_t> position_in(const Request& req) { return number_in(req, "at", 0, std::uint64_t{1} << 53); }
std::string required(const Request& req, const char* name) {
  if (!req.has_param(name)) throw bad_request(std::string("The request needs '") + name + "'.");
  return req.get_param_value(name);
}
/// What was sent, if it is of that type and not larger. It has been read: an answer before that could get lost.
const std::string& body_of(const Request& req, const std::string& type, std::size_t most) {
  const std::string given = req.get_header_value("Content-Type");
  if (given.substr(0, given.find(';')) != type)
    throw refused(415, "This needs a body that is sent as Content-Type: " + type + '.');
  if (req.body.size() > most)
    throw refused(413, "The body has more than " + std::to_string(most >> 20) + " MiB: send less.");
  return req.body;
}

std::string type_of(std::string_view path) {
  static const std::pair<std::string_view, const char*> types[] = {{".html", "text/html; charset=utf-8"},
                                                                   {".js", "text/javascript; charset=utf-8"},
                                                                   {".mjs", "text/javascript; charset=utf-8"},
                                                                   {".css", "text/css; charset=utf-8"},
                                                                   {".svg", "image/svg+xml"},
                                                                   {".png", "image/png"},
                                                                   {".json", json_type},
                                                                   {".ico", "image/x-icon"},
                                                                   {".woff2", "font/woff2"},
                                                                   {".txt", "text/plain; charset=utf-8"}};
  for (const auto& [ending, type] : types) {
    if (path.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}
/// Embedded files, found by comparing names: nothing is opened.
const asset* asset_at(const std::string& path) {
  const std::string_view wanted = path == "/" ? std::string_view("/index.html") : std::string_view(path);
  for (const asset& a : assets()) {
    if (a.path == wanted) return &a;
  }
  return nullptr;
}

httplib::Headers safe_headers() {
  return {{"Content-Security-Policy",
           "default-src 'self'; img-src 'self' data: blob:; style-src 'self'; object-src 'none'; base-uri 'none'; "
           "frame-ancestors 'none'; form-action 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cache-Control", "no-store"}};
}

}  // namespace

struct server::parts {
  server_options options;
  registry sources;
  httplib::Server http;
  int port = 0;

  parts(const device& where, const server_options& wishes) : options(wishes), sources(where, wishes.limits) {
    http.set_default_headers(safe_headers());
    http.set_payload_max_length(most_trace);
    http.set_tcp_nodelay(true);
    http.set_keep_alive_max_count(1000);
    http.set_keep_alive_timeout(2);  // a connection that rests keeps a thread
    http.new_task_queue = [] { return new httplib::ThreadPool(16); };
    http.set_pre_routing_handler([this](const Request& req, Response& res) {
      send_plain(req);
      return admit(req, res);
    });
    http.set_error_handler(httplib::Server::HandlerWithResponse(&parts::explain));
    add_source_routes();
    add_session_routes();
    http.Get(R"(/.*)", answering([](const Request& req, Response& res) {
               const asset* found = asset_at(req.path);
               if (found == nullptr)
                 throw refused(404, "There is nothing at this address; the explorer's page is at /.");
               res.set_content(found->bytes.data(), found->bytes.size(), type_of(found->path));
             }));
  }

  /// Debian's library has Brotli at its slowest, and browsers ask for it: 20,000 events took it 12 s, where sending
  /// them as they are to the same machine takes 0.1 s. It offers no switch, but what it reads is its own Request, which
  /// is not constant.
  static void send_plain(const Request& req) { const_cast<Request&>(req).headers.erase("Accept-Encoding"); }

  /// Before anything else: hosts and origins.
  handled admit(const Request& req, Response& res) const {
    const std::string host = req.get_header_value("Host");
    if (!is_own_host(host, options.host, port)) {
      refuse(res, 403, "This explorer does not go by that name: open it at the address that it printed.");
      return handled::Handled;
    }
    if (!is_own_origin(req.get_header_value("Origin"), host)) {
      refuse(res, 403, "Only the explorer's own page may ask this.");
      return handled::Handled;
    }
    return handled::Unhandled;
  }
  /// What httplib refuses by itself.
  static handled explain(const Request&, Response& res) {
    if (!res.body.empty()) return handled::Handled;
    refuse(res, res.status,
           res.status == 404   ? "There is nothing at this address, or not by this method."
           : res.status == 413 ? "The request is too large."
                               : "The request could not be understood.");
    return handled::Handled;
  }

  void add_source_routes() {
    static const std::string source_path = R"(/api/v1/sources/([st][0-9]{1,9}))";
    const auto at = [this](const Request& req) { return sources.at(req.matches[1].str()); };
    http.Get("/api/v1/info", json_of([this](const Request&) { return info_answer(sources, options.index); }));
    http.Get(source_path, json_of([at](const Request& req) { return source_answer(*at(req)); }));
    http.Get(source_path + "/events", json_of([this, at](const Request& req) {
               const std::uint64_t most = options.limits.events_per_page;
               const std::uint64_t from = number_in(req, "from", 0, std::uint64_t{1} << 53).value_or(0);
               const std::uint64_t count = number_in(req, "count", 0, std::uint64_t{1} << 53).value_or(most);
               return events_answer(*at(req), from, std::min(count, most));
             }));
    http.Get(source_path + "/state", json_of([this, at](const Request& req) {
               return state_answer(*at(req), position_in(req), options.limits);
             }));
    http.Get(source_path + "/summary", json_of([at](const Request& req) {
               return summary_answer(*at(req), position_in(req), number_in(req, "cells", 1, 1024).value_or(128));
             }));
    http.Get(source_path + "/around", json_of([at](const Request& req) {
               return around_answer(*at(req), position_in(req), required(req, "n"),
                                    number_in(req, "reach", 0, 16).value_or(4));
             }));
    http.Get(source_path + "/path", json_of([at](const Request& req) {
               return path_answer(*at(req), position_in(req), parse_key_text(required(req, "key"), "'key'"));
             }));
    http.Get(source_path + "/trace", answering([at](const Request& req, Response& res) {
               const auto found = at(req);
               const auto pieces = std::make_shared<trace_download>(found);
               res.set_header("Content-Disposition", "attachment; filename=\"" + found->id + ".trace\"");
               res.set_chunked_content_provider("application/x-ndjson", [pieces](std::size_t, httplib::DataSink& sink) {
                 const std::string piece = pieces->next();
                 if (!piece.empty()) return sink.write(piece.data(), piece.size());
                 sink.done();
                 return true;
               });
             }));
  }

  void add_session_routes() {
    http.Post("/api/v1/sessions", answering([this](const Request& req, Response& res) {
                sources.take_turn();
                const auto made = sources.create(parse_session(body_of(req, json_type, most_body), options.limits));
                res.status = 201;
                res.set_content(source_answer(*made), json_type);
              }));
    http.Post(R"(/api/v1/sessions/(s[0-9]{1,9})/run)", json_of([this](const Request& req) {
                sources.take_turn();
                const auto session = sources.at(req.matches[1].str());
                return run_answer(*session, parse_run(body_of(req, json_type, most_body), options.limits),
                                  options.limits);
              }));
    http.Delete(R"(/api/v1/sessions/(s[0-9]{1,9}))", json_of([this](const Request& req) {
                  const std::string id = req.matches[1].str();  // no turn is taken: giving back is always allowed
                  sources.remove_session(id);
                  return "{\"deleted\":\"" + id + "\"}";
                }));
    http.Post("/api/v1/check", json_of([this](const Request& req) {
                sources.take_turn();
                return check_answer(body_of(req, "application/x-ndjson", most_trace));
              }));
  }
};

server::server(const device& where, const server_options& options) : parts_(std::make_unique<parts>(where, options)) {
  parts& p = *parts_;
  if (options.port == 0) {
    p.port = p.http.bind_to_any_port(options.host);
    if (p.port <= 0)
      throw error("the address " + options.host + " cannot be used: give one of this machine's with --host.");
    return;
  }
  if (!p.http.bind_to_port(options.host, options.port)) {
    throw error("port " + std::to_string(options.port) + " of " + options.host +
                " cannot be used; it may be taken: give another with --port, or --port 0 for any that is free.");
  }
  p.port = options.port;
}
server::~server() = default;

void server::add_trace(const std::string& title, recorded_trace trace) {
  parts_->sources.add_trace(title, std::move(trace));
}
int server::port() const { return parts_->port; }
std::string server::url() const {
  const std::string& host = parts_->options.host;
  const std::string name = host.find(':') != std::string::npos ? '[' + host + ']' : host;
  return "http://" + name + ':' + std::to_string(parts_->port) + '/';
}
void server::serve() { parts_->http.listen_after_bind(); }
bool server::is_serving() const { return parts_->http.is_running(); }
void server::stop() { parts_->http.stop(); }

}  // namespace espalier::explorer
