// routes.cpp - see routes.hpp.
#include "explorer/http/routes.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "explorer/answers.hpp"
#include "explorer/http/assets.hpp"

namespace espalier::explorer {

namespace {

constexpr const char* json_type = "application/json";
constexpr const char* check_path = "/api/v1/check";
constexpr std::string_view no_source = "-";

response json_answer(std::string text, int status = 200) {
  response answer;
  answer.status = status;
  answer.type = json_type;
  answer.body = std::move(text);
  return answer;
}

std::optional<std::uint64_t> number_in(const request& req, const char* name, std::uint64_t least, std::uint64_t most) {
  const auto found = req.parameters.find(name);
  if (found == req.parameters.end()) return std::nullopt;
  const std::string what = std::string("'") + name + '\'';
  const std::uint64_t n = parse_key_text(found->second, what);
  if (n < least || n > most)
    throw bad_request(what + " is a number from " + std::to_string(least) + " to " + std::to_string(most) + '.');
  return n;
}
std::optional<std::uint64_t> position_in(const request& req) { return number_in(req, "at", 0, std::uint64_t{1} << 53); }
std::string required(const request& req, const char* name) {
  const auto found = req.parameters.find(name);
  if (found == req.parameters.end()) throw bad_request(std::string("The request needs '") + name + "'.");
  return found->second;
}
/// Returns the body if it has that type.
const std::string& body_of(const request& req, const std::string& type) {
  const std::string given = req.header("content-type");
  if (given.substr(0, given.find(';')) != type)
    throw refused(415, "This needs a body that is sent as Content-Type: " + type + '.');
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
/// Finds an embedded file by name; no file is opened.
const asset* asset_at(const std::string& path) {
  const std::string_view wanted = path == "/" ? std::string_view("/index.html") : std::string_view(path);
  for (const asset& a : assets()) {
    if (a.path == wanted) return &a;
  }
  return nullptr;
}

/// The id of a trace or a session is a letter and up to nine digits.
bool is_source_id(std::string_view text) {
  return text.size() >= 2 && text.size() <= 10 && (text[0] == 's' || text[0] == 't') &&
         std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

response file_answer(const std::string& path) {
  const asset* found = asset_at(path);
  if (found == nullptr) throw refused(404, "There is nothing at this address; the explorer's page is at /.");
  response answer;
  answer.type = type_of(found->path);
  answer.constant = found->bytes;
  return answer;
}

}  // namespace

routes::routes(registry& sources, const std::string& index) : sources_(sources), index_(index) {
  add_questions();
  add_changes();
}

/// `path` has at most one '*', which stands for the id of a source.
void routes::add(std::string_view method, std::string_view path, handler answer) {
  const std::size_t star = std::min(path.find('*'), path.size());
  const std::string_view after = star == path.size() ? no_source : path.substr(star + 1);
  routes_.push_back({method, path.substr(0, star), after, std::move(answer)});
}

std::size_t routes::most_body(const request& asked) const {
  if (asked.method != "POST") return 0;
  return std::size_t{asked.path == check_path ? 64u : 1u} << 20;
}

response routes::answer(const request& asked) const {
  const std::string_view path = asked.path, method = asked.method == "HEAD" ? "GET" : std::string_view(asked.method);
  for (const route& r : routes_) {
    if (r.method != method) continue;
    if (r.after == no_source) {
      if (path == r.before) return r.answer(asked, {});
      continue;
    }
    if (path.size() <= r.before.size() + r.after.size() || !path.starts_with(r.before) || !path.ends_with(r.after))
      continue;
    const std::string_view id = path.substr(r.before.size(), path.size() - r.before.size() - r.after.size());
    if (is_source_id(id)) return r.answer(asked, std::string(id));
  }
  if (method == "GET") return file_answer(asked.path);
  throw refused(404, "There is nothing at this address, or not by this method.");
}

void routes::add_questions() {
  const live_limits& limits = sources_.limits();
  add("GET", "/api/v1/info",
      [this](const request&, const std::string&) { return json_answer(info_answer(sources_, index_)); });
  add("GET", "/api/v1/sources/*",
      [this](const request&, const std::string& id) { return json_answer(source_answer(*sources_.at(id))); });
  add("GET", "/api/v1/sources/*/events", [this, &limits](const request& asked, const std::string& id) {
    const std::uint64_t most = limits.events_per_page;
    const std::uint64_t from = number_in(asked, "from", 0, std::uint64_t{1} << 53).value_or(0);
    const std::uint64_t count = number_in(asked, "count", 0, std::uint64_t{1} << 53).value_or(most);
    return json_answer(events_answer(*sources_.at(id), from, std::min(count, most)));
  });
  add("GET", "/api/v1/sources/*/state", [this, &limits](const request& asked, const std::string& id) {
    return json_answer(state_answer(*sources_.at(id), position_in(asked), limits));
  });
  add("GET", "/api/v1/sources/*/summary", [this](const request& asked, const std::string& id) {
    return json_answer(
        summary_answer(*sources_.at(id), position_in(asked), number_in(asked, "cells", 1, 1024).value_or(128)));
  });
  add("GET", "/api/v1/sources/*/around", [this](const request& asked, const std::string& id) {
    return json_answer(around_answer(*sources_.at(id), position_in(asked), required(asked, "n"),
                                     number_in(asked, "reach", 0, 16).value_or(4)));
  });
  add("GET", "/api/v1/sources/*/path", [this](const request& asked, const std::string& id) {
    return json_answer(
        path_answer(*sources_.at(id), position_in(asked), parse_key_text(required(asked, "key"), "'key'")));
  });
  add("GET", "/api/v1/sources/*/trace", [this](const request&, const std::string& id) { return download(id); });
}

response routes::download(const std::string& id) const {
  if (!downloads_->try_acquire())
    throw refused(429, "Four traces are being downloaded already: wait until one of them has arrived.");
  // The slot is released after the last piece, or when the connection ends before it.
  const std::shared_ptr<download_slots> slot(downloads_.get(), [all = downloads_](download_slots* s) { s->release(); });
  const auto found = sources_.at(id);
  response answer;
  answer.type = "application/x-ndjson";
  answer.headers.emplace_back("Content-Disposition", "attachment; filename=\"" + found->id + ".trace\"");
  answer.next_piece = [slot, pieces = std::make_shared<trace_download>(found)] { return pieces->next(); };
  return answer;
}

void routes::add_changes() {
  const live_limits& limits = sources_.limits();
  add("POST", "/api/v1/sessions", [this, &limits](const request& asked, const std::string&) {
    sources_.take_turn();
    return json_answer(source_answer(*sources_.create(parse_session(body_of(asked, json_type), limits))), 201);
  });
  add("POST", "/api/v1/sessions/*/run", [this, &limits](const request& asked, const std::string& id) {
    sources_.take_turn();
    const auto session = sources_.at(id);
    return json_answer(run_answer(*session, parse_run(body_of(asked, json_type), limits), limits));
  });
  add("DELETE", "/api/v1/sessions/*", [this](const request&, const std::string& id) {
    sources_.remove_session(id);  // not rate-limited: a session can always be removed
    return json_answer("{\"deleted\":\"" + id + "\"}");
  });
  add("POST", check_path, [this](const request& asked, const std::string&) {
    sources_.take_turn();
    return json_answer(check_answer(body_of(asked, "application/x-ndjson")));
  });
}

}  // namespace espalier::explorer
