#include "http/guard.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace kalstream::http {
namespace {

/// Of "name:8080" or "[::1]:8080".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool is_numeric(std::string_view host) {
  const bool six = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string text(six ? host.substr(1, host.size() - 2) : host);
  in6_addr address{};
  return inet_pton(six ? AF_INET6 : AF_INET, text.c_str(), &address) == 1;
}

bool only_looks(const Request& request) { return request.method == "GET"; }

/// "http://host:port" of the same host: the scheme is the connection's business.
bool is_own_origin(std::string_view origin, std::string_view host) {
  const std::size_t at = origin.find("://");
  return at != origin.npos && same_name(origin.substr(at + 3), host);
}

/// Asked for without a token as well: nothing is told there.
bool is_open(const Request& request) {
  const std::string& path = request.path;
  return path == "/" || path == "/healthz" || path == "/readyz" || path == "/openapi.json";
}

/// Of what names of headers are made (RFC 9110, 5.6.2).
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           (c > ' ' && c < 0x7f &&
            std::string_view("\"(),/:;<=>?@[\\]{}").find(static_cast<char>(c)) ==
                std::string_view::npos);
  });
}

bool has_controls(std::string_view text) {
  return std::ranges::any_of(text,
                             [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7f; });
}

}  // namespace

void FramingCheck::see(std::string_view name, std::string_view value) {
  const auto refuse = [&](const char* why) {
    if (fault_ == nullptr) fault_ = why;
  };
  if (!is_token(name)) refuse("the name of a header has a character that no name has");
  if (has_controls(value)) refuse("a header has a control character");
  if (same_name(name, "Host")) {
    if (std::exchange(host_, true)) refuse("there is more than one Host header");
  } else if (same_name(name, "Content-Length")) {
    if (std::exchange(length_, true)) refuse("there is more than one Content-Length header");
  } else if (same_name(name, "Transfer-Encoding")) {
    if (std::exchange(encoded_, true)) refuse("there is more than one Transfer-Encoding header");
    if (!same_name(value, "chunked") || !may_be_chunked_)
      refuse("the only Transfer-Encoding known here is chunked, and that of HTTP/1.1");
  }
  if (length_ && encoded_) refuse("there are both Content-Length and Transfer-Encoding");
}

std::optional<Response> Guard::refuse(const Request& request, Clock::time_point now) {
  if (!knows_host(request.host))
    return error(421, "wrong_host",
                 "this server is not known by the name in the Host header; use its numeric address "
                 "or localhost, or start it with --host NAME");
  if (options_.rate > 0 && is_too_fast(request.client, now))
    return error(429, "too_fast",
                 "this client sends more requests than --max-rate allows; send several samples in "
                 "one request, or wait");
  const bool is_page = request.path == "/" && only_looks(request);
  if (!request.fetch_site.empty() && request.fetch_site != "same-origin" &&
      request.fetch_site != "none" && !is_page)
    return error(403, "cross_site", "a page of another site asks; only this server's own page may");
  if (!only_looks(request) && !request.origin.empty() &&
      !is_own_origin(request.origin, request.host))
    return error(403, "cross_site",
                 "the Origin header names another site; only this server's own page may ask");
  if (!options_.token.empty() && !is_open(request) && !shows_token(request)) {
    Response response =
        error(401, "unauthorized", "send the token as 'Authorization: Bearer TOKEN'");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  return {};
}

// A browser always says which host it believes to speak to; who does not say is no browser.
bool Guard::knows_host(std::string_view host) const {
  if (host.empty()) return true;
  const std::string_view name = without_port(host);
  return same_name(name, "localhost") || is_numeric(name) ||
         std::ranges::any_of(options_.hosts, [&](const auto& h) { return same_name(h, name); });
}

// Takes as long whatever is wrong with it.
bool Guard::is_token(std::string_view text) const {
  unsigned differs = text.size() == options_.token.size() ? 0 : 1;
  for (std::size_t k = 0; k < options_.token.size(); ++k)
    differs |= static_cast<unsigned char>(options_.token[k]) ^
               static_cast<unsigned char>(k < text.size() ? text[k] : 0);
  return differs == 0 && !options_.token.empty();
}

bool Guard::shows_token(const Request& request) const {
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view said = request.authorization;
  return said.size() > scheme.size() && same_name(said.substr(0, scheme.size()), scheme) &&
         is_token(said.substr(scheme.size()));
}

// A second's worth may come at once.
bool Guard::is_too_fast(const std::string& client, Clock::time_point now) {
  constexpr std::size_t most_clients = 10'000;
  if (buckets_.size() > most_clients)
    std::erase_if(buckets_,
                  [&](const auto& b) { return now - b.second.last > std::chrono::seconds(1); });
  if (buckets_.size() > most_clients) buckets_.clear();
  const auto [found, is_new] = buckets_.try_emplace(client, Bucket{options_.rate, now});
  Bucket& bucket = found->second;
  const double passed = std::chrono::duration<double>(now - bucket.last).count();
  bucket.left = std::min(options_.rate, bucket.left + passed * options_.rate);
  bucket.last = now;
  if (bucket.left < 1) return true;
  bucket.left -= 1;
  return false;
}

}  // namespace kalstream::http
