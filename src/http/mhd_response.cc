#include "http/mhd_response.h"

#include <memory>
#include <string>
#include <utility>

namespace kalstream::http {
namespace {

constexpr std::size_t worth_no_copy = std::size_t{4} << 10;

}  // namespace

MHD_Response* make_mhd_response(Response& from) {
  using Shared = std::shared_ptr<const std::string>;
  if (!from.shared_body && from.body.size() < worth_no_copy)
    return MHD_create_response_from_buffer(from.body.size(), from.body.data(),
                                           MHD_RESPMEM_MUST_COPY);
  if (!from.shared_body)
    from.shared_body = std::make_shared<const std::string>(std::move(from.body));
  auto* text = new Shared(std::move(from.shared_body));
  const MHD_IoVec part{(*text)->data(), (*text)->size()};
  return MHD_create_response_from_iovec(
      &part, 1, [](void* sent) { delete static_cast<Shared*>(sent); }, text);
}

void add_headers(MHD_Response* to, const Response& from) {
  if (from.status != 204)
    MHD_add_response_header(to, MHD_HTTP_HEADER_CONTENT_TYPE, from.content_type.c_str());
  MHD_add_response_header(to, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  MHD_add_response_header(to, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(to, "Cross-Origin-Resource-Policy", "same-origin");
  for (const auto& [name, value] : from.headers)
    MHD_add_response_header(to, name.c_str(), value.c_str());
}

}  // namespace kalstream::http
