#include "http/request_head.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

namespace kalstream::http {
namespace {

/// "Text/CSV; charset=utf-8" is "text/csv".
std::string media_type(std::string text) {
  text.erase(std::min(text.find(';'), text.size()));
  while (text.ends_with(' ')) text.pop_back();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Whether this libmicrohttpd takes every text to end at its first NUL.
bool hides_nul() {
  static const bool hides = std::string_view(MHD_get_version()).starts_with("0.");
  return hides;
}

}  // namespace

RequestHead::RequestHead(Request& request, const char* version, const char* end_of_target)
    : request_(request), framing_(version), at_(version + std::strlen(version)) {
  intact_ = !hides_nul() || end_of_target + 1 == version;
  end_line();
}

void RequestHead::read(MHD_Connection* connection) {
  MHD_get_connection_values_n(
      connection, MHD_HEADER_KIND,
      [](void* head, MHD_ValueKind, const char* name, std::size_t name_size, const char* value,
         std::size_t value_size) {
        static_cast<RequestHead*>(head)->see({name, name_size}, {value, value_size});
        return MHD_YES;
      },
      this);
  request_.content_type = media_type(std::move(request_.content_type));
}

const char* RequestHead::fault(const char* end) {
  end_line();
  intact_ = intact_ && (!hides_nul() || at_ == end);
  return intact_ ? framing_.fault()
                 : "its head has a NUL, or a line that does not end with CR and LF";
}

void RequestHead::end_line() {
  intact_ = intact_ && (!hides_nul() || (at_[0] == '\0' && at_[1] == '\0'));
  at_ += 2;
}

void RequestHead::see(std::string_view name, std::string_view value) {
  framing_.see(name, value);
  if (hides_nul() && intact_) {
    intact_ = name.data() == at_;
    for (at_ = name.data() + name.size() + 1; at_ != value.data() && intact_; ++at_)
      intact_ = *at_ == ' ' || *at_ == '\t';
    at_ = value.data() + value.size();
    end_line();
  }
  if (same_name(name, MHD_HTTP_HEADER_CONTENT_LENGTH))
    std::from_chars(value.data(), value.data() + value.size(), length_);
  const std::initializer_list<std::pair<const char*, std::string*>> wanted = {
      {MHD_HTTP_HEADER_HOST, &request_.host},
      {MHD_HTTP_HEADER_ORIGIN, &request_.origin},
      {"Sec-Fetch-Site", &request_.fetch_site},
      {MHD_HTTP_HEADER_AUTHORIZATION, &request_.authorization},
      {MHD_HTTP_HEADER_CONTENT_TYPE, &request_.content_type}};
  for (const auto& [one, to] : wanted)
    if (to->empty() && same_name(name, one)) *to = value;
}

}  // namespace kalstream::http
