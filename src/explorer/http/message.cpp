// message.cpp - see message.hpp.
#include "explorer/http/message.hpp"

namespace espalier::explorer {

namespace {

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 303:
      return "See Other";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "Other";
  }
}

}  // namespace

std::string head_of(const response& answer, const request& asked, bool keeps_connection, std::string_view constant) {
  std::string head = "HTTP/1.1 " + std::to_string(answer.status) + ' ' + reason_of(answer.status) + "\r\n";
  head += constant;
  head += "Content-Type: " + answer.type + "\r\n";
  for (const auto& [name, value] : answer.headers) head += name + ": " + value + "\r\n";
  if (!answer.next_piece) {
    const std::size_t size = answer.constant.empty() ? answer.body.size() : answer.constant.size();
    head += "Content-Length: " + std::to_string(size) + "\r\n";
  } else if (!asked.is_http_1_0) {
    head += "Transfer-Encoding: chunked\r\n";  // for HTTP/1.0 the end of the connection ends the body
  }
  head += keeps_connection ? "\r\n" : "Connection: close\r\n\r\n";
  return head;
}

}  // namespace espalier::explorer
