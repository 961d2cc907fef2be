#include "http/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace kalstream::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void add_query(Request& request, std::string_view text) {
  constexpr std::size_t most = 64;
  while (!text.empty() && request.query.size() < most) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    const std::size_t is = part.find('=');
    request.query.emplace_back(percent_decoded(part.substr(0, is), true),
                               is == part.npos ? "" : percent_decoded(part.substr(is + 1), true));
  }
}

/// Bytes of the next character in UTF-8; 0 if there is none.
std::size_t length_of_character(std::string_view text) {
  const auto byte = [&](std::size_t k) {
    return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(k) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);
  const bool sound = (first != 0xe0 || second >= 0xa0) && (first != 0xed || second <= 0x9f) &&
                     (first != 0xf0 || second >= 0x90) && (first != 0xf4 || second <= 0x8f);
  return sound ? length : 0;
}

}  // namespace

std::optional<std::string_view> Request::value(std::string_view name) const {
  for (const auto& [key, text] : query)
    if (key == name) return text;
  return {};
}

bool set_target(Request& request, std::string_view target) {
  if (target.empty() || target.front() != '/') return false;
  const std::size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  request.parts.clear();
  request.query.clear();
  std::string_view rest = request.path;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the slash
    const std::string_view part = rest.substr(0, rest.find('/'));
    request.parts.push_back(percent_decoded(part));
    rest.remove_prefix(part.size());
  }
  if (mark != target.npos) add_query(request, target.substr(mark + 1));
  return true;
}

std::string percent_decoded(std::string_view text, bool plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '%' && k + 2 < text.size()) {
      const int high = hex_digit(text[k + 1]);
      const int low = hex_digit(text[k + 2]);
      if (high >= 0 && low >= 0) {
        decoded += static_cast<char>(high * 16 + low);
        k += 2;
        continue;
      }
    }
    decoded += plus && text[k] == '+' ? ' ' : text[k];
  }
  return decoded;
}

void append_quoted(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = length_of_character(text);
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned>(c));
    } else if (length == 0) {
      to += "\xef\xbf\xbd";
    } else {
      to.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  to += '"';
}

std::string quoted(std::string_view text) {
  std::string to;
  append_quoted(to, text);
  return to;
}

Response error(unsigned status, std::string_view code, std::string_view message) {
  Response response{.status = status};
  response.body =
      fmt::format("{{\"error\":{{\"code\":{},\"message\":{}}}}}\n", quoted(code), quoted(message));
  if (status == 429 || status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace kalstream::http
