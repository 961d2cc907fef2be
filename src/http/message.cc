#include "http/message.h"

#include <algorithm>
#include <cctype>

#include "lines/json_text.h"

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

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

Response error(unsigned status, std::string_view code, std::string_view message) {
  Response response{.status = status, .body = "{\"error\":{\"code\":"};
  append_json_text(response.body, code);
  append_json_text(response.body += ",\"message\":", message);
  response.body += "}}\n";
  if (status == 429 || status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace kalstream::http
