// What is asked over HTTP, and what is answered.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kalstream::http {

struct Request {
  std::string method;  ///< HEAD is asked as GET
  std::string path;    ///< as it was sent
  /// Its parts between slashes, percent signs decoded: a part may hold any byte.
  std::vector<std::string> parts;
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded
  std::string body;

  // Headers, as far as anybody asks for them; empty: not there.
  std::string host;
  std::string origin;
  std::string fetch_site;  ///< Sec-Fetch-Site
  std::string authorization;
  std::string content_type;  ///< without parameters, in small letters
  std::string client;        ///< the address it comes from

  /// A value of the query; nothing if it is not there.
  std::optional<std::string_view> value(std::string_view name) const;
};

/// Sets path, parts and query. False if it is not the target of a request.
bool set_target(Request& request, std::string_view target);

/// "a%20b" is "a b"; with `plus`, so is "a+b". What is no escape stays as it is.
std::string percent_decoded(std::string_view text, bool plus = false);

/// The same but for small and capital letters, as names in HTTP are.
bool same_name(std::string_view a, std::string_view b);

struct Response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
  /// In the place of the body: text that others hold as well.
  std::shared_ptr<const std::string> shared_body;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// {"error":{"code":…,"message":…}}
Response error(unsigned status, std::string_view code, std::string_view message);

}  // namespace kalstream::http
