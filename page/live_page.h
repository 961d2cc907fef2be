#pragma once

#include <string_view>

namespace kalstream {

// The live page as it was packed when this program was built (cmake/Page.cmake): one HTML file that
// asks for nothing but the API, and the value of the Content-Security-Policy header that allows its
// own style and script and nothing else. Both are empty where the build left the page out.
struct LivePage {
  std::string_view html;
  std::string_view policy;
};

LivePage live_page();

}  // namespace kalstream
