// Responses as libmicrohttpd has them.
#pragma once

#include <microhttpd.h>

#include "http/message.h"

namespace kalstream::http {

/// With the body, which is taken away, and without headers; the caller destroys it. nullptr: there
/// is no memory for it.
MHD_Response* make_mhd_response(Response& from);

/// The headers of `from`, and those that all responses have.
void add_headers(MHD_Response* to, const Response& from);

}  // namespace kalstream::http
